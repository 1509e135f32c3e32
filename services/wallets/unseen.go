package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/big"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"causeway.internal/libs/command"
	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/unseen"
)

// hintsEvery is how often transactions that were named are looked at.
const hintsEvery = 2 * time.Second

// worthFraction of the smallest sum that is worth a sweep is what an unexplained balance has to be over by to be listed.
const worthFraction = 10

// unseenCoin is the work that finds coin which the scans do not see.
type unseenCoin struct {
	p           *process
	looker      *unseen.Looker
	comparers   map[string]*unseen.Comparer
	unexplained *prometheus.GaugeVec
	unclear     *prometheus.GaugeVec
	compared    *prometheus.GaugeVec
}

// unseen looks at transactions that payers name on live EVM networks, and compares the balances of those that are not traced, on
// whichever replica leads.
func (p *process) unseen(cfg workSettings, chains *chains) func(context.Context) error {
	u := &unseenCoin{
		p: p, comparers: map[string]*unseen.Comparer{},
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
	p.tel.Registry.MustRegister(u.unexplained, u.unclear, u.compared, looked)
	networks := map[string]unseen.Chain{}
	for name, set := range p.cfg.World.Live.evm() {
		driver, ok := chains.scans[scanner.Chain{Mode: tenant.Live, Network: name}].driver.(unseen.Chain)
		if !ok {
			continue
		}
		networks[name] = driver
		if p.cfg.World.Live.untraced()[name] {
			u.comparers[name] = unseen.NewComparer(name, cfg.BalancesEvery, set.worthLooking(name), p.book, driver, p.tel.Log)
		}
	}
	u.looker = unseen.NewLooker(p.book, networks, p.tel.Log, func(network string, s unseen.State) {
		looked.WithLabelValues(network, string(s)).Inc()
	})
	if len(networks) == 0 {
		return func(ctx context.Context) error { <-ctx.Done(); return nil }
	}
	return func(ctx context.Context) error {
		return postgres.Lead(ctx, p.cfg.Postgres, "wallets unseen coin", p.tel.Log, u.run)
	}
}

// worthLooking is what a balance has to be over by for somebody to look at it.
func (e evmSettings) worthLooking(network string) *big.Int {
	n, _ := money.NetworkOf(network)
	terms, err := e.Sweep.terms(n)
	if err != nil {
		return new(big.Int) // the sweeps have refused these settings before
	}
	return new(big.Int).Div(terms.Least[n.Coin().Symbol], big.NewInt(worthFraction))
}

func (u *unseenCoin) run(ctx context.Context) error {
	defer func() { // the next leader measures
		u.unexplained.Reset()
		u.unclear.Reset()
		u.compared.Reset()
	}()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return u.repeat(ctx, "transactions that were named", func(ctx context.Context) (time.Duration, error) {
			return hintsEvery, u.looker.Round(ctx)
		})
	})
	for name, c := range u.comparers {
		g.Go(func() error { return u.repeat(ctx, "comparison of balances on "+name, c.Step) })
	}
	return g.Wait()
}

// repeat does one thing until ctx ends. A failure is logged and tried again.
func (u *unseenCoin) repeat(ctx context.Context, name string, f func(context.Context) (time.Duration, error)) error {
	for {
		wait, err := f(ctx)
		if err != nil && ctx.Err() == nil {
			u.p.tel.Log.WarnContext(ctx, "not finished, it is tried again", "work", name, "err", err)
		}
		u.measure(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// measure shows what waits for an operator. What cannot be read now is shown the next time.
func (u *unseenCoin) measure(ctx context.Context) {
	differing, err := u.p.book.UnexplainedCounts(ctx)
	if err != nil {
		return
	}
	unclear, err := u.p.book.UnclearCounts(ctx)
	if err != nil {
		return
	}
	passes, err := u.p.book.WholePasses(ctx)
	if err != nil {
		return
	}
	for network := range u.comparers {
		for _, kind := range []string{"more", "less"} {
			u.unexplained.WithLabelValues(network, kind).Set(float64(differing[[2]string{network, kind}]))
		}
		u.unclear.WithLabelValues(network).Set(float64(unclear[network]))
		if at, ok := passes[network]; ok {
			u.compared.WithLabelValues(network).Set(float64(at))
		}
	}
}

// showUnexplained prints what waits for an operator: balances that the books do not explain, and transactions whose effect is
// unclear.
func (p *process) showUnexplained(ctx context.Context, out io.Writer) error {
	balances, err := p.book.UnexplainedBalances(ctx)
	if err != nil {
		return err
	}
	hints, err := p.book.UnclearHints(ctx)
	if err != nil {
		return err
	}
	return writeJSON(out, map[string]any{"balances": balances, "transactions": hints})
}

// lookAt has the running service look at a transaction, also at one that it has looked at before.
func lookAt(ctx context.Context, in command.Input) error {
	var network, address, tx string
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&network, "network", "", "network or alias")
		f.StringVar(&address, "address", "", "deposit address that was paid")
		f.StringVar(&tx, "tx", "", "transaction hash")
	})
	if err != nil {
		return err
	}
	n, ok := money.NetworkOf(network)
	if !ok || address == "" || tx == "" {
		return in.Usage()
	}
	return operate(ctx, in, func(p *process) error {
		l := app.LookAt{Mode: tenant.Live, Network: n.Name, Address: address, Asset: n.Coin().Symbol, TxHash: tx}
		if err := p.cases().LookAtTransaction(ctx, l, true); err != nil {
			return err
		}
		_, err := fmt.Fprintln(in.Out, "It is looked at by the running service: see `wallets deposits --tx` and `wallets unexplained`.")
		return err
	})
}
