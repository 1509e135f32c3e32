package limit

import (
	"context"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/identity"
)

// Lookups keeps floods of invented API keys away from the database. Each look-up of a key that is not known yet takes a
// token of the address that sent it, and returns the token unless the key does not exist. So an address begins a
// bounded number of look-ups at once and a bounded number of vain ones a second, while real keys cost it nothing. The
// addresses of one IPv6 subscriber count as one. All addresses together share a few places, so that a flood from many
// addresses leaves the database's connections to other work.
type Lookups struct {
	now          func() time.Time
	skipLoopback bool
	strange      *buckets[netip.Addr]
	places       slotSets
	queue        *queue
	results      *prometheus.CounterVec
}

// These bound the look-ups of unknown keys that this process has under way, the wait of a further one, and the number
// that wait. A look-up takes about a millisecond, so a process that has just started, and knows no key, finds the keys
// of a thousand callers within the wait.
const (
	lookupPlaces = 2
	lookupWait   = time.Second
	lookupQueue  = 1000
)

// NewLookups makes the bound. skipLoopback exempts callers on this machine, for local stacks.
func NewLookups(skipLoopback bool, now func() time.Time) *Lookups {
	l := &Lookups{
		now: now, skipLoopback: skipLoopback, strange: newBuckets[netip.Addr](strange, most),
		places: slotSets{make(slotSet, lookupPlaces)}, queue: &queue{wait: lookupWait, most: lookupQueue},
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gateway_key_lookups_total",
			Help: "Look-ups of API keys that were not found before, by result; refused ones did not reach the database.",
		}, []string{"result"}),
	}
	for _, result := range []string{"found", "unknown", "failed", "refused"} {
		l.results.WithLabelValues(result) // starts at 0: an alert cannot see a series appear
	}
	return l
}

// Describe implements prometheus.Collector.
func (l *Lookups) Describe(ch chan<- *prometheus.Desc) { l.results.Describe(ch) }

// Collect implements prometheus.Collector.
func (l *Lookups) Collect(ch chan<- prometheus.Metric) { l.results.Collect(ch) }

// Begin implements apikey.Lookups. A caller that is not served in time learned nothing about the key, so its token is
// returned.
func (l *Lookups) Begin(ctx context.Context, from netip.Addr) error {
	if !l.skipLoopback || !from.IsLoopback() {
		if _, wait := l.strange.take(identity.Network(from), l.now()); wait > 0 {
			l.results.WithLabelValues("refused").Inc()
			return after(errGuesses, wait)
		}
	}
	if err := l.queue.enter(ctx, l.places); err != nil {
		l.results.WithLabelValues("refused").Inc()
		l.strange.give(identity.Network(from))
		return err
	}
	return nil
}

// Ended implements apikey.Lookups. A failed look-up says nothing about the key, so its token is returned too.
func (l *Lookups) Ended(from netip.Addr, key *apikey.Key, err error) {
	l.places.leave()
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
