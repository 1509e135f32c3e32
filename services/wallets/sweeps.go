package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"
	"golang.org/x/sync/errgroup"

	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/signer"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/sweeper"
)

// sweepSettings say when money leaves the deposit addresses of one EVM network. The signer has its own limits.
type sweepSettings struct {
	Treasury string        `env:"SWEEP_TREASURY" doc:"address that receives sweeps, the same that the signer has pinned; empty: the network is not swept"`
	Least    string        `env:"SWEEP_LEAST" doc:"smallest sums worth a sweep, as USDT:20,ETH:0.01; empty: the defaults of docs/custody.md"`
	MaxFee   int64         `env:"SWEEP_MAX_FEE_WEI" doc:"most wei per gas; while the network asks for more, sweeps wait. Empty: the default of docs/custody.md"`
	Reserve  int64         `env:"SWEEP_RESERVE_WEI" doc:"coins kept back for a rollup's data fee; empty: the default of docs/custody.md"`
	Stuck    time.Duration `env:"SWEEP_STUCK" envDefault:"3m" doc:"time without a block after which a transaction is signed again with a higher fee"`
}

// sweepDefaults are the limits of a network that are not configured: the cap per gas and the reserve in wei. The smallest
// sums are money.Asset's.
var sweepDefaults = map[string]struct{ maxFee, reserve int64 }{
	"ethereum": {60_000_000_000, 0},
	"bsc":      {5_000_000_000, 0},
	"polygon":  {500_000_000_000, 0},
	"base":     {1_000_000_000, 20_000_000_000_000},
	"arbitrum": {2_000_000_000, 0},
}

// worth is how many times its fee a sweep of the network's own coin must bring.
const worth = 20

// resendMost is how long at most a transaction waits until its bytes are given to a node again.
const resendMost = 30 * time.Second

// terms are the limits of a network.
func (s sweepSettings) terms(n money.Network) (sweep.Terms, error) {
	base := sweepDefaults[n.Name]
	t := sweep.Terms{MaxFee: big.NewInt(base.maxFee), Reserve: big.NewInt(base.reserve), Least: map[string]*big.Int{}, Share: worth}
	if s.MaxFee > 0 {
		t.MaxFee.SetInt64(s.MaxFee)
	}
	if s.Reserve > 0 {
		t.Reserve.SetInt64(s.Reserve)
	}
	sums := map[string]string{}
	for _, a := range n.Assets {
		sums[a.Symbol] = a.Worthwhile.String()
	}
	for entry := range strings.SplitSeq(s.Least, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		symbol, sum, ok := strings.Cut(entry, ":")
		asset, listed := n.Asset(symbol)
		if !ok || !listed {
			return t, fmt.Errorf("%s: smallest sums: %q is not SYMBOL:amount of a listed asset", n.Name, entry)
		}
		sums[asset.Symbol] = sum
	}
	for symbol, text := range sums {
		asset, _ := n.Asset(symbol)
		sum, err := decimal.NewFromString(text)
		if err != nil || !sum.IsPositive() || money.Digits(sum) > asset.Decimals {
			return t, fmt.Errorf("%s: smallest sums: %q is not an amount of %s", n.Name, text, symbol)
		}
		t.Least[symbol] = asset.ToUnits(sum).BigInt()
	}
	return t, nil
}

// treasuries are the addresses that the settings name to sweep to. One that cannot be read is left to sweeps, which refuses it.
func (s liveSettings) treasuries() (all []wire.OwnedAddress) {
	for _, set := range s.evm() {
		if treasury, err := evmtx.ParseAccount(set.Sweep.Treasury); err == nil {
			all = append(all, wire.OwnedAddress{Mode: tenant.Live, Family: money.EVM, Address: treasury.String()})
		}
	}
	return all
}

// sweeping is the networks that are swept.
type sweeping struct {
	p       *process
	every   time.Duration
	client  *signer.Client
	configs []sweeper.Config
	chains  map[string]sweeper.Chain
	errors  *prometheus.CounterVec
	open    *prometheus.GaugeVec
}

// sweeps wires the sweepers of every live EVM network that has a treasury.
func (p *process) sweeps(cfg workSettings, chains *chains) (*sweeping, error) {
	out := &sweeping{p: p, every: cfg.SweepEvery, client: signer.New(cfg.SignerSocket), chains: map[string]sweeper.Chain{}}
	for name, set := range p.cfg.World.Live.evm() {
		if set.Sweep.Treasury == "" || p.closed[scanner.Chain{Mode: tenant.Live, Network: name}] != nil {
			continue
		}
		n, _ := money.NetworkOf(name)
		scan, scanned := chains.scans[scanner.Chain{Mode: tenant.Live, Network: name}]
		driver, sweepable := scan.driver.(sweeper.Chain)
		treasury, err := evmtx.ParseAccount(set.Sweep.Treasury)
		switch {
		case cfg.SignerSocket == "":
			return nil, fmt.Errorf("%s has a treasury, but SIGNER_SOCKET is empty", name)
		case !scanned || !sweepable:
			return nil, fmt.Errorf("%s has a treasury, but no RPC URLs", name)
		case err != nil:
			return nil, fmt.Errorf("treasury of %s: %w", name, err)
		}
		terms, err := set.Sweep.terms(n)
		if err != nil {
			return nil, err
		}
		out.chains[name] = driver
		out.configs = append(out.configs, sweeper.Config{
			//nolint:gosec // a chain id is positive
			Network: name, Coin: n.Coin().Symbol, ChainID: uint64(set.chainID(n)), Treasury: treasury.String(), Terms: terms,
			Stuck: set.Sweep.Stuck, Resend: min(set.Sweep.Stuck/3, resendMost),
		})
	}
	return out, nil
}

// run sweeps on whichever replica leads.
func (s *sweeping) run(ctx context.Context) error {
	s.errors = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "wallets_sweep_errors_total", Help: "Rounds of sweeping in which something failed.",
	}, []string{"network"})
	s.open = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "wallets_sweeps", Help: "Sweeps by state: open, or blocked until an operator looks (wallets sweeps).",
	}, []string{"network", "state"})
	s.p.tel.Registry.MustRegister(s.errors, s.open)
	return postgres.Lead(ctx, s.p.cfg.Postgres, "wallets sweeps", s.p.tel.Log, func(ctx context.Context) error {
		defer s.open.Reset() // the next leader counts
		g, ctx := errgroup.WithContext(ctx)
		for _, cfg := range s.configs {
			g.Go(func() error { return s.network(ctx, cfg) })
		}
		return g.Wait()
	})
}

// network sweeps one network until ctx ends. It starts once the signer has proved itself.
func (s *sweeping) network(ctx context.Context, cfg sweeper.Config) error {
	log := s.p.tel.Log.With("network", cfg.Network)
	var one *sweeper.Sweeper
	told := "" // the last trouble, which is not repeated every round
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		if one == nil {
			station, err := s.prove(ctx, cfg)
			if err == nil {
				cfg.Station = station
				newID := func() string { return id.New("out_", time.Now()) }
				one = sweeper.New(cfg, s.p.book.Sweeps(), s.chains[cfg.Network], s.client, s.p.tel.Log, newID)
				log.InfoContext(ctx, "sweeping begins", "treasury", cfg.Treasury, "gas_station", station)
			} else if ctx.Err() == nil {
				s.errors.WithLabelValues(cfg.Network).Inc()
				if err.Error() != told {
					log.ErrorContext(ctx, "not sweeping", "err", err)
				}
				told = err.Error()
			}
		}
		if one != nil {
			if err := one.Round(ctx); err != nil && ctx.Err() == nil {
				s.errors.WithLabelValues(cfg.Network).Inc()
				log.WarnContext(ctx, "a round of sweeping was not finished, the next goes on", "err", err)
			}
			s.measure(ctx, cfg.Network)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (s *sweeping) measure(ctx context.Context, network string) {
	counts, err := s.p.book.Sweeps().Counts(ctx)
	if err != nil {
		return
	}
	for _, state := range []string{"open", "blocked"} {
		s.open.WithLabelValues(network, state).Set(float64(counts[[2]string{network, state}]))
	}
}

// prove checks that the signer serves this mode, has pinned the same treasury and has the keys of a sample of the issued
// addresses. It returns the gas station, whose transfers are no deposits from then on.
func (s *sweeping) prove(ctx context.Context, cfg sweeper.Config) (station string, err error) {
	told, err := s.client.Stations(ctx)
	if err != nil {
		return "", err
	}
	pinned, err := evmtx.ParseAccount(told.Treasuries[cfg.Network])
	if err != nil || pinned.String() != cfg.Treasury {
		return "", fmt.Errorf("the signer has another treasury pinned for %s, or none", cfg.Network)
	}
	source, ok := s.p.sources[tenant.Live][money.EVM].(*derivation.Account)
	if !ok || told.Mode != string(tenant.Live) || told.Account != source.Account() {
		return "", errors.New("the signer serves another mode or account than the live EVM key")
	}
	sample, err := s.p.book.Sample(ctx, signerSample)
	if err != nil {
		return "", err
	}
	var indices []uint32
	var issued []string
	for _, i := range sample {
		if i.Mode == tenant.Live && i.Family == money.EVM {
			//nolint:gosec // an index has 31 bits
			indices, issued = append(indices, uint32(i.Index)), append(issued, i.Address)
		}
	}
	has, err := s.client.Addresses(ctx, money.EVM, indices)
	if err != nil {
		return "", err
	}
	for i := range issued {
		if has[i] != issued[i] {
			return "", fmt.Errorf("the signer has no key of issued address %d: it holds another seed", indices[i])
		}
	}
	account, err := evmtx.ParseAccount(told.EVM)
	if err != nil {
		return "", err
	}
	return account.String(), s.p.book.Sweeps().House(ctx, money.EVM, account.String())
}

// signerSample is how many random issued addresses the signer has to prove, beside the first and the newest.
const signerSample = 32

// showSweeps prints what is not swept yet, and why; release ends one that is blocked.
func (p *process) showSweeps(ctx context.Context, release string, out io.Writer) error {
	if release != "" {
		if err := p.book.Sweeps().ReleaseSweep(ctx, release); err != nil {
			return err
		}
	}
	list, err := p.book.Sweeps().Unfinished(ctx)
	if err != nil {
		return err
	}
	return writeJSON(out, list)
}
