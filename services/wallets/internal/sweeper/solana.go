package sweeper

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
	"causeway.internal/services/wallets/internal/sweep"
)

// Solana is the solana network, as its sweeps need it.
type Solana interface {
	Chain
	Receipts
	Agreeing
	// Accounts reads accounts as the newest confirmed block left them, or the newest final one, and says its slot.
	Accounts(ctx context.Context, addresses []string, final bool) ([]sweep.SolanaAccount, int64, error)
	// UnitPrice is the present price per compute unit of transactions that write to these accounts.
	UnitPrice(ctx context.Context, accounts []string) (uint64, error)
	// Try runs an unsigned transaction without sending it; nil means that it would succeed.
	Try(ctx context.Context, raw []byte) (*sweep.Fault, error)
	// Absent reports whether no endpoint has a record of a transaction; each must have all blocks between two slots.
	Absent(ctx context.Context, hash string, since, seen int64) (bool, error)
}

// solana sweeps solana. Many sweeps of one asset enter one transaction. Each uses up the value of a nonce account, so a
// nonce account has one transaction under way: of all forms and all transactions that name one value, the chain takes
// one at most.
type solana struct {
	*Sweeper
	chain Solana
}

// nonceMost is the number of transactions under way that name one nonce account.
const nonceMost = 1

// plan implements family. Each free nonce account takes a batch.
func (s solana) plan(ctx context.Context, idle []sweep.Sweep, note func(what string, err error)) {
	ready := slices.DeleteFunc(slices.Clone(idle), func(w sweep.Sweep) bool {
		wait := s.cfg.Settle - w.Age
		if w.Native() || wait <= 0 {
			return false
		}
		// The token account is closed with the sweep, and a payer who comes after that would pay its rent again.
		note("sweep "+w.ID, s.store.Wait(ctx, w, wait, "waits until no further payment is expected"))
		return true
	})
	for _, at := range s.cfg.Nonces {
		if len(ready) == 0 {
			return
		}
		queue, err := s.store.Queue(ctx, s.cfg.Network, at)
		if err != nil || !queue.Open(nonceMost) {
			note("nonce account "+at, err)
			continue
		}
		var batch []sweep.Sweep
		batch, ready = alike(ready)
		if err := s.planBatch(ctx, batch, at, queue.Next); err != nil {
			for _, w := range batch {
				note("sweep "+w.ID, s.postpone(ctx, w, err))
			}
		}
	}
}

// alike parts the sweeps that fit into one transaction with the first one from the rest. A transaction moves one asset
// to one treasury, and sweeps of before a change of the treasury keep the earlier one.
func alike(ready []sweep.Sweep) (batch, rest []sweep.Sweep) {
	first := ready[0]
	for _, w := range ready {
		same := w.Asset == first.Asset && w.Contract == first.Contract && w.Treasury == first.Treasury
		if same && len(batch) < soltx.Most(w.Native()) && w.Fits(batch) {
			batch = append(batch, w)
		} else {
			rest = append(rest, w)
		}
	}
	return batch, rest
}

// draft is a batch while it is planned: the request, and the sweep of each of its moves.
type draft struct {
	sweeps  []sweep.Sweep
	request intent.Request
	slot    int64  // at which the nonce was read
	station uint64 // balance of the station
}

// planBatch fixes the nonce and the terms of a transaction. Sweeps that cannot be in it are postponed on their own.
func (s solana) planBatch(ctx context.Context, batch []sweep.Sweep, at string, number uint64) error {
	d, err := s.draft(ctx, batch, at)
	if err != nil || len(d.sweeps) == 0 {
		return err
	}
	if err := s.tried(ctx, &d); err != nil || len(d.sweeps) == 0 {
		return err
	}
	tx, err := d.price(ctx, s)
	if err != nil {
		return err
	}
	price := new(big.Int).SetUint64(tx.UnitPrice) // not above the most, else the draft would be too dear
	if err := s.cfg.Terms.Pace.Now(price, price, oldest(d.sweeps)); err != nil {
		return err
	}
	if fee := tx.Fee(); !fee.IsUint64() || d.station < fee.Uint64()+soltx.Bare {
		s.log.ErrorContext(ctx, "gas station empty", "address", s.cfg.Station, "has", d.station, "wanted", fee)
		return fmt.Errorf("%w: the gas station %s cannot pay %s lamports", errShort, s.cfg.Station, fee)
	}
	o := sweep.Outgoing{
		ID: s.newID(), Kind: intent.Sweep, Sweep: d.sweeps[0], Batch: d.sweeps, Sender: at, Nonce: number, From: d.slot, State: sweep.Planned, Version: 1,
	}
	d.request.ID = sweep.RequestID(o.ID, 1)
	o.Attempts = []sweep.Attempt{{Number: 1, Request: d.request}}
	return s.store.Plan(ctx, o)
}

// oldest is the age of the oldest sweep of a batch: the younger ones go with it.
func oldest(batch []sweep.Sweep) (age time.Duration) {
	for _, w := range batch {
		age = max(age, w.Age)
	}
	return age
}

// draft reads the nonce and the balances, and makes the moves of those sweeps whose money is there.
func (s solana) draft(ctx context.Context, batch []sweep.Sweep, at string) (d draft, err error) {
	first := batch[0]
	station, err := soltx.ParseAccount(s.cfg.Station)
	if err != nil {
		return d, err
	}
	names := []string{at, s.cfg.Station, first.Treasury}
	if names[2], err = s.purse(first.Treasury, first.Contract); err != nil {
		return d, err
	}
	for _, w := range batch {
		name, err := s.purse(w.Address, w.Contract)
		if err != nil {
			return d, err
		}
		names = append(names, name)
	}
	accounts, slot, err := s.chain.Accounts(ctx, names, false)
	if err != nil {
		return d, err
	}
	nonce, err := soltx.ReadNonce(accounts[0].Program, accounts[0].Data, station)
	if err != nil {
		return d, fmt.Errorf("%w: %s %w", errShort, at, err)
	}
	if _, err := held(accounts[2], first.Treasury, first.Contract); err != nil {
		return d, fmt.Errorf("%w: the treasury has no token account for %s", errShort, first.Asset)
	}
	d.slot, d.station = slot, accounts[1].Coins
	d.request = intent.Request{
		Kind: intent.Sweep, Network: first.Network, Asset: first.Asset, To: first.Treasury,
		Solana: &intent.Solana{Station: s.cfg.Station, NonceAt: at, Nonce: nonce.String(), Mint: first.Contract},
	}
	if !first.Native() {
		network, _ := money.NetworkOf(first.Network)
		asset, _ := network.Asset(first.Asset)
		d.request.Solana.Decimals = uint8(asset.Decimals) //nolint:gosec // a token has at most 18
	}
	for i, w := range batch {
		move, err := moveOf(w, accounts[3+i])
		if err != nil {
			if err := s.postpone(ctx, w, err); err != nil {
				return d, err
			}
			continue
		}
		d.sweeps, d.request.Solana.Moves = append(d.sweeps, w), append(d.request.Solana.Moves, move)
	}
	d.sum()
	return d, nil
}

// purse is the account that holds an owner's money: its own for SOL, its token account for a token.
func (s solana) purse(owner, mint string) (string, error) {
	if mint == "" {
		return owner, nil
	}
	o, ownerErr := soltx.ParseAccount(owner)
	m, mintErr := soltx.ParseAccount(mint)
	if err := errors.Join(ownerErr, mintErr); err != nil {
		return "", err
	}
	account, err := soltx.TokenAccount(o, m)
	return account.String(), err
}

// held is the balance of such an account.
func held(a sweep.SolanaAccount, owner, mint string) (uint64, error) {
	if mint == "" {
		return a.Coins, nil
	}
	o, ownerErr := soltx.ParseAccount(owner)
	m, mintErr := soltx.ParseAccount(mint)
	if err := errors.Join(ownerErr, mintErr); err != nil {
		return 0, err
	}
	return soltx.ReadToken(a.Program, a.Data, o, m)
}

// moveOf is a sweep's share of a transaction. A token account is closed when the sweep empties it, and not by a sweep
// that has failed before: a payment that came between the trial and the block may have been the reason.
func moveOf(w sweep.Sweep, a sweep.SolanaAccount) (m intent.SolanaMove, err error) {
	has, err := held(a, w.Address, w.Contract)
	if err != nil || !w.Amount.IsUint64() {
		return m, errShort
	}
	amount := w.Amount.Uint64()
	if has < amount {
		return m, errShort
	}
	if w.Native() {
		if amount = sweep.Leave(has, amount); amount == 0 {
			return m, sweep.ErrSmall
		}
	}
	return intent.SolanaMove{
		Index: w.Index, Owner: w.Address, Amount: strconv.FormatUint(amount, 10), Close: !w.Native() && has == amount && w.Failed == 0,
	}, nil
}

// sum makes the request agree with its moves.
func (d *draft) sum() {
	total := soltx.Transaction{}
	for _, m := range d.request.Solana.Moves {
		if n, err := strconv.ParseUint(m.Amount, 10, 64); err == nil {
			total.Moves = append(total.Moves, soltx.Move{Amount: n})
		}
	}
	d.request.Amount = total.Amount().String()
	d.request.Solana.UnitLimit = sweep.Units(d.request.Solana.Mint == "", len(d.sweeps))
}

// tried runs the transaction on a node without sending it. A sweep whose call fails is blocked and leaves the batch, so
// that one frozen account does not hold the others. First it is tried without closing its token account, which cannot
// be closed when a payment came after its balance was read.
func (s solana) tried(ctx context.Context, d *draft) error {
	for len(d.sweeps) > 0 {
		tx, err := d.request.SolanaTransaction()
		if err != nil {
			return err
		}
		signatures := make([][]byte, len(tx.Signers()))
		for i := range signatures {
			signatures[i] = make([]byte, ed25519.SignatureSize)
		}
		raw, err := tx.Signed(signatures)
		if err != nil {
			return err
		}
		fault, err := s.chain.Try(ctx, raw)
		if err != nil || fault == nil {
			return err
		}
		bad := tx.MoveOf(fault.Call, fault.Account)
		if bad < 0 {
			return fmt.Errorf("%w: a node says %.200s", errBusy, fault.Text)
		}
		if m := &d.request.Solana.Moves[bad]; m.Close {
			m.Close = false
			continue
		}
		if err := s.postpone(ctx, d.sweeps[bad], fmt.Errorf("%w: %.200s", sweep.ErrReverts, fault.Text)); err != nil {
			return err
		}
		d.sweeps = slices.Delete(d.sweeps, bad, bad+1)
		d.request.Solana.Moves = slices.Delete(d.request.Solana.Moves, bad, bad+1)
		d.sum()
	}
	return nil
}

// price offers the network's present price.
func (d *draft) price(ctx context.Context, s solana) (tx soltx.Transaction, err error) {
	if tx, err = d.request.SolanaTransaction(); err != nil {
		return tx, err
	}
	market, err := s.chain.UnitPrice(ctx, []string{tx.To.String(), tx.NonceAt.String()})
	if err != nil {
		return tx, err
	}
	if tx.UnitPrice, err = s.cfg.Terms.UnitPrice(tx, market); err != nil {
		return tx, err
	}
	d.request.Solana.UnitPrice = tx.UnitPrice
	return tx, nil
}

// wait implements family. A transaction whose nonce has another value in a final block can land no more. The node that
// says so must have seen the block in which the nonce was read, and every endpoint must have seen as much, keep its
// blocks since then, and know no form.
func (s solana) wait(ctx context.Context, o sweep.Outgoing, _ int64) error {
	newest := o.Newest()
	if newest.Request.Solana == nil {
		return intent.ErrNoTerms
	}
	accounts, slot, err := s.chain.Accounts(ctx, []string{o.Sender, s.cfg.Station}, true)
	if err != nil {
		return err
	}
	station, err := soltx.ParseAccount(s.cfg.Station)
	if err != nil {
		return err
	}
	nonce, err := soltx.ReadNonce(accounts[0].Program, accounts[0].Data, station)
	if err != nil {
		return fmt.Errorf("nonce account %s %w", o.Sender, err)
	}
	if slot >= o.From && nonce.String() != newest.Request.Solana.Nonce {
		for _, hash := range o.Sent() {
			if absent, err := s.chain.Absent(ctx, hash, o.From, slot); err != nil || !absent {
				return err
			}
		}
		s.log.ErrorContext(ctx, "nonce used by foreign transaction", "id", o.ID, "sender", o.Sender, "nonce", newest.Request.Solana.Nonce)
		return s.store.Replaced(ctx, o)
	}
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

// raise plans the same transaction, with the same nonce, at a higher price.
func (s solana) raise(ctx context.Context, o sweep.Outgoing) (bool, error) {
	r := o.Newest().Request
	tx, err := r.SolanaTransaction()
	if err != nil {
		return false, err
	}
	market, err := s.chain.UnitPrice(ctx, []string{tx.To.String(), tx.NonceAt.String()})
	if err != nil {
		return false, err
	}
	price, ok := s.cfg.Terms.RaiseUnit(tx, market)
	if !ok {
		return false, nil
	}
	terms := *r.Solana
	terms.UnitPrice = price
	r.Solana = &terms
	next := sweep.Attempt{Number: o.Newest().Number + 1, Request: r}
	next.Request.ID = sweep.RequestID(o.ID, next.Number)
	s.log.WarnContext(ctx, "transaction stuck, fee raised", "id", o.ID, "attempt", next.Number, "unit_price", price)
	return true, s.store.Again(ctx, o, next)
}

// least implements family.
func (s solana) least(context.Context) (Least, error) { return Least{Sum: s.cfg.Terms.Least}, nil }

// find implements family.
func (s solana) find(ctx context.Context, o sweep.Outgoing) (sweep.Receipt, bool, error) {
	return byHash(ctx, s.chain, o)
}
