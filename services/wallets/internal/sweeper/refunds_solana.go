package sweeper

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math/big"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
	"causeway.internal/services/wallets/internal/sweep"
)

// solanaRefunds pays refunds on solana, from the refund station. An order has one form for ever, because the signer
// signs no other: it names a durable nonce, so it never expires and lands at most once.
type solanaRefunds struct{ solana }

// least implements family.
func (s solanaRefunds) least(context.Context) (Least, error) { return Least{}, nil }

// plan implements family. Each free nonce account takes one refund.
func (s solanaRefunds) plan(ctx context.Context, idle []sweep.Sweep, note func(what string, err error)) {
	if len(idle) == 0 {
		return
	}
	free, busy, err := s.station(ctx, idle)
	if err != nil {
		note("the refund station", err)
		return
	}
	nonces := s.nonces(ctx, busy, note)
	s.planEach(ctx, idle, func(w sweep.Sweep) error {
		if len(nonces) == 0 {
			return errBusy
		}
		err := s.planRefund(ctx, w, nonces[0], free)
		if err == nil {
			nonces = nonces[1:]
		}
		return err
	}, note)
}

// freeNonce is a nonce account with its value in a final block.
type freeNonce struct {
	at     string
	number uint64
	value  soltx.Account
	slot   int64
}

// nonces are the nonce accounts without a transaction that is not final.
func (s solanaRefunds) nonces(ctx context.Context, busy map[string]bool, note func(what string, err error)) (list []freeNonce) {
	for _, at := range s.cfg.Nonces {
		if busy[at] {
			continue
		}
		n := freeNonce{at: at}
		queue, err := s.store.Queue(ctx, s.cfg.Network, at)
		if n.number, busy[at] = queue.Next, !queue.Open(nonceMost); err == nil && !busy[at] {
			n.value, n.slot, err = s.finalNonce(ctx, at)
		}
		switch {
		case err != nil && !errors.Is(err, errBusy):
			note("nonce account "+at, err)
		case err == nil && !busy[at]:
			list = append(list, n)
		}
	}
	return list
}

// station reads the balances of the station by mint, "" for SOL, without what transactions under way may take, and the
// nonce accounts of transactions that are not final: a rollback would give such an account another value.
func (s solanaRefunds) station(ctx context.Context, idle []sweep.Sweep) (free map[string]*big.Int, busy map[string]bool, err error) {
	assets, mints, names := []string{s.cfg.Coin}, []string{""}, []string{s.cfg.Station}
	free = map[string]*big.Int{"": nil}
	for _, w := range idle {
		if _, known := free[w.Contract]; known {
			continue
		}
		free[w.Contract] = nil
		purse, err := s.purse(s.cfg.Station, w.Contract)
		if err != nil {
			return nil, nil, err
		}
		assets, mints, names = append(assets, w.Asset), append(mints, w.Contract), append(names, purse)
	}
	accounts, _, err := s.chain.Accounts(ctx, names, false)
	if err != nil {
		return nil, nil, err
	}
	for i, mint := range mints {
		has, err := held(accounts[i], s.cfg.Station, mint)
		if err != nil { // the station has no account of this token yet
			has = 0
		}
		free[mint] = new(big.Int).SetUint64(has)
		s.report(assets[i], free[mint])
	}
	underway, err := s.store.Underway(ctx, s.cfg.Network, roundMost)
	if err != nil {
		return nil, nil, err
	}
	busy = map[string]bool{}
	for _, o := range underway {
		busy[o.Sender] = true
		if o.State == sweep.Mined {
			continue
		}
		tx, err := o.Newest().Request.SolanaRefund()
		if err != nil {
			return nil, nil, err
		}
		takeCost(free, o.Sweep, tx.Cost())
	}
	return free, busy, nil
}

// takeCost lowers balances by a refund and its cost.
func takeCost(free map[string]*big.Int, w sweep.Sweep, cost *big.Int) {
	if has := free[w.Contract]; has != nil {
		has.Sub(has, w.Amount)
	}
	free[""].Sub(free[""], cost)
}

// planRefund fixes the one form of a refund, if the station can pay it and a node would execute it.
func (s solanaRefunds) planRefund(ctx context.Context, w sweep.Sweep, n freeNonce, free map[string]*big.Int) error {
	if err := s.payee(ctx, w); err != nil {
		return err
	}
	r := intent.Request{
		Kind: intent.Refund, Network: w.Network, Asset: w.Asset, Amount: w.Amount.String(), To: w.Treasury, Order: w.Order,
		Solana: &intent.Solana{Station: s.cfg.Station, NonceAt: n.at, Nonce: n.value.String(), Mint: w.Contract, UnitLimit: sweep.RefundUnits(w.Native())},
	}
	if !w.Native() {
		network, _ := money.NetworkOf(w.Network)
		asset, _ := network.Asset(w.Asset)
		r.Solana.Decimals = uint8(asset.Decimals) //nolint:gosec // a token has at most 18
	}
	tx, err := r.SolanaRefund()
	if err != nil {
		return fmt.Errorf("%w: %w", sweep.ErrReverts, err)
	}
	market, err := s.chain.UnitPrice(ctx, []string{n.at, s.cfg.Station})
	if err != nil {
		return err
	}
	if tx.UnitPrice, err = s.cfg.Terms.RefundPrice(tx, market); err != nil {
		return err
	}
	r.Solana.UnitPrice = tx.UnitPrice
	need := new(big.Int).Add(tx.Cost(), big.NewInt(soltx.Bare))
	if w.Native() {
		need.Add(need, w.Amount)
	}
	if free[w.Contract].Cmp(w.Amount) < 0 || free[""].Cmp(need) < 0 {
		return ErrStation
	}
	if err := s.executes(ctx, tx); err != nil {
		return err
	}
	o := sweep.Outgoing{ID: s.newID(), Kind: intent.Refund, Sweep: w, Sender: n.at, Nonce: n.number, From: n.slot, State: sweep.Planned, Version: 1}
	r.ID = sweep.RequestID(o.ID, 1)
	o.Attempts = []sweep.Attempt{{Number: 1, Request: r}}
	if err := s.store.Plan(ctx, o); err != nil {
		return err
	}
	takeCost(free, w, tx.Cost())
	return nil
}

// finalNonce is the value of a nonce account in a final block, no older than the scan's, that the newest block has too.
// An order that was signed with a used value could never be paid.
func (s solanaRefunds) finalNonce(ctx context.Context, at string) (soltx.Account, int64, error) {
	final, err := s.store.Final(ctx, s.cfg.Network)
	if err != nil {
		return soltx.Account{}, 0, err
	}
	nonce, slot, err := s.nonce(ctx, at, true)
	if err != nil {
		return nonce, 0, err
	}
	newest, _, err := s.nonce(ctx, at, false)
	if err == nil && (slot < final || newest != nonce) {
		err = errBusy
	}
	return nonce, slot, err
}

func (s solanaRefunds) nonce(ctx context.Context, at string, final bool) (value soltx.Account, slot int64, err error) {
	accounts, slot, err := s.chain.Accounts(ctx, []string{at}, final)
	if err != nil {
		return value, 0, err
	}
	station, err := soltx.ParseAccount(s.cfg.Station)
	if err != nil {
		return value, 0, err
	}
	if value, err = soltx.ReadNonce(accounts[0].Program, accounts[0].Data, station); err != nil {
		return value, 0, fmt.Errorf("%w: %s %w", errShort, at, err)
	}
	return value, slot, nil
}

// payee refuses a destination whose owner could not use the money, and SOL that the network would not let a new account
// keep.
func (s solanaRefunds) payee(ctx context.Context, w sweep.Sweep) error {
	purse, err := s.purse(w.Treasury, w.Contract)
	if err != nil {
		return err
	}
	accounts, _, err := s.chain.Accounts(ctx, []string{w.Treasury, purse}, false)
	if err != nil {
		return err
	}
	system := soltx.Account{}.String()
	owner, holder := accounts[0], accounts[1]
	switch {
	case owner.Coins > 0 && (owner.Program != system || len(owner.Data) > 0):
		return fmt.Errorf("%w: the destination is an account of the program %s, and no wallet", sweep.ErrReverts, owner.Program)
	case w.Native() && new(big.Int).Add(w.Amount, new(big.Int).SetUint64(owner.Coins)).Cmp(big.NewInt(soltx.Bare)) < 0:
		return fmt.Errorf("%w: the destination would have less than the %d lamports that a new account must keep", sweep.ErrReverts, soltx.Bare)
	case w.Native() || holder.Coins == 0 || holder.Program == system: // the transaction opens it
		return nil
	}
	if _, err := held(holder, w.Treasury, w.Contract); err != nil {
		return fmt.Errorf("%w: the token account of the destination belongs to somebody else", sweep.ErrReverts)
	}
	return nil
}

var errUntried = errors.New("the refund cannot be tried at present")

// executes tries a refund on a node without sending it.
func (s solanaRefunds) executes(ctx context.Context, tx soltx.Refund) error {
	raw, err := tx.Signed(make([]byte, ed25519.SignatureSize))
	if err != nil {
		return err
	}
	fault, err := s.chain.Try(ctx, raw)
	if err != nil || fault == nil {
		return err
	}
	if tx.Moves(fault.Call) || fault.Account >= 0 {
		return fmt.Errorf("%w: %.200s", sweep.ErrReverts, fault.Text)
	}
	return fmt.Errorf("%w: a node says %.200s", errUntried, fault.Text)
}

// find implements family. The station pays the fee, the rent of a token account that was opened, and SOL.
func (s solanaRefunds) find(ctx context.Context, o sweep.Outgoing) (sweep.Receipt, bool, error) {
	r, found, err := s.solana.find(ctx, o)
	if err != nil || !found {
		return r, found, err
	}
	if r, found, err = settled(ctx, s.chain, o, r); err != nil || !found {
		return r, found, err
	}
	tx, err := o.Newest().Request.SolanaRefund()
	if err != nil {
		return r, false, err
	}
	r.Fee, r.Returned = new(big.Int).Set(r.Fee), nil
	if r.OK && tx.Native() {
		r.Fee.Sub(r.Fee, o.Sweep.Amount)
	}
	if opened := new(big.Int).Sub(r.Fee, tx.Fee()); r.OK && opened.Sign() > 0 {
		r.Rent = opened
	}
	return r, true, nil
}

// wait implements family. A form whose nonce has another value in a final block can land no more. Nothing else is
// signed for its order, so it is blocked until an operator looks, and not given up: nodes that have lost a receipt
// show the same, and the payer would be paid twice.
func (s solanaRefunds) wait(ctx context.Context, o sweep.Outgoing, _ int64) error {
	newest := o.Newest()
	if newest.Request.Solana == nil {
		return intent.ErrNoTerms
	}
	nonce, slot, err := s.nonce(ctx, o.Sender, true)
	if err != nil {
		return err
	}
	if slot >= o.From && nonce.String() != newest.Request.Solana.Nonce {
		if absent, err := s.chain.Absent(ctx, newest.TxHash, o.From, slot); err != nil || !absent {
			return err
		}
		if s.said.first(o.ID) {
			s.log.ErrorContext(ctx, "nonce of refund used by foreign transaction", "refund", o.Sweep.ID, "sender", o.Sender, "nonce", newest.Request.Solana.Nonce)
		}
		return s.store.Block(ctx, o.Sweep, "the chain has used the nonce of the refund at "+o.Sender+", and no node shows the refund")
	}
	s.said.forget(o.ID)
	if err := s.cfg.Refunds.Unblock(ctx, o.Sweep); err != nil {
		return err
	}
	if newest.SentAgo >= s.cfg.Resend {
		return s.send(ctx, o)
	}
	return nil
}
