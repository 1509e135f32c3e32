package sweeper

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/sweep"
)

// EVM is a network of the EVM family, as its sweeps need it.
type EVM interface {
	Chain
	Receipts
	Agreeing
	Nonce(ctx context.Context, of string, height int64) (uint64, error)
	Coins(ctx context.Context, of string) (*big.Int, error)
	Tokens(ctx context.Context, contract, of string) (*big.Int, error)
	Market(ctx context.Context) (sweep.Market, error)
	Gas(ctx context.Context, from, to, contract string, amount *big.Int) (uint64, error)
	// Separator is the domain of a token's contract (EIP-712), zero without one.
	Separator(ctx context.Context, contract string) ([32]byte, error)
	// Taken reports whether a token's contract has taken an authorization (EIP-3009) of an address and nonce.
	Taken(ctx context.Context, contract, owner string, nonce [32]byte) (bool, error)
	// Presented finds the transaction between two heights whose authorization a token's contract has taken.
	Presented(ctx context.Context, use sweep.Authorization, from, to int64) (sweep.Presented, bool, error)
}

// evm sweeps a network of the EVM family.
type evm struct {
	*Sweeper
	chain EVM
}

// plan implements family.
func (s evm) plan(ctx context.Context, idle []sweep.Sweep, note func(what string, err error)) {
	for _, w := range idle {
		market, err := s.chain.Market(ctx)
		if err == nil {
			err = s.planSweep(ctx, w, market)
		}
		if err != nil {
			err = s.postpone(ctx, w, err)
		}
		note("sweep "+w.ID, err)
	}
	blocked, err := s.store.Blocked(ctx, s.cfg.Network, roundMost)
	note("blocked sweeps", err)
	for _, w := range blocked {
		note("blocked sweep "+w.ID, s.watch(ctx, w))
	}
}

// least implements family.
func (s evm) least(context.Context) (Least, error) { return Least{Sum: s.cfg.Terms.Least}, nil }

// find implements family.
func (s evm) find(ctx context.Context, o sweep.Outgoing) (sweep.Receipt, bool, error) {
	r, found, err := byHash(ctx, s.chain, o)
	if found {
		s.lost.ends(o.ID)
	}
	if found && o.Presented && o.Sender != s.cfg.Station {
		r.Fee = new(big.Int) // another has paid it
	}
	return r, found, err
}

// wait implements family.
func (s evm) wait(ctx context.Context, o sweep.Outgoing, final int64) error {
	used, err := s.chain.Nonce(ctx, o.Sender, final)
	if err != nil {
		return err
	}
	if used > o.Nonce {
		return s.replaced(ctx, o)
	}
	newest := o.Newest()
	if newest.SignedAgo >= s.cfg.Stuck {
		raised, err := s.raise(ctx, o)
		if err != nil || raised {
			return err
		}
	}
	if newest.SentAgo >= s.cfg.Resend {
		return s.send(ctx, o)
	}
	return nil
}

// replaced ends a transaction whose nonce a final block has used. Nodes behind one address may lag, and show the nonce
// before the receipts. So none of them may show a receipt for as long as a stuck transaction waits.
func (s evm) replaced(ctx context.Context, o sweep.Outgoing) error {
	if _, found, err := s.find(ctx, o); err != nil || found {
		return err
	}
	if !s.lost.lasts(o.ID, s.cfg.Stuck) {
		return nil
	}
	s.lost.ends(o.ID)
	s.log.ErrorContext(ctx, "nonce used by foreign transaction", "id", o.ID, "sender", o.Sender, "nonce", o.Nonce)
	return s.store.Replaced(ctx, o)
}

// raise plans the same transaction with a higher fee.
func (s evm) raise(ctx context.Context, o sweep.Outgoing) (bool, error) {
	market, err := s.chain.Market(ctx)
	if err != nil {
		return false, err
	}
	r := o.Newest().Request
	old, err := priceOf(r)
	if err != nil {
		return false, err
	}
	price, ok := s.cfg.Terms.Raise(old, market)
	if !ok {
		return false, nil
	}
	switch {
	case o.Kind == intent.Sweep && o.Sweep.Native():
		amount, err := s.cfg.Terms.Coins(o.Sweep.Amount, price)
		if err != nil {
			return false, nil
		}
		r.Amount = amount.String()
	case o.Authorized(): // the station pays, as for a funding
		r.EVM = authorizedUntil(*r.EVM, market)
	case o.Kind == intent.Sweep:
		purse, err := s.purse(ctx, o.Sweep)
		if err != nil || purse.Cmp(price.Most()) < 0 {
			return false, err
		}
	}
	if o.Kind == intent.Refund {
		r.Order = o.Sweep.Order // payments may have signed it again
		if enough, err := s.covers(ctx, o.Sweep, price); err != nil || !enough {
			return false, err
		}
	}
	next := sweep.Attempt{Number: o.Newest().Number + 1, Request: priced(r, price)}
	next.Request.ID = sweep.RequestID(o.ID, next.Number)
	s.log.WarnContext(ctx, "transaction stuck, fee raised", "id", o.ID, "attempt", next.Number, "max_fee", price.MaxFee)
	return true, s.store.Again(ctx, o, next)
}

func priceOf(r intent.Request) (p sweep.Price, err error) {
	if r.EVM == nil {
		return p, intent.ErrNoTerms
	}
	p.Gas = r.EVM.Gas
	if p.MaxFee, err = intent.Units(r.EVM.MaxFee); err == nil {
		p.Tip, err = intent.Units(r.EVM.Tip)
	}
	return p, err
}

// priced is a request with another price.
func priced(r intent.Request, p sweep.Price) intent.Request {
	terms := *r.EVM
	terms.Gas, terms.MaxFee, terms.Tip = p.Gas, p.MaxFee.String(), p.Tip.String()
	r.EVM = &terms
	return r
}

// purse is the coin with which an address can pay: everything except merchants' money.
func (s evm) purse(ctx context.Context, w sweep.Sweep) (*big.Int, error) {
	has, err := s.chain.Coins(ctx, w.Address)
	if err != nil {
		return nil, err
	}
	held, err := s.store.Held(ctx, w.Network, w.Address)
	if err != nil {
		return nil, err
	}
	if has = new(big.Int).Sub(has, held); has.Sign() < 0 {
		return new(big.Int), nil
	}
	return has, nil
}

// planSweep decides the next transaction of an open sweep: the sweep itself, or a funding that it needs first.
func (s evm) planSweep(ctx context.Context, w sweep.Sweep, market sweep.Market) error {
	if presented, err := s.presented(ctx, w); err != nil || presented {
		return err
	}
	if w.Authorized > 0 {
		if err := s.store.Unused(ctx, w, market.At); err != nil {
			return err
		}
	}
	has, err := s.balance(ctx, w)
	if err != nil {
		return err
	}
	if has.Cmp(w.Amount) < 0 {
		return errShort
	}
	probe := w.Amount
	if w.Native() {
		probe = big.NewInt(1) // a transfer of all would leave nothing for the estimated fee
	}
	if err := s.cfg.Terms.Pace.Now(market.Now(), s.cfg.Terms.MaxFee, w.Age); err != nil {
		return err
	}
	gas, err := s.chain.Gas(ctx, w.Address, w.Treasury, w.Contract, probe)
	if err != nil {
		return err
	}
	price, err := s.cfg.Terms.Price(market, gas)
	if err != nil {
		return err
	}
	if !w.Native() {
		return s.planToken(ctx, w, price, market)
	}
	amount, err := s.cfg.Terms.Coins(w.Amount, price)
	if err != nil {
		return err
	}
	return s.planned(ctx, w, sweepOf(w, amount, price))
}

// sweepOf is the transfer that a deposit address sends and pays for itself.
func sweepOf(w sweep.Sweep, amount *big.Int, price sweep.Price) transfer {
	return transfer{
		kind: intent.Sweep, from: w.Address, to: w.Treasury, asset: w.Asset, contract: w.Contract, amount: amount, price: price,
	}
}

// planToken plans the sweep of a token. An address that cannot pay for it gets coins first, or the gas station presents
// an authorization of the address, whichever costs the station less. A sweep with an authorization goes on with it:
// both the authorization and a plain transfer could land.
func (s evm) planToken(ctx context.Context, w sweep.Sweep, price sweep.Price, market sweep.Market) error {
	if w.Authorized > 0 {
		return s.planAuthorized(ctx, w, price, market)
	}
	purse, err := s.purse(ctx, w)
	if err != nil {
		return err
	}
	own, missing := s.cfg.Terms.Within(price, market, purse)
	if missing == nil {
		return s.planned(ctx, w, sweepOf(w, w.Amount, own))
	}
	// A mined funding without a visible block has just left the chain, and will be mined again.
	funding, err := s.store.Funding(ctx, w)
	if err != nil {
		return err
	}
	if funding {
		return errBusy
	}
	if domain, ok := s.cfg.Authorized[w.Asset]; ok && market.Cheaper(price.Gas+domain.Gas, missing) {
		err := s.planAuthorized(ctx, w, price, market)
		if !errors.Is(err, errDomain) {
			return err
		}
		s.log.ErrorContext(ctx, "authorization not accepted by token", "asset", w.Asset, "contract", w.Contract, "err", err)
	}
	return s.planFund(ctx, w, missing, market)
}

func (s evm) balance(ctx context.Context, w sweep.Sweep) (*big.Int, error) {
	if w.Native() {
		return s.chain.Coins(ctx, w.Address)
	}
	return s.chain.Tokens(ctx, w.Contract, w.Address)
}

// planFund sends a deposit address the gas that its sweep needs.
func (s evm) planFund(ctx context.Context, w sweep.Sweep, missing *big.Int, market sweep.Market) error {
	gas, err := s.chain.Gas(ctx, s.cfg.Station, w.Address, "", missing)
	if errors.Is(err, sweep.ErrReverts) {
		return fmt.Errorf("%w: the gas station %s cannot pay %s: %w", errShort, s.cfg.Station, missing, err)
	}
	if err != nil {
		return err
	}
	price, err := s.cfg.Terms.Price(market, gas)
	if err != nil {
		return err
	}
	has, err := s.chain.Coins(ctx, s.cfg.Station)
	if err != nil {
		return err
	}
	if has.Cmp(new(big.Int).Add(missing, price.Most())) < 0 {
		s.log.ErrorContext(ctx, "gas station empty", "address", s.cfg.Station, "has", has, "wanted", missing)
		return errShort
	}
	return s.planned(ctx, w, transfer{
		kind: intent.Fund, from: s.cfg.Station, to: w.Address, asset: s.cfg.Coin, amount: missing, price: price,
	})
}

// transfer is the next transaction of a sweep, before it has a nonce.
type transfer struct {
	kind     intent.Kind
	from, to string
	asset    string
	contract string // "" for the network's own coin
	amount   *big.Int
	price    sweep.Price
	// authorization is set when the gas station sends the sweep.
	authorization *intent.Authorization
	since         int64 // final height before any block that may hold it, with an authorization
}

// planned fixes sender, nonce and terms. The plan is signed even if the process ends before.
func (s evm) planned(ctx context.Context, w sweep.Sweep, t transfer) error {
	used, err := s.chain.Nonce(ctx, t.from, -1)
	if err != nil {
		return err
	}
	queue, err := s.store.Queue(ctx, s.cfg.Network, t.from)
	if err != nil {
		return err
	}
	if !queue.Open(stationMost) {
		return errBusy
	}
	nonce := max(queue.Next, used)
	o := sweep.Outgoing{ID: s.newID(), Kind: t.kind, Sweep: w, From: t.since, Sender: t.from, Nonce: nonce, State: sweep.Planned, Version: 1}
	r := intent.Request{
		ID: sweep.RequestID(o.ID, 1), Kind: t.kind, Network: w.Network, Account: w.Account, Index: w.Index, Asset: t.asset,
		Amount: t.amount.String(), To: t.to,
		EVM:   &intent.EVM{ChainID: s.cfg.ChainID, Contract: t.contract, Nonce: nonce, Authorization: t.authorization},
		Order: w.Order,
	}
	o.Attempts = []sweep.Attempt{{Number: 1, Request: priced(r, t.price)}}
	return s.store.Plan(ctx, o)
}
