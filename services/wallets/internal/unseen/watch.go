package unseen

import (
	"context"
	"math/big"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
)

// Network is a live network on which coin may arrive that the scan does not see.
type Network struct {
	Chain    Chain
	Untraced bool     // the scan does not see coin that contracts send: balances are compared with the books
	Worth    *big.Int // the smallest difference that is listed
}

// Store keeps the hints and comparisons of the watch.
type Store interface {
	Hints
	Balances
	// UnexplainedCounts are the balances that the books do not explain, by network and kind.
	UnexplainedCounts(ctx context.Context) (map[[2]string]int64, error)
	// UnclearCounts are the named transactions with an unclear effect, by network.
	UnclearCounts(ctx context.Context) (map[string]int64, error)
	// WholePasses are the times at which the last whole comparison of a network ended, or the first one began.
	WholePasses(ctx context.Context) (map[string]int64, error)
}

// Options are the settings and parts of the watch.
type Options struct {
	Networks  map[string]Network
	Every     time.Duration // time in which all balances are compared once
	Postgres  postgres.Config
	Telemetry *telemetry.Telemetry
	Store     Store
}

// hintsEvery is the pause between two rounds of inspections.
const hintsEvery = 2 * time.Second

// Watch finds coin that the scans do not see: it inspects transactions that payers name, and compares the balances of
// networks without traces with the books.
type Watch struct {
	Options
	looker      *Looker
	comparers   map[string]*Comparer
	unexplained *prometheus.GaugeVec
	unclear     *prometheus.GaugeVec
	compared    *prometheus.GaugeVec
}

// NewWatch makes the watch.
func NewWatch(o Options) *Watch {
	w := &Watch{
		Options: o, comparers: map[string]*Comparer{},
		unexplained: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "wallets_unexplained_balances", Help: "Addresses that have more or less of the native coin than the books say (wallets unexplained).",
		}, []string{"network", "kind"}),
		unclear: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "wallets_unclear_hints", Help: "Transactions that payers named and whose effect nobody can tell (wallets unexplained).",
		}, []string{"network"}),
		compared: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "wallets_balances_compared_timestamp_seconds", Help: "When the last whole comparison of the network's balances ended, or the first began.",
		}, []string{"network"}),
	}
	looked := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "wallets_hints_total", Help: "Transactions that payers named, by what was found.",
	}, []string{"network", "outcome"})
	o.Telemetry.Registry.MustRegister(w.unexplained, w.unclear, w.compared, looked)
	chains := map[string]Chain{}
	for name, n := range o.Networks {
		chains[name] = n.Chain
		if n.Untraced {
			w.comparers[name] = NewComparer(name, o.Every, n.Worth, o.Store, n.Chain, o.Telemetry.Log)
		}
	}
	w.looker = NewLooker(o.Store, chains, o.Telemetry.Log, func(network string, s State) {
		looked.WithLabelValues(network, string(s)).Inc()
	})
	return w
}

// Run watches until ctx ends, on the leader.
func (w *Watch) Run(ctx context.Context) error {
	if len(w.Networks) == 0 {
		<-ctx.Done()
		return nil
	}
	return postgres.Lead(ctx, w.Postgres, "wallets unseen coin", w.Telemetry.Log, w.run)
}

func (w *Watch) run(ctx context.Context) error {
	defer func() { // the next leader measures
		w.unexplained.Reset()
		w.unclear.Reset()
		w.compared.Reset()
	}()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return w.repeat(ctx, "transactions that were named", func(ctx context.Context) (time.Duration, error) {
			return hintsEvery, w.looker.Round(ctx)
		})
	})
	for name, c := range w.comparers {
		g.Go(func() error { return w.repeat(ctx, "comparison of balances on "+name, c.Step) })
	}
	return g.Wait()
}

// repeat runs a function until ctx ends. It logs a failure and tries again.
func (w *Watch) repeat(ctx context.Context, name string, f func(context.Context) (time.Duration, error)) error {
	for {
		wait, err := f(ctx)
		if err != nil && ctx.Err() == nil {
			w.Telemetry.Log.WarnContext(ctx, "background work failed, retrying", "work", name, "err", err)
		}
		w.measure(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// measure shows the numbers that wait for an operator. A value that cannot be read now is shown the next time.
func (w *Watch) measure(ctx context.Context) {
	differing, err := w.Store.UnexplainedCounts(ctx)
	if err != nil {
		return
	}
	unclear, err := w.Store.UnclearCounts(ctx)
	if err != nil {
		return
	}
	passes, err := w.Store.WholePasses(ctx)
	if err != nil {
		return
	}
	for network := range w.comparers {
		for _, kind := range []string{"more", "less"} {
			w.unexplained.WithLabelValues(network, kind).Set(float64(differing[[2]string{network, kind}]))
		}
		w.unclear.WithLabelValues(network).Set(float64(unclear[network]))
		if at, ok := passes[network]; ok {
			w.compared.WithLabelValues(network).Set(float64(at))
		}
	}
}
