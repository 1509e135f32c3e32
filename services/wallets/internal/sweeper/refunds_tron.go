package sweeper

import (
	"context"
	"errors"
	"math/big"

	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/sweep"
)

// errContract is a refund of TRX that every node refuses.
var errContract = errors.New("the destination is a contract, and the network sends no TRX to one")

// tronRefunds pays refunds on tron from the refund station, which burns TRX for the energy and bandwidth that it lacks.
// A refund has one transaction. Once its form has expired, and the chain's final blocks show that it can land no more,
// the signer signs another form that names the expired one, as often as its policy allows.
type tronRefunds struct{ tron }

// least implements family.
func (s tronRefunds) least(context.Context) (Least, error) { return Least{}, nil }

// plan implements family.
func (s tronRefunds) plan(ctx context.Context, idle []sweep.Sweep, note func(what string, err error)) {
	if len(idle) == 0 {
		return
	}
	p, err := s.purse(ctx, idle, "")
	if err != nil {
		note("the refund station", err)
		return
	}
	s.planEach(ctx, idle, func(w sweep.Sweep) error { return s.planOne(ctx, w, p) }, note)
}

// planOne plans the transaction of a refund, if the station can pay it.
func (s tronRefunds) planOne(ctx context.Context, w sweep.Sweep, p *tronPurse) error {
	r, pay, err := s.form(ctx, w, p)
	if errors.Is(err, errContract) {
		return s.refuseContract(ctx, w)
	}
	if err != nil {
		return err
	}
	if err := s.planned(ctx, w, s.cfg.Station, r); err != nil {
		return err
	}
	p.take(w, pay)
	return nil
}

// refuseContract ends a refund of TRX to a contract. The address may have become a contract lately, so a refund from
// before a restore may have been paid before that.
func (s tronRefunds) refuseContract(ctx context.Context, w sweep.Sweep) error {
	restored, err := s.cfg.Refunds.Restored(ctx, w)
	switch {
	case err != nil:
		return err
	case restored:
		return s.store.Block(ctx, w, errContract.Error()+"; it may have been paid before the restore: look into the signer's log")
	}
	s.log.WarnContext(ctx, "refund of TRX to a contract refused", "refund", w.ID)
	return s.cfg.Refunds.Refuse(ctx, w, wire.RefundDestinationRefused)
}

// find implements family.
func (s tronRefunds) find(ctx context.Context, o sweep.Outgoing) (sweep.Receipt, bool, error) {
	r, found, err := s.tron.find(ctx, o)
	if err != nil || !found {
		return r, found, err
	}
	return settled(ctx, s.chain, o, r)
}

// wait implements family.
func (s tronRefunds) wait(ctx context.Context, o sweep.Outgoing, _ int64) error {
	e, expired, err := s.expired(ctx, o)
	if err != nil {
		return err
	}
	if !expired {
		return s.resend(ctx, o)
	}
	if o.Sweep.Blocked { // no other form follows, so nothing need be proved of this one
		return nil
	}
	// A form that was signed so lately has expired before: the signer has just refused the next one.
	if o.Newest().SignedAgo < s.cfg.Tron.Expiry/2 {
		return nil
	}
	return s.renew(ctx, o, e)
}

// renew plans the next form of a refund whose newest form has expired, if the station can pay it.
func (s tronRefunds) renew(ctx context.Context, o sweep.Outgoing, e end) error {
	p, err := s.purse(ctx, []sweep.Sweep{o.Sweep}, o.ID)
	if err != nil {
		return err
	}
	r, _, err := s.form(ctx, o.Sweep, p)
	if errors.Is(err, errContract) { // since an earlier form was signed
		return s.store.Block(ctx, o.Sweep, err.Error())
	}
	if err != nil {
		return s.postponeRefund(ctx, o.Sweep, err)
	}
	s.said.forget(o.Sweep.ID)
	if lost, err := s.lost(ctx, o, e); err != nil || !lost {
		return err
	}
	r.Tron.Follows = o.Newest().TxHash
	return s.store.Again(ctx, o, numbered(o, o.Newest().Number+1, r))
}

// tronPurse is what the refund station can still spend in a round.
type tronPurse struct {
	basis
	tokens map[string]*big.Int // by contract
}

// tronPay is what a transaction of the station takes at most.
type tronPay struct{ energy, size, coins int64 }

// purse reads the balances of the station, without what transactions under way may take, except for one. A blocked
// refund whose form has expired takes nothing: no other form follows before an operator releases it.
func (s tronRefunds) purse(ctx context.Context, list []sweep.Sweep, except string) (*tronPurse, error) {
	g, err := s.basis(ctx)
	if err != nil {
		return nil, err
	}
	p := &tronPurse{g, map[string]*big.Int{}}
	s.report(s.cfg.Coin, big.NewInt(g.station.Coins))
	for _, w := range list {
		if w.Native() || p.tokens[w.Contract] != nil {
			continue
		}
		if p.tokens[w.Contract], err = s.chain.Tokens(ctx, w.Contract, s.cfg.Station); err != nil {
			return nil, err
		}
		s.report(w.Asset, p.tokens[w.Contract])
	}
	underway, err := s.store.Underway(ctx, s.cfg.Network, roundMost)
	if err != nil {
		return nil, err
	}
	for _, o := range underway {
		newest := o.Newest().Request
		over := o.Sweep.Blocked && newest.Tron != nil && !g.final.Time.Before(newest.Tron.Expires())
		if o.ID == except || o.State == sweep.Mined || over {
			continue
		}
		pay, err := p.pay(o.Sweep, newest, false)
		if err != nil {
			return nil, err
		}
		p.take(o.Sweep, pay)
	}
	return p, nil
}

// pay is what a refund takes from the station at most. active says that the payer's address is an account already.
func (p *tronPurse) pay(w sweep.Sweep, r intent.Request, active bool) (pay tronPay, err error) {
	if pay.size, err = bandwidth(r, w.Address); err != nil {
		return pay, err
	}
	pay.energy = r.Tron.FeeLimit / max(1, p.rates.Energy)
	pay.coins = max(0, pay.energy-p.station.Energy)*p.rates.Energy + p.rates.Cost(pay.size, p.station, active || !w.Native())
	if w.Native() {
		pay.coins += w.Amount.Int64() // bandwidth has checked its size
	}
	return pay, nil
}

// take lowers the purse by a refund.
func (p *tronPurse) take(w sweep.Sweep, pay tronPay) {
	p.station.Coins -= pay.coins
	p.station.Energy = max(0, p.station.Energy-pay.energy)
	if p.station.Bandwidth >= pay.size {
		p.station.Bandwidth -= pay.size
	}
	if has := p.tokens[w.Contract]; has != nil {
		has.Sub(has, w.Amount)
	}
}

// form makes the transaction of a refund on the newest final block, if the station can pay it.
func (s tronRefunds) form(ctx context.Context, w sweep.Sweep, p *tronPurse) (r intent.Request, pay tronPay, err error) {
	r, active := s.request(w, &p.basis, intent.Refund), true
	r.Amount = w.Amount.String()
	if w.Native() {
		at, err := s.chain.Means(ctx, w.Treasury)
		if err != nil {
			return r, pay, err
		}
		if at.Contract {
			return r, pay, errContract
		}
		active = at.Active
	} else {
		if p.tokens[w.Contract].Cmp(w.Amount) < 0 {
			return r, pay, ErrStation
		}
		energy, err := s.chain.Energy(ctx, w.Contract, s.cfg.Station, w.Treasury, w.Amount)
		if err != nil {
			return r, pay, err
		}
		limit := energy * limitFirst / limitParts * p.rates.Energy
		if limit > s.cfg.Tron.Terms.MaxFee {
			return r, pay, sweep.ErrDear
		}
		// A call that runs out of energy ends the refund, so its limit is twice as high where that is allowed.
		r.Tron.Contract, r.Tron.FeeLimit = w.Contract, max(1, min(2*limit, s.cfg.Tron.Terms.MaxFee))
	}
	if pay, err = p.pay(w, r, active); err != nil {
		return r, pay, err
	}
	if p.station.Coins < pay.coins {
		return r, pay, ErrStation
	}
	return r, pay, nil
}
