package sweeper

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"time"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/trontx"
)

// Tron is the network tron, as its sweeps need it. Sums are sun.
type Tron interface {
	Chain
	Receipts
	Agreeing
	Head(ctx context.Context) (chain.Head, error)
	Means(ctx context.Context, of string) (sweep.Means, error)
	Lendable(ctx context.Context, of string) (int64, error)
	Lent(ctx context.Context, from, to string) (int64, error)
	Rates(ctx context.Context, station string) (sweep.Rates, error)
	Tokens(ctx context.Context, contract, of string) (*big.Int, error)
	Energy(ctx context.Context, contract, from, to string, amount *big.Int) (int64, error)
	// Lacks reports whether every endpoint shows the block of a height, and none of them the transaction in it.
	Lacks(ctx context.Context, height int64, id string) (h chain.Header, lacks bool, err error)
}

// TronConfig is the part of Config that only tron has.
type TronConfig struct {
	Terms  sweep.TronTerms
	Expiry time.Duration // from the final block to the expiration of a transaction that builds on it
}

// tron sweeps the network tron. A transaction there has no nonce that another could use up. It names a block that it
// builds on and an expiration, and no block whose parent has that time or a later one may hold it. Therefore wallets
// plans another transaction in its place only when a final block has that time and every block between the two lacks
// the first one. Only the times of blocks count, never a clock: the scanner has these blocks, and nothing undoes them.
type tron struct {
	*Sweeper
	chain Tron
}

// errStarved blocks a sweep whose transactions ran out of energy again and again.
var errStarved = errors.New("its transactions ran out of energy")

const (
	failuresMost = 3
	// The limit of a call is a quarter above the estimate, and half the estimate higher after each failure.
	limitParts, limitFirst, limitStep = 4, 5, 2
)

// basis is what a round plans on.
type basis struct {
	final   chain.Header // the scanner's
	rates   sweep.Rates
	station sweep.Means
}

func (s tron) basis(ctx context.Context) (g basis, err error) {
	final, known, err := s.store.FinalBlock(ctx, s.cfg.Network)
	if err != nil {
		return g, err
	}
	head, err := s.chain.Head(ctx)
	if err != nil {
		return g, err
	}
	if !known || head.Time.Sub(final.Time) > s.cfg.Tron.Expiry/2 {
		return g, errBehind
	}
	if g.rates, err = s.chain.Rates(ctx, s.cfg.Station); err != nil {
		return g, err
	}
	if g.station, err = s.chain.Means(ctx, s.cfg.Station); err == nil {
		g.station.Lendable, err = s.chain.Lendable(ctx, s.cfg.Station)
	}
	g.final = final
	return g, err
}

// errBehind says that a transaction on the scanner's final block would expire too soon.
var errBehind = errors.New("the scan is too far behind the chain to sweep")

// plan implements family.
func (s tron) plan(ctx context.Context, idle []sweep.Sweep, note func(what string, err error)) {
	lent, err := s.store.Lent(ctx, s.cfg.Network, roundMost)
	if err != nil {
		note("lent energy", err)
	}
	if len(idle)+len(lent) == 0 {
		return
	}
	g, err := s.basis(ctx)
	if err != nil {
		note("planning", err)
		return
	}
	for _, l := range lent {
		note("energy lent by "+l.Outgoing, s.takeBack(ctx, l, &g))
	}
	for _, w := range idle {
		err := s.planSweep(ctx, w, &g)
		if err != nil {
			err = s.postpone(ctx, w, err)
		}
		note("sweep "+w.ID, err)
	}
}

// planSweep decides the next transaction of an open sweep: the sweep itself, or coins or energy that it needs first.
func (s tron) planSweep(ctx context.Context, w sweep.Sweep, g *basis) error {
	failures, err := s.store.Failures(ctx, w)
	if err != nil {
		return err
	}
	if failures >= failuresMost {
		return errStarved
	}
	at, err := s.chain.Means(ctx, w.Address)
	if err != nil {
		return err
	}
	if w.Native() {
		return s.planCoins(ctx, w, g, at)
	}
	returning, err := s.store.Returning(ctx, w)
	if err != nil {
		return err
	}
	if returning { // it may go at any moment, and the transfer would burn coins instead
		return errBusy
	}
	has, err := s.chain.Tokens(ctx, w.Contract, w.Address)
	if err != nil {
		return err
	}
	if has.Cmp(w.Amount) < 0 {
		return errShort
	}
	energy, err := s.chain.Energy(ctx, w.Contract, w.Address, w.Treasury, w.Amount)
	if err != nil {
		return err
	}
	held, err := s.store.Held(ctx, w.Network, w.Address)
	if err != nil {
		return err
	}
	r := s.request(w, g, intent.Sweep)
	r.Amount, r.Tron.Contract, r.Tron.FeeLimit = w.Amount.String(), w.Contract, s.cfg.Tron.Terms.MaxFee
	size, err := bandwidth(r, w.Address)
	if err != nil {
		return err
	}
	own := new(big.Int).Sub(big.NewInt(at.Coins), held)
	at.Coins = max(0, own.Int64())
	call := sweep.Call{Energy: energy * (limitFirst + limitStep*failures) / limitParts, Size: size, Held: held.Sign() > 0}
	step, err := s.cfg.Tron.Terms.Next(call, at, g.station, g.rates)
	if err != nil {
		return err
	}
	if err := s.cfg.Terms.Pace.Now(big.NewInt(step.Cost), big.NewInt(s.cfg.Tron.Terms.MaxFee), w.Age); err != nil {
		return err
	}
	if step.FeeLimit > 0 {
		r.Tron.FeeLimit = step.FeeLimit
		return s.planned(ctx, w, w.Address, r)
	}
	// A mined one without a visible effect has just left the chain, and will be mined again.
	underway, err := s.store.Funding(ctx, w)
	if err != nil {
		return err
	}
	if underway {
		return errBusy
	}
	if step.Lend > 0 {
		return s.fromStation(ctx, w, g, stationStep{kind: intent.Delegate, amount: step.Lend, active: true})
	}
	return s.fromStation(ctx, w, g, stationStep{kind: intent.Fund, amount: step.Give, active: at.Active})
}

// planCoins plans the sweep of TRX, which pays for its own bytes.
func (s tron) planCoins(ctx context.Context, w sweep.Sweep, g *basis, at sweep.Means) error {
	if big.NewInt(at.Coins).Cmp(w.Amount) < 0 {
		return errShort
	}
	r := s.request(w, g, intent.Sweep)
	r.Amount = w.Amount.String()
	size, err := bandwidth(r, w.Address)
	if err != nil {
		return err
	}
	treasury, err := s.chain.Means(ctx, w.Treasury)
	if err != nil {
		return err
	}
	if !treasury.Active { // the first TRX there would cost more than its bytes
		return fmt.Errorf("%w: the treasury %s is no account yet, send it 1 TRX", errShort, w.Treasury)
	}
	amount, err := g.rates.Send(w.Amount, size, at, s.cfg.Terms.Share)
	if err != nil {
		return err
	}
	r.Amount = amount.String()
	return s.planned(ctx, w, w.Address, r)
}

// stationStep is a transaction of the gas station for a sweep.
type stationStep struct {
	kind   intent.Kind
	amount int64
	active bool // the address is an account already
}

// fromStation sends TRX or lends energy to a deposit address. The basis loses what the transaction takes, so that the
// next one of the same round does not count on it.
func (s tron) fromStation(ctx context.Context, w sweep.Sweep, g *basis, step stationStep) error {
	r := s.request(w, g, step.kind)
	r.Asset, r.To, r.Amount = s.cfg.Coin, w.Address, big.NewInt(step.amount).String()
	size, err := bandwidth(r, s.cfg.Station)
	if err != nil {
		return err
	}
	needs := g.rates.Cost(size, g.station, step.active)
	if step.kind == intent.Fund {
		needs += step.amount
	}
	if g.station.Coins < needs {
		s.log.ErrorContext(ctx, "gas station empty", "address", s.cfg.Station, "has", g.station.Coins, "wanted", needs)
		return errShort
	}
	if err := s.planned(ctx, w, s.cfg.Station, r); err != nil {
		return err
	}
	g.station.Coins -= needs
	g.station.Bandwidth = max(0, g.station.Bandwidth-size)
	if step.kind == intent.Delegate {
		g.station.Lendable -= step.amount
	}
	return nil
}

// takeBack takes back the energy of a sweep that has ended. The chain says how much is still lent.
func (s tron) takeBack(ctx context.Context, l Lent, g *basis) error {
	stake, err := s.chain.Lent(ctx, s.cfg.Station, l.Sweep.Address)
	if err != nil {
		return err
	}
	if stake == 0 {
		return s.store.Returned(ctx, l.Outgoing)
	}
	err = s.fromStation(ctx, l.Sweep, g, stationStep{kind: intent.Undelegate, amount: stake, active: true})
	if errors.Is(err, errBusy) || errors.Is(err, errShort) {
		return nil // the next round tries again
	}
	return err
}

// request is a transaction on the final block, without its amount.
func (s tron) request(w sweep.Sweep, g *basis, kind intent.Kind) intent.Request {
	return intent.Request{
		Kind: kind, Network: w.Network, Account: w.Account, Index: w.Index, Asset: w.Asset, To: w.Treasury, Order: w.Order,
		Tron: &intent.Tron{
			Block: g.final.Hash, Expiration: g.final.Time.Add(s.cfg.Tron.Expiry).UnixMilli(), Timestamp: g.final.Time.UnixMilli(),
		},
	}
}

// bandwidth is the size of a request's transaction, which the number of the sender does not change.
func bandwidth(r intent.Request, sender string) (int64, error) {
	owner, err := trontx.ParseAccount(sender)
	if err != nil {
		return 0, err
	}
	tx, err := r.TronTransaction(owner)
	return tx.Bandwidth(), err
}

// planned fixes the sender's number. The plan is signed even if the process ends before. The number is part of the
// timestamp, so that two transactions of a sender never have the same bytes. The chain does not check the number, so
// the gas station need not send one transaction before it plans the next.
func (s tron) planned(ctx context.Context, w sweep.Sweep, sender string, r intent.Request) error {
	queue, err := s.store.Queue(ctx, s.cfg.Network, sender)
	if err != nil {
		return err
	}
	open := queue.Open(stationMost)
	if sender == s.cfg.Station {
		open = queue.Unsent+queue.Sent < stationMost
	}
	if !open {
		return errBusy
	}
	from, err := r.Tron.Height()
	if err != nil {
		return err
	}
	o := sweep.Outgoing{
		ID: s.newID(), Kind: r.Kind, Sweep: w, From: from, Sender: sender, Nonce: queue.Next, State: sweep.Planned, Version: 1,
	}
	o.Attempts = []sweep.Attempt{numbered(o, 1, r)}
	return s.store.Plan(ctx, o)
}

// numbered is a form of a transaction that has the sender's number.
func numbered(o sweep.Outgoing, form int, r intent.Request) sweep.Attempt {
	r.ID, r.Tron.Number = sweep.RequestID(o.ID, form), o.Nonce
	r.Tron.Timestamp += int64(o.Nonce % 1_000) //nolint:gosec // below a thousand
	return sweep.Attempt{Number: form, Request: r}
}

// least implements family.
func (s tron) least(context.Context) (Least, error) { return Least{Sum: s.cfg.Terms.Least}, nil }

// find implements family.
func (s tron) find(ctx context.Context, o sweep.Outgoing) (sweep.Receipt, bool, error) {
	return byHash(ctx, s.chain, o)
}

// wait implements family. A transaction that has expired ends; its sweep is planned again on the chain's present state.
func (s tron) wait(ctx context.Context, o sweep.Outgoing, _ int64) error {
	end, expired, err := s.expired(ctx, o)
	if err != nil {
		return err
	}
	if !expired {
		return s.resend(ctx, o)
	}
	if lost, err := s.lost(ctx, o, end); err != nil || !lost {
		return err
	}
	return s.store.Replaced(ctx, o)
}

// resend sends the newest form again now and then.
func (s tron) resend(ctx context.Context, o sweep.Outgoing) error {
	if o.Newest().SentAgo < s.cfg.Resend {
		return nil
	}
	return s.send(ctx, o)
}

// end is the expiration of a form, and the newest final block.
type end struct {
	final   chain.Header
	expires time.Time
}

// expired reports whether a final block has the time at which the newest form expires, or a later one.
func (s tron) expired(ctx context.Context, o sweep.Outgoing) (e end, is bool, err error) {
	terms := o.Newest().Request.Tron
	if terms == nil {
		return e, false, intent.ErrNoTron
	}
	e.expires = terms.Expires()
	final, known, err := s.store.FinalBlock(ctx, s.cfg.Network)
	e.final = final
	return e, known && !final.Time.Before(e.expires), err
}

// lost reports whether no block holds an expired form, from the one that it builds on to the first final one that has
// the time of its expiration. Then none ever will.
func (s tron) lost(ctx context.Context, o sweep.Outgoing, e end) (bool, error) {
	newest := o.Newest()
	height, err := newest.Request.Tron.Height()
	if err != nil {
		return false, err
	}
	id, err := tronID(o, newest)
	if err != nil {
		return false, err
	}
	for height++; height <= e.final.Height; height++ {
		h, lacks, err := s.chain.Lacks(ctx, height, id)
		if err != nil {
			return false, err
		}
		known, err := s.store.Canonical(ctx, s.cfg.Network, height, h.Hash)
		if err != nil {
			return false, err
		}
		if !known {
			return false, fmt.Errorf("the endpoints show %s at height %d, and the scanner another block", h.Hash, height)
		}
		if !lacks {
			s.log.WarnContext(ctx, "transaction is in a block without a result", "id", o.ID, "tx", newest.TxHash, "height", height)
			return false, nil
		}
		if !h.Time.Before(e.expires) {
			s.log.WarnContext(ctx, "transaction expired", "id", o.ID, "kind", o.Kind, "tx", newest.TxHash, "expired", e.expires)
			return true, nil
		}
	}
	return false, fmt.Errorf("no block up to %d has the time %s that block %d had", e.final.Height, e.expires, e.final.Height)
}

// tronID is the hash of a form, which follows from its request, so that it is known before the signer has answered.
func tronID(o sweep.Outgoing, form sweep.Attempt) (string, error) {
	owner, err := trontx.ParseAccount(o.Sender)
	if err != nil {
		return "", err
	}
	tx, err := form.Request.TronTransaction(owner)
	id := tx.ID()
	return hex.EncodeToString(id[:]), err
}
