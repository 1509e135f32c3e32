package limit

import (
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/identity"
)

// Lookups keeps floods of made-up API keys away from the database. Each look-up of a key that nobody has found yet
// takes a token of the address that sent it, and gives it back unless there is no such key. So an address begins a
// bounded number of look-ups at once, and a bounded number of vain ones a second, while real keys cost it nothing. The
// addresses of one IPv6 subscriber count as one.
type Lookups struct {
	now          func() time.Time
	skipLoopback bool
	strange      *buckets[netip.Addr]
	results      *prometheus.CounterVec
}

// NewLookups makes the bound. skipLoopback exempts callers on this machine, for local stacks.
func NewLookups(skipLoopback bool, now func() time.Time) *Lookups {
	l := &Lookups{
		now: now, skipLoopback: skipLoopback, strange: newBuckets[netip.Addr](strange, most),
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gateway_key_lookups_total",
			Help: "Look-ups of API keys that were not found before, by result; refused ones did not reach the database.",
		}, []string{"result"}),
	}
	for _, result := range []string{"found", "unknown", "failed", "refused"} {
		l.results.WithLabelValues(result) // at 0 from the start: an alert cannot see a series appear
	}
	return l
}

// Describe implements prometheus.Collector.
func (l *Lookups) Describe(ch chan<- *prometheus.Desc) { l.results.Describe(ch) }

// Collect implements prometheus.Collector.
func (l *Lookups) Collect(ch chan<- prometheus.Metric) { l.results.Collect(ch) }

// Begin implements apikey.Lookups.
func (l *Lookups) Begin(from netip.Addr) error {
	if l.skipLoopback && from.IsLoopback() {
		return nil
	}
	if _, wait := l.strange.take(identity.Network(from), l.now()); wait > 0 {
		l.results.WithLabelValues("refused").Inc()
		return after(errGuesses, wait)
	}
	return nil
}

// Ended implements apikey.Lookups. A look-up that failed says nothing about the key and is given back as well.
func (l *Lookups) Ended(from netip.Addr, key *apikey.Key, err error) {
	switch {
	case err != nil:
		l.results.WithLabelValues("failed").Inc()
	case key != nil:
		l.results.WithLabelValues("found").Inc()
	default:
		l.results.WithLabelValues("unknown").Inc()
		return
	}
	l.strange.give(identity.Network(from))
}
