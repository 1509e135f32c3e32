package sweeper

import (
	"context"
	"fmt"
	"math/big"

	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/sweep"
)

// evmRefunds pays refunds on a network of the EVM family, from the refund station. A refund has one nonce of the
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
	s.planEach(ctx, idle, func(w sweep.Sweep) error {
		if err := s.planRefund(ctx, w, free); err != nil {
			return err
		}
		return s.hurry(ctx)
	}, note)
}

// hurry signs and sends the transactions of the station that no node has, so that a round sends several. Each is sent
// before the next one is planned: a refused one gives its nonce back, and the nonces have no gap.
func (s evmRefunds) hurry(ctx context.Context) error {
	for _, state := range []sweep.State{sweep.Planned, sweep.Signed} {
		underway, err := s.store.Underway(ctx, s.cfg.Network, roundMost)
		if err != nil {
			return err
		}
		for _, o := range underway {
			if o.State != state || len(o.Attempts) > 1 { // a block may hold an older form
				continue
			}
			step := s.sign
			if state == sweep.Signed {
				step = s.send
			}
			if err := step(ctx, o); err != nil {
				return err
			}
		}
	}
	return nil
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

// find implements family.
func (s evmRefunds) find(ctx context.Context, o sweep.Outgoing) (sweep.Receipt, bool, error) {
	r, found, err := s.evm.find(ctx, o)
	if err != nil || !found {
		return r, found, err
	}
	return settled(ctx, s.chain, o, r)
}

// wait implements family. A refund whose nonce is used up by another transaction is blocked until an operator looks,
// and not given up: a node that has lost a receipt shows the same, and the payer would be paid twice.
func (s evmRefunds) wait(ctx context.Context, o sweep.Outgoing, final int64) error {
	used, err := s.chain.Nonce(ctx, o.Sender, final)
	if err != nil {
		return err
	}
	if used <= o.Nonce {
		s.said.forget(o.ID)
		if err := s.cfg.Refunds.Unblock(ctx, o.Sweep); err != nil {
			return err
		}
		return s.evm.wait(ctx, o, final)
	}
	if _, found, err := s.find(ctx, o); err != nil || found {
		return err
	}
	if s.said.first(o.ID) {
		s.log.ErrorContext(ctx, "nonce of refund used by foreign transaction", "refund", o.Sweep.ID, "sender", o.Sender, "nonce", o.Nonce)
	}
	return s.store.Block(ctx, o.Sweep, fmt.Sprintf("the chain has used nonce %d of the refund station, and no node shows the refund", o.Nonce))
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
