package sweeper

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/sweep"
)

// ErrStation says that the refund station cannot pay a refund at present. Operators fill it from the treasury.
var ErrStation = errors.New("the refund station has less than the refund and its fee")

// waitStation is the pause until the station's balance is looked at again.
const waitStation = time.Minute

// evmRefunds pays refunds on a network of the EVM family, from the refund station. A refund has one number of the
// station for ever, because the signer signs no other for its order.
type evmRefunds struct{ evm }

// least implements family.
func (s evmRefunds) least(context.Context) (Least, error) { return Least{}, nil }

// plan implements family.
func (s evmRefunds) plan(ctx context.Context, idle []sweep.Sweep, note func(what string, err error)) {
	if len(idle) == 0 {
		return
	}
	free, err := s.free(ctx, idle)
	if err != nil {
		note("the refund station", err)
		return
	}
	for _, w := range idle {
		w.Address = s.cfg.Station
		err := s.planRefund(ctx, w, free)
		switch {
		case errors.Is(err, errBusy):
			return // the next round goes on
		case errors.Is(err, ErrStation):
			s.log.ErrorContext(ctx, "refund station short", "address", s.cfg.Station, "refund", w.ID, "asset", w.Asset, "amount", w.Amount)
			err = s.store.Wait(ctx, w, waitStation, ErrStation.Error())
		case err != nil:
			err = s.postpone(ctx, w, err)
		}
		note("refund "+w.ID, err)
	}
}

// free are the balances of the station by contract, "" for the coin, without what transactions under way may take.
func (s evmRefunds) free(ctx context.Context, idle []sweep.Sweep) (map[string]*big.Int, error) {
	free := map[string]*big.Int{}
	coins, err := s.chain.Coins(ctx, s.cfg.Station)
	if err != nil {
		return nil, err
	}
	free[""] = coins
	s.report(s.cfg.Coin, coins)
	for _, w := range idle {
		if free[w.Contract] != nil {
			continue
		}
		if free[w.Contract], err = s.chain.Tokens(ctx, w.Contract, s.cfg.Station); err != nil {
			return nil, err
		}
		s.report(w.Asset, free[w.Contract])
	}
	underway, err := s.store.Underway(ctx, s.cfg.Network, roundMost)
	if err != nil {
		return nil, err
	}
	for _, o := range underway {
		if o.State == sweep.Mined {
			continue
		}
		price, err := priceOf(o.Newest().Request)
		if err != nil {
			return nil, err
		}
		take(free, o.Sweep, price)
	}
	return free, nil
}

// report passes on a balance of the station.
func (s evmRefunds) report(asset string, has *big.Int) {
	if s.cfg.Balance != nil {
		s.cfg.Balance(asset, has)
	}
}

// take lowers balances by a refund and its fee.
func take(free map[string]*big.Int, w sweep.Sweep, p sweep.Price) {
	if has := free[w.Contract]; has != nil {
		has.Sub(has, w.Amount)
	}
	free[""].Sub(free[""], p.Most())
}

// planRefund fixes the transaction of a refund, if the station can pay it.
func (s evmRefunds) planRefund(ctx context.Context, w sweep.Sweep, free map[string]*big.Int) error {
	if free[w.Contract].Cmp(w.Amount) < 0 {
		return ErrStation
	}
	market, err := s.chain.Market(ctx)
	if err != nil {
		return err
	}
	probe := w.Amount
	if w.Native() {
		probe = big.NewInt(1) // a transfer of all would leave nothing for the estimated fee
	}
	gas, err := s.chain.Gas(ctx, s.cfg.Station, w.Treasury, w.Contract, probe)
	if err != nil {
		return err
	}
	price, err := s.cfg.Terms.Price(market, gas)
	if err != nil {
		return err
	}
	need := new(big.Int).Add(price.Most(), s.cfg.Terms.Reserve)
	if w.Native() {
		need.Add(need, w.Amount)
	}
	if free[""].Cmp(need) < 0 {
		return ErrStation
	}
	err = s.planned(ctx, w, transfer{
		kind: intent.Refund, from: s.cfg.Station, to: w.Treasury, asset: w.Asset, contract: w.Contract, amount: w.Amount, price: price,
	})
	if err == nil {
		take(free, w, price)
	}
	return err
}

// find implements family. A refund ends by its receipt alone, so two hosts must agree about one that is stored.
func (s evmRefunds) find(ctx context.Context, o sweep.Outgoing) (sweep.Receipt, bool, error) {
	r, found, err := s.evm.find(ctx, o)
	if err != nil || !found || o.State != sweep.Mined || o.TxHash != r.TxHash || o.Block != r.Block {
		return r, found, err
	}
	return s.chain.Agreed(ctx, r.TxHash)
}

// wait implements family. A refund whose number is used up by another transaction is blocked until an operator looks,
// and not given up: a node that has lost a receipt shows the same, and the payer would be paid twice.
func (s evmRefunds) wait(ctx context.Context, o sweep.Outgoing, final int64) error {
	used, err := s.chain.Nonce(ctx, o.Sender, final)
	if err != nil {
		return err
	}
	if used <= o.Nonce {
		if err := s.cfg.Refunds.Unblock(ctx, o.Sweep); err != nil {
			return err
		}
		return s.evm.wait(ctx, o, final)
	}
	if _, found, err := s.find(ctx, o); err != nil || found {
		return err
	}
	s.log.ErrorContext(ctx, "number of refund used by foreign transaction", "refund", o.Sweep.ID, "sender", o.Sender, "nonce", o.Nonce)
	return s.store.Block(ctx, o.Sweep, fmt.Sprintf("the chain has used number %d of the refund station, and no node shows the refund", o.Nonce))
}

// covers reports whether the station can pay a refund at a price.
func (s evm) covers(ctx context.Context, w sweep.Sweep, p sweep.Price) (bool, error) {
	has, err := s.chain.Coins(ctx, w.Address)
	need := p.Most()
	if w.Native() {
		need.Add(need, w.Amount)
	}
	return err == nil && has.Cmp(need) >= 0, err
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
	// Unblock undoes a Block that a later answer of the chain has contradicted.
	Unblock(ctx context.Context, s sweep.Sweep) error
}

// RefundBook counts refunds.
type RefundBook interface {
	Levels(ctx context.Context) ([]RefundLevel, error)
}

// RefundGauges show the refunds that have not ended, on every network: one that cannot be sent stays visible.
type RefundGauges struct {
	book   RefundBook
	open   *prometheus.GaugeVec
	oldest *prometheus.GaugeVec
}

// NewRefundGauges registers the gauges.
func NewRefundGauges(book RefundBook, registry prometheus.Registerer) *RefundGauges {
	g := &RefundGauges{
		book: book,
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "wallets_refunds", Help: "Refunds by state: open, blocked until an operator looks (wallets refunds), or short of money at the refund station.",
		}, []string{"network", "asset", "state"}),
		oldest: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "wallets_refund_oldest_seconds", Help: "Age of the oldest refund that has not ended.",
		}, []string{"network", "asset"}),
	}
	registry.MustRegister(g.open, g.oldest)
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
	return nil
}
