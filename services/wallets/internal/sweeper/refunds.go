package sweeper

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/sweep"
)

// ErrStation says that the refund station cannot pay a refund at present. Operators fill it from the treasury.
var ErrStation = errors.New("the refund station has less than the refund and its fee")

// waitStation is the pause until the station's balance is looked at again.
const waitStation = time.Minute

// Agreeing is a network that shows a transaction once two hosts agree about it, where it has two.
type Agreeing interface {
	Agreed(ctx context.Context, hash string) (sweep.Receipt, bool, error)
}

// refunds pays the refunds of a family of networks; nil where none is paid.
func refunds(s *Sweeper) family {
	switch chain := s.cfg.Chain.(type) {
	case EVM:
		return evmRefunds{evm{s, chain}}
	case Bitcoin:
		return bitcoinRefunds{newBitcoin(s, chain)}
	case Solana:
		return solanaRefunds{solana{s, chain}}
	case Tron:
		return tronRefunds{tron{s, chain}}
	}
	return nil
}

// refundable reports whether refunds can be paid on a chain.
func refundable(chain Chain) bool { return refunds(&Sweeper{cfg: Config{Chain: chain}}) != nil }

// listed are the refunds whose contract is the one that the network's scan reads for their asset. The others are
// blocked before a node is asked about them: it may know no such contract, and the question would fail for every
// refund.
func (s *Sweeper) listed(ctx context.Context, idle []sweep.Sweep, note func(what string, err error)) []sweep.Sweep {
	return slices.DeleteFunc(idle, func(w sweep.Sweep) bool {
		want, known := s.cfg.Tokens[w.Asset]
		if w.Asset == s.cfg.Coin {
			want, known = "", true
		}
		if known && w.Contract == want {
			return false
		}
		reason := fmt.Sprintf("its order names the contract %q of %s, and the settings of %s name %q", w.Contract, w.Asset, s.cfg.Network, want)
		s.log.ErrorContext(ctx, "refund blocked: contract not scanned", "refund", w.ID, "reason", reason)
		note("refund "+w.ID, s.store.Block(ctx, w, reason))
		return true
	})
}

// planEach plans refunds from the station, until one has to wait for an earlier transaction of it.
func (s *Sweeper) planEach(ctx context.Context, idle []sweep.Sweep, plan func(w sweep.Sweep) error, note func(what string, err error)) {
	for _, w := range idle {
		w.Address = s.cfg.Station
		err := plan(w)
		if errors.Is(err, errBusy) {
			return // the next round goes on
		}
		if err != nil {
			err = s.postponeRefund(ctx, w, err)
		} else {
			s.said.forget(w.ID)
		}
		note("refund "+w.ID, err)
	}
}

// postponeRefund handles the reason why a refund has no transaction now. It logs once that the station cannot pay a
// refund; the gauge shows it for as long as that holds.
func (s *Sweeper) postponeRefund(ctx context.Context, w sweep.Sweep, why error) error {
	if !errors.Is(why, ErrStation) {
		return s.postpone(ctx, w, why)
	}
	if s.said.first(w.ID) {
		s.log.ErrorContext(ctx, "refund station short", "address", s.cfg.Station, "refund", w.ID, "asset", w.Asset, "amount", w.Amount)
	}
	return s.store.Wait(ctx, w, waitStation, ErrStation.Error())
}

// report passes on a balance of the station.
func (s *Sweeper) report(asset string, has *big.Int) {
	if s.cfg.Balance != nil {
		s.cfg.Balance(asset, has)
	}
}

// settled confirms a receipt that is stored. A refund ends by its receipt alone, so two hosts must agree about it.
func settled(ctx context.Context, chain Agreeing, o sweep.Outgoing, r sweep.Receipt) (sweep.Receipt, bool, error) {
	if o.State != sweep.Mined || o.TxHash != r.TxHash || o.Block != r.Block {
		return r, true, nil
	}
	return chain.Agreed(ctx, r.TxHash)
}

// ending is why a refund has failed whose order the signer refuses with a code, "" for a code that leaves it open. The
// signer names an order for which it has signed anything spent instead.
func ending(code string) string {
	switch code {
	case intent.Order:
		return wire.RefundOrderRefused
	case intent.Destination:
		return wire.RefundDestinationRefused
	case intent.Asset, intent.Network:
		return wire.RefundAssetRefused
	}
	return ""
}

// RefundLevel counts the refunds of one asset that have not ended.
type RefundLevel struct {
	Network, Asset       string
	Open, Blocked, Short int64 // short: for want of money at the station
	Oldest               int64 // seconds
}

// RefundStore keeps refunds as a Store.
type RefundStore interface {
	Store
	// Follows reports whether the scan of a network follows its chain: without that nothing is refunded there.
	Follows(ctx context.Context, network string) (bool, error)
	// Spent blocks a refund for whose order the signer has signed a transaction that is not stored here. It can never
	// be given up.
	Spent(ctx context.Context, s sweep.Sweep, reason string) error
	// Refuse ends a refund whose order the signer refuses for good. It fails with ErrStale when something may be signed.
	Refuse(ctx context.Context, s sweep.Sweep, reason string) error
	// Restored reports a refund from before a restore: the signer may have signed what is forgotten here.
	Restored(ctx context.Context, s sweep.Sweep) (bool, error)
	StationStore
	// Ask notes that the signer will be asked to sign a transaction. It reports false while the refund is paused, its
	// network is halted, or it has ended; a transaction that the signer was never asked for is dropped then.
	Ask(ctx context.Context, o sweep.Outgoing) (bool, error)
	// Unblock undoes a Block that a later answer of the chain has contradicted.
	Unblock(ctx context.Context, s sweep.Sweep) error
}

// RefundBook counts refunds.
type RefundBook interface {
	Levels(ctx context.Context) ([]RefundLevel, error)
	// Uncovered counts balances of merchants that withdrawals and reorganisations have left below zero.
	Uncovered(ctx context.Context) (int64, error)
}

// RefundGauges show the refunds that have not ended, on every network: one that cannot be sent stays visible.
type RefundGauges struct {
	book   RefundBook
	open   *prometheus.GaugeVec
	oldest *prometheus.GaugeVec
	short  prometheus.Gauge
}

// NewRefundGauges registers the gauges.
func NewRefundGauges(book RefundBook, registry prometheus.Registerer) *RefundGauges {
	g := &RefundGauges{
		book: book,
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "wallets_refunds", Help: "Refunds and withdrawals by state: open, blocked until an operator looks (wallets refunds), or short of money at the refund station.",
		}, []string{"network", "asset", "state"}),
		oldest: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "wallets_refund_oldest_seconds", Help: "Age of the oldest refund that has not ended.",
		}, []string{"network", "asset"}),
		short: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "wallets_balances_below_zero", Help: "Balances of merchants below zero, because a chain took back what was withdrawn.",
		}),
	}
	registry.MustRegister(g.open, g.oldest, g.short)
	return g
}

// Measure counts once.
func (g *RefundGauges) Measure(ctx context.Context) error {
	levels, err := g.book.Levels(ctx)
	if err != nil {
		return err
	}
	g.open.Reset()
	g.oldest.Reset()
	for _, l := range levels {
		for state, n := range map[string]int64{"open": l.Open, "blocked": l.Blocked, "short": l.Short} {
			g.open.WithLabelValues(l.Network, l.Asset, state).Set(float64(n))
		}
		g.oldest.WithLabelValues(l.Network, l.Asset).Set(float64(l.Oldest))
	}
	// This reads the balances of all merchants: the levels above must not wait for it.
	short, err := g.book.Uncovered(ctx)
	if err != nil {
		return err
	}
	g.short.Set(float64(short))
	return nil
}
