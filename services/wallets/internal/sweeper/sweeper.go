// Package sweeper moves money from deposit addresses to the treasury, one network at a time. Each round first follows
// the outgoing transactions, then plans the next transaction of every open sweep, then opens sweeps for deposits that
// are final and worth it. It writes every decision before it acts on it, and every write names the version that it was
// decided on. So the process may be killed between any two steps, on either side of the signer's socket, and continues
// from the database alone.
package sweeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/signer"
	"causeway.internal/services/wallets/internal/sweep"
)

// Due is a sum of final deposits of one asset at one address that no sweep has taken.
type Due struct {
	Address string
	Asset   string
	Amount  *big.Int
}

// Store keeps sweeps and their outgoing transactions. A write that was decided on an older version fails with ErrStale.
type Store interface {
	// Final is the newest final block of the chain in the scanner's view.
	Final(ctx context.Context, network string) (int64, error)
	// Canonical reports whether the scanner has a block, if it still remembers its height.
	Canonical(ctx context.Context, network string, height int64, hash string) (bool, error)
	House(ctx context.Context, family money.Family, address string) error

	Due(ctx context.Context, network string, least map[string]*big.Int, most int) ([]Due, error)
	// Open makes the sweep of all due money at an address in one asset.
	Open(ctx context.Context, network string, d Due, treasury string) (bool, error)
	// Idle are due open sweeps without a sweeping transaction under way and without an unmined funding.
	Idle(ctx context.Context, network string, most int) ([]sweep.Sweep, error)
	// Funding reports whether a funding of a sweep is in a block that is not final.
	Funding(ctx context.Context, s sweep.Sweep) (bool, error)
	// Wait postpones the next try; Block ends the tries until an operator releases the sweep.
	Wait(ctx context.Context, s sweep.Sweep, d time.Duration, reason string) error
	Block(ctx context.Context, s sweep.Sweep, reason string) error
	// Held is the part of an address's coin that belongs to a merchant.
	Held(ctx context.Context, network, address string) (*big.Int, error)

	// Next is the lowest nonce that a sender has not planned yet, at least floor. busy means that no node has the
	// transaction of an earlier nonce yet, or that too many are under way.
	Next(ctx context.Context, network, sender string, floor uint64, most int) (nonce uint64, busy bool, err error)
	Plan(ctx context.Context, o sweep.Outgoing) error
	// Drop deletes a planned transaction that was never signed.
	Drop(ctx context.Context, o sweep.Outgoing) error
	Underway(ctx context.Context, network string, most int) ([]sweep.Outgoing, error)
	Again(ctx context.Context, o sweep.Outgoing, next sweep.Attempt) error
	// Withdraw deletes the newest form, which was never signed, and gives the one before it more time.
	Withdraw(ctx context.Context, o sweep.Outgoing) error
	Signed(ctx context.Context, o sweep.Outgoing, raw []byte, hash string) error
	Sent(ctx context.Context, o sweep.Outgoing) error
	Mined(ctx context.Context, o sweep.Outgoing, r sweep.Receipt) error
	Unmined(ctx context.Context, o sweep.Outgoing) error
	Replaced(ctx context.Context, o sweep.Outgoing) error
	// Finish ends a transaction and books it; with the last of a wallet's deposits the wallet is swept.
	Finish(ctx context.Context, o sweep.Outgoing, r sweep.Receipt, ok bool, amount *big.Int) error
	// Counts are the numbers of open and of blocked sweeps, by network and state.
	Counts(ctx context.Context) (map[[2]string]int64, error)
}

// ErrStale means that another process has changed the row.
var ErrStale = errors.New("another process has changed the row")

// Chain is the network of a sweep. The EVM driver implements it; other families price their transactions differently
// and will need an interface of their own beside it, with the same Store and signer.
type Chain interface {
	Nonce(ctx context.Context, of string, height int64) (uint64, error)
	Coins(ctx context.Context, of string) (*big.Int, error)
	Tokens(ctx context.Context, contract, of string) (*big.Int, error)
	Market(ctx context.Context) (sweep.Market, error)
	Gas(ctx context.Context, from, to, contract string, amount *big.Int) (uint64, error)
	Send(ctx context.Context, raw []byte) error
	Receipt(ctx context.Context, hash string) (sweep.Receipt, bool, error)
}

// Config is one network.
type Config struct {
	Network  string
	Chain    Chain
	Coin     string // symbol of the network's own coin
	ChainID  uint64
	Treasury string
	Station  string // the gas station
	Terms    sweep.Terms
	Stuck    time.Duration // time without a block after which a transaction is sent again with a higher fee
	Resend   time.Duration // time after which the same bytes are sent to a node again
}

// Sweeper sweeps one network.
type Sweeper struct {
	cfg    Config
	store  Store
	chain  Chain
	signer *signer.Client
	log    *slog.Logger
	newID  func() string
}

// New makes the sweeper of a network. newID makes ids of outgoing transactions.
func New(cfg Config, store Store, signer *signer.Client, log *slog.Logger, newID func() string) *Sweeper {
	return &Sweeper{cfg: cfg, store: store, chain: cfg.Chain, signer: signer, log: log.With("network", cfg.Network), newID: newID}
}

// Bounds of one round.
const (
	roundMost   = 200
	stationMost = 16 // fundings under way at once
	waitShort   = 15 * time.Second
	waitLong    = 10 * time.Minute
)

// Round takes every step that is possible now. An error of one transaction does not stop the others.
func (s *Sweeper) Round(ctx context.Context) error {
	final, err := s.store.Final(ctx, s.cfg.Network)
	if err != nil {
		return err
	}
	underway, err := s.store.Underway(ctx, s.cfg.Network, roundMost)
	if err != nil {
		return err
	}
	var problems []error
	note := func(what string, err error) {
		if err != nil && !errors.Is(err, ErrStale) {
			problems = append(problems, fmt.Errorf("%s: %w", what, err))
		}
	}
	for _, o := range underway {
		note("transaction "+o.ID, s.follow(ctx, o, final))
	}
	idle, err := s.store.Idle(ctx, s.cfg.Network, roundMost)
	if err != nil {
		return err
	}
	for _, w := range idle {
		note("sweep "+w.ID, s.plan(ctx, w))
	}
	due, err := s.store.Due(ctx, s.cfg.Network, s.cfg.Terms.Least, roundMost)
	if err != nil {
		return err
	}
	for _, d := range due {
		_, err := s.store.Open(ctx, s.cfg.Network, d, s.cfg.Treasury)
		note("sweep of "+d.Address, err)
	}
	return errors.Join(problems...)
}

// follow takes the next step of a transaction that is planned or under way.
func (s *Sweeper) follow(ctx context.Context, o sweep.Outgoing, final int64) error {
	for _, hash := range o.Sent() {
		r, found, err := s.chain.Receipt(ctx, hash)
		if err != nil {
			return err
		}
		if found {
			return s.included(ctx, o, r, final)
		}
	}
	if o.State == sweep.Mined { // its block has left the chain
		s.log.WarnContext(ctx, "own transaction reorganised away", "id", o.ID, "tx", o.TxHash)
		return s.store.Unmined(ctx, o)
	}
	newest := o.Newest()
	switch {
	case newest.Raw == nil:
		return s.sign(ctx, o)
	case !newest.Sent:
		return s.send(ctx, o)
	}
	return s.wait(ctx, o, final)
}

// included records that a block holds a form of the transaction, and ends it once that block is final.
func (s *Sweeper) included(ctx context.Context, o sweep.Outgoing, r sweep.Receipt, final int64) error {
	if o.State != sweep.Mined || o.TxHash != r.TxHash || o.Block != r.Block {
		return s.store.Mined(ctx, o, r)
	}
	if r.Height > final {
		return nil
	}
	if ok, err := s.store.Canonical(ctx, s.cfg.Network, r.Height, r.Block); err != nil || !ok {
		return err // the node and the scanner are on two forks: one of them will move
	}
	amount, ok := o.Arrived(r)
	if !ok {
		s.log.ErrorContext(ctx, "own transaction final without effect", "id", o.ID, "kind", o.Kind, "tx", r.TxHash)
	}
	return s.store.Finish(ctx, o, r, ok, amount)
}

// sign requests the signature and stores the bytes. Repeated after a crash it gives the same bytes.
func (s *Sweeper) sign(ctx context.Context, o sweep.Outgoing) error {
	a := o.Newest()
	signed, err := s.signer.Sign(ctx, a.Request)
	if refusal, no := errors.AsType[*intent.Refusal](err); no {
		return s.refused(ctx, o, refusal)
	}
	if err != nil {
		return err
	}
	raw, err := signed.Check(a.Request, o.Sender)
	if err != nil {
		return err
	}
	return s.store.Signed(ctx, o, raw, signed.TxHash)
}

// refused handles the signer's refusal. A transaction without any signature is deleted, and its nonce is free.
func (s *Sweeper) refused(ctx context.Context, o sweep.Outgoing, no *intent.Refusal) error {
	s.log.WarnContext(ctx, "signer refused intent", "id", o.ID, "code", no.Code, "why", no.Message)
	if len(o.Attempts) > 1 { // an earlier form was sent: it stays, and is sent again
		return s.store.Withdraw(ctx, o)
	}
	if err := s.store.Drop(ctx, o); err != nil {
		return err
	}
	if no.Passing() {
		return s.store.Wait(ctx, o.Sweep, waitLong, no.Error())
	}
	return s.store.Block(ctx, o.Sweep, no.Error())
}

// send gives the newest form to a node. The node's refusal does not end the transaction: an older form may be mined, or
// a node may have accepted the bytes and lost the answer. So the form counts as sent, and the sweeper looks for it.
func (s *Sweeper) send(ctx context.Context, o sweep.Outgoing) error {
	err := s.chain.Send(ctx, o.Newest().Raw)
	if err != nil && !errors.Is(err, sweep.ErrRefused) {
		return err
	}
	if err != nil {
		s.log.WarnContext(ctx, "transaction refused by node", "id", o.ID, "tx", o.Newest().TxHash, "err", err)
	}
	return s.store.Sent(ctx, o)
}

// wait handles a transaction that nodes have and no block holds.
func (s *Sweeper) wait(ctx context.Context, o sweep.Outgoing, final int64) error {
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

// replaced ends a transaction whose nonce a final block has used. It reads the receipts once more, since a node may
// have shown the nonce before them.
func (s *Sweeper) replaced(ctx context.Context, o sweep.Outgoing) error {
	for _, hash := range o.Sent() {
		if _, found, err := s.chain.Receipt(ctx, hash); err != nil || found {
			return err
		}
	}
	s.log.ErrorContext(ctx, "nonce used by foreign transaction", "id", o.ID, "sender", o.Sender, "nonce", o.Nonce)
	return s.store.Replaced(ctx, o)
}

// raise plans the same transaction with a higher fee.
func (s *Sweeper) raise(ctx context.Context, o sweep.Outgoing) (bool, error) {
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
	case o.Kind == intent.Sweep:
		purse, err := s.purse(ctx, o.Sweep)
		if err != nil || purse.Cmp(price.Most()) < 0 {
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
func (s *Sweeper) purse(ctx context.Context, w sweep.Sweep) (*big.Int, error) {
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

// plan decides the next transaction of an open sweep: the sweep itself, or a funding that it needs first.
func (s *Sweeper) plan(ctx context.Context, w sweep.Sweep) error {
	market, err := s.chain.Market(ctx)
	if err != nil {
		return err
	}
	err = s.planSweep(ctx, w, market)
	switch {
	case errors.Is(err, sweep.ErrDear), errors.Is(err, sweep.ErrSmall), errors.Is(err, errShort):
		return s.store.Wait(ctx, w, waitLong, err.Error())
	case errors.Is(err, errBusy):
		return s.store.Wait(ctx, w, waitShort, err.Error())
	case errors.Is(err, sweep.ErrReverts):
		s.log.ErrorContext(ctx, "sweep blocked: transfer would fail", "sweep", w.ID, "address", w.Address, "asset", w.Asset, "err", err)
		return s.store.Block(ctx, w, err.Error())
	}
	return err
}

var (
	errShort = errors.New("the balance on the chain is below the amount to move")
	errBusy  = errors.New("an earlier transaction of the same sender is under way")
)

func (s *Sweeper) planSweep(ctx context.Context, w sweep.Sweep, market sweep.Market) error {
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
	gas, err := s.chain.Gas(ctx, w.Address, w.Treasury, w.Contract, probe)
	if err != nil {
		return err
	}
	price, err := s.cfg.Terms.Price(market, gas)
	if err != nil {
		return err
	}
	amount := w.Amount
	if w.Native() {
		if amount, err = s.cfg.Terms.Coins(w.Amount, price); err != nil {
			return err
		}
	} else {
		purse, err := s.purse(ctx, w)
		if err != nil {
			return err
		}
		var missing *big.Int
		if price, missing = s.cfg.Terms.Within(price, market, purse); missing != nil {
			// A mined funding without a visible block has just left the chain, and will be mined again.
			funding, err := s.store.Funding(ctx, w)
			if err != nil {
				return err
			}
			if funding {
				return errBusy
			}
			return s.planFund(ctx, w, missing, market)
		}
	}
	return s.planned(ctx, w, transfer{
		kind: intent.Sweep, from: w.Address, to: w.Treasury, asset: w.Asset, contract: w.Contract, amount: amount, price: price,
	})
}

func (s *Sweeper) balance(ctx context.Context, w sweep.Sweep) (*big.Int, error) {
	if w.Native() {
		return s.chain.Coins(ctx, w.Address)
	}
	return s.chain.Tokens(ctx, w.Contract, w.Address)
}

// planFund sends a deposit address the gas that its sweep needs.
func (s *Sweeper) planFund(ctx context.Context, w sweep.Sweep, missing *big.Int, market sweep.Market) error {
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
}

// planned fixes sender, nonce and terms. The plan is signed even if the process ends before.
func (s *Sweeper) planned(ctx context.Context, w sweep.Sweep, t transfer) error {
	used, err := s.chain.Nonce(ctx, t.from, -1)
	if err != nil {
		return err
	}
	nonce, busy, err := s.store.Next(ctx, s.cfg.Network, t.from, used, stationMost)
	if err != nil {
		return err
	}
	if busy {
		return errBusy
	}
	o := sweep.Outgoing{ID: s.newID(), Kind: t.kind, Sweep: w, Sender: t.from, Nonce: nonce, State: sweep.Planned, Version: 1}
	r := intent.Request{
		ID: sweep.RequestID(o.ID, 1), Kind: t.kind, Network: w.Network, Account: w.Account, Index: w.Index, Asset: t.asset,
		Amount: t.amount.String(), To: t.to,
		EVM: &intent.EVM{ChainID: s.cfg.ChainID, Contract: t.contract, Nonce: nonce},
	}
	o.Attempts = []sweep.Attempt{{Number: 1, Request: priced(r, t.price)}}
	return s.store.Plan(ctx, o)
}
