package sweeper

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"
	"golang.org/x/sync/errgroup"

	"causeway.internal/libs/address"
	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/signer"
	"causeway.internal/services/wallets/internal/soltx"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/wallet"
)

// Options are the settings and parts that the sweepers of a process share.
type Options struct {
	Networks  []Config
	Every     time.Duration // between two rounds on a network
	Postgres  postgres.Config
	Telemetry *telemetry.Telemetry
	Store     Store
	Refunds   RefundStore
	Signer    *signer.Client
	Sources   map[money.Family]derivation.Source // of live addresses
	// Sample returns addresses that were issued.
	Sample func(ctx context.Context, most int) ([]wallet.Issued, error)
}

// Fleet is the sweepers of every network with a treasury. They run on the leader.
type Fleet struct {
	Options
	errors  *prometheus.CounterVec
	open    *prometheus.GaugeVec
	station *prometheus.GaugeVec
	// The sums that sweeps collected, and the fees of sweeps and fundings; their ratio is the cost of collecting.
	collected, cost *prometheus.CounterVec
}

// NewFleet makes the sweepers.
func NewFleet(o Options) *Fleet { return &Fleet{Options: o} }

// Run sweeps while this replica leads.
func (f *Fleet) Run(ctx context.Context) error {
	f.errors = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "wallets_sweep_errors_total", Help: "Rounds of sweeping in which something failed.",
	}, []string{"network"})
	f.open = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "wallets_sweeps", Help: "Sweeps by state: open, or blocked until an operator looks (wallets sweeps).",
	}, []string{"network", "state"})
	f.collected = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "wallets_sweep_collected_total", Help: "Amounts that reached the treasury, in whole units of the asset.",
	}, []string{"network", "asset"})
	f.cost = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "wallets_sweep_cost_total", Help: "Fees of final sweeps and fundings, in whole units of the network's coin, by the swept asset.",
	}, []string{"network", "coin", "asset"})
	f.station = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "wallets_refund_station", Help: "Balance of the refund station when it was last read, in whole units of the asset.",
	}, []string{"network", "asset"})
	f.Telemetry.Registry.MustRegister(f.errors, f.open, f.collected, f.cost, f.station)
	return postgres.Lead(ctx, f.Postgres, "wallets sweeps", f.Telemetry.Log, func(ctx context.Context) error {
		defer f.open.Reset() // the next leader counts
		defer f.station.Reset()
		g, ctx := errgroup.WithContext(ctx)
		for _, cfg := range f.Networks {
			g.Go(func() error { return f.sweep(ctx, cfg) })
		}
		return g.Wait()
	})
}

// sweep sweeps one network, and pays its refunds, until ctx ends. It starts once the signer has passed the proof.
func (f *Fleet) sweep(ctx context.Context, cfg Config) error {
	log := f.Telemetry.Log.With("network", cfg.Network)
	var all []*Sweeper
	told := "" // the last error, which is logged once and not every round
	tick := time.NewTicker(f.Every)
	defer tick.Stop()
	for {
		if all == nil {
			var err error
			if all, err = f.start(ctx, cfg); err != nil && ctx.Err() == nil {
				f.errors.WithLabelValues(cfg.Network).Inc()
				if err.Error() != told {
					log.ErrorContext(ctx, "sweeping not started", "err", err)
				}
				told = err.Error()
			}
		}
		for _, one := range all {
			if err := one.Round(ctx); err != nil && ctx.Err() == nil {
				f.errors.WithLabelValues(cfg.Network).Inc()
				log.WarnContext(ctx, "sweep round not finished", "err", err)
			}
		}
		if all != nil {
			f.measure(ctx, cfg.Network)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// start makes the sweeper of a network, and that of its refunds where the signer has a refund station and the network's
// family can pay from it.
func (f *Fleet) start(ctx context.Context, cfg Config) ([]*Sweeper, error) {
	proved, told, err := f.prove(ctx, cfg)
	if err != nil {
		return nil, err
	}
	log := f.Telemetry.Log.With("network", cfg.Network)
	newID := func() string { return id.New("out_", time.Now()) }
	proved.Ended = f.ended
	all := []*Sweeper{New(proved, f.Store, f.Signer, f.Telemetry.Log, newID)}
	log.InfoContext(ctx, "sweeping started", "treasury", cfg.Treasury, "gas_station", proved.Station)
	listed, _ := money.NetworkOf(cfg.Network)
	if !refundable(cfg.Chain) || told.Refunds[listed.Family] == "" {
		return all, nil
	}
	back := proved
	back.Nonces = told.RefundNonces
	back.Refunds, back.Ready, back.Ended = f.Refunds, f.Refunds.Follows, nil
	back.Balance = func(asset string, has *big.Int) {
		if a, ok := listed.Asset(asset); ok {
			f.station.WithLabelValues(listed.Name, a.Symbol).Set(units(a, has))
		}
	}
	if back.Station, err = written(listed.Family, told.Refunds[listed.Family]); err != nil {
		return nil, err
	}
	if err := f.Refunds.KeepStation(ctx, listed.Family, back.Station); err != nil {
		return nil, err
	}
	log.InfoContext(ctx, "refunds started", "refund_station", back.Station)
	return append(all, New(back, f.Refunds, f.Signer, f.Telemetry.Log, newID)), nil
}

func (f *Fleet) measure(ctx context.Context, network string) {
	counts, err := f.Store.Counts(ctx)
	if err != nil {
		return
	}
	for _, state := range []string{"open", "blocked"} {
		f.open.WithLabelValues(network, state).Set(float64(counts[[2]string{network, state}]))
	}
}

// ended counts a final transaction.
func (f *Fleet) ended(o sweep.Outgoing, end sweep.Outcome) {
	n, _ := money.NetworkOf(o.Sweep.Network)
	coin := n.Coin()
	f.cost.WithLabelValues(n.Name, coin.Symbol, o.Sweep.Asset).Add(units(coin, end.Fee))
	if asset, ok := n.Asset(o.Sweep.Asset); ok && end.OK && o.Kind == intent.Sweep {
		f.collected.WithLabelValues(n.Name, asset.Symbol).Add(units(asset, end.Amount))
	}
}

// units is an amount in whole units, as a metric has it.
func units(a money.Asset, amount *big.Int) float64 { //nolint:forbidigo // a metric, which nothing is booked from
	return decimal.NewFromBigInt(amount, -a.Decimals).InexactFloat64() //nolint:forbidigo // see above
}

// prove checks that the signer serves this mode, has pinned the same treasury and has the keys of a sample of the
// issued addresses. It fills in the gas station, whose transfers no longer count as deposits, and its nonce accounts.
func (f *Fleet) prove(ctx context.Context, cfg Config) (Config, signer.Stations, error) {
	listed, _ := money.NetworkOf(cfg.Network)
	told, err := f.Signer.Stations(ctx)
	if err != nil {
		return cfg, told, err
	}
	pinned, err := written(listed.Family, told.Treasuries[cfg.Network])
	if err != nil || pinned != cfg.Treasury {
		return cfg, told, fmt.Errorf("the signer has another treasury pinned for %s, or none", cfg.Network)
	}
	// The addresses of solana have no account: their index takes its place in the path.
	source, ok := f.Sources[listed.Family].(*derivation.Account)
	if told.Mode != string(tenant.Live) || listed.Family != money.Solana && (!ok || told.Account != source.Account()) {
		return cfg, told, fmt.Errorf("the signer serves another mode or account than the live %s key", listed.Family)
	}
	if err := f.proveKeys(ctx, listed.Family); err != nil || listed.Family == money.Bitcoin { // whose coin pays for itself
		return cfg, told, err
	}
	if cfg.Station, err = written(listed.Family, told.Of(listed.Family)); err != nil {
		return cfg, told, err
	}
	if listed.Family == money.Solana {
		cfg.Nonces = told.Nonces
		if _, err := soltx.ParseOwner(cfg.Station); err != nil {
			return cfg, told, fmt.Errorf("the gas station: %w", err)
		}
		for _, at := range slices.Concat(told.Nonces, told.RefundNonces) { // no payer could use what is sent there
			if err := f.Refunds.KeepStation(ctx, listed.Family, at); err != nil {
				return cfg, told, err
			}
		}
	}
	cfg.Authorized = told.Authorized[cfg.Network]
	return cfg, told, f.Store.KeepStation(ctx, listed.Family, cfg.Station)
}

// proveKeys checks that the signer has the keys of a sample of the issued addresses.
func (f *Fleet) proveKeys(ctx context.Context, family money.Family) error {
	sample, err := f.Sample(ctx, signerSample)
	if err != nil {
		return err
	}
	var indices []uint32
	var issued []string
	for _, i := range sample {
		if i.Mode == tenant.Live && i.Family == family {
			//nolint:gosec // an index has 31 bits
			indices, issued = append(indices, uint32(i.Index)), append(issued, i.Address)
		}
	}
	has, err := f.Signer.Addresses(ctx, family, indices)
	if err != nil {
		return err
	}
	for i := range issued {
		if has[i] != issued[i] {
			return fmt.Errorf("the signer has no key of issued address %d: it holds another seed", indices[i])
		}
	}
	return nil
}

// written is an address in the form in which the chain's drivers write it.
func written(family money.Family, text string) (string, error) {
	if family == money.Bitcoin { // both sides refuse every other form
		return text, nil
	}
	key, err := address.Parse(family, address.Mainnet, text)
	if err != nil {
		return "", fmt.Errorf("the address %w", err)
	}
	return address.Encode(family, address.Mainnet, key)
}

// signerSample is how many random issued addresses the signer must prove, in addition to the first and the newest.
const signerSample = 32
