package solana

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/soltx"
	"causeway.internal/services/wallets/internal/sweep"
)

// advances is the call of the system program that gives a nonce account its next value, in base58.
const advances = "6vx8P"

// Rival shows at every endpoint that another transaction, in a block up to a final one, has advanced the nonce of an
// own one, that the nonce has another value in a final block, and that no block has the own one.
func (d *Driver) Rival(ctx context.Context, o sweep.Outgoing, hash string, final chain.Header) (r sweep.Rival, err error) {
	r, err = rpc.Unanimous(ctx, d.pool, hash, func(e *rpc.Endpoint) (sweep.Rival, error) { return d.rivalAt(ctx, e, o, hash, final) })
	if err != nil {
		return r, err
	}
	for _, own := range o.Signed() {
		absent, err := d.Absent(ctx, own, o.From, r.Height)
		if err == nil && !absent {
			err = fmt.Errorf("%w: an endpoint has a record of %s, or trails", sweep.ErrOwn, own)
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// called is a transaction with its calls.
type called struct {
	Slot        int64
	Meta        *struct{ Err failure }
	Transaction struct {
		Message struct {
			Header       struct{ NumRequiredSignatures int }
			AccountKeys  []string
			Instructions []struct {
				ProgramIDIndex int `json:"programIdIndex"`
				Accounts       []int
				Data           string
			}
		}
	}
}

// advanced reports whether the transaction gives a nonce account its next value.
func (c called) advanced(nonce string) bool {
	keys := c.Transaction.Message.AccountKeys
	named := func(i int, want string) bool { return i >= 0 && i < len(keys) && keys[i] == want }
	for _, call := range c.Transaction.Message.Instructions {
		if call.Data == advances && len(call.Accounts) > 0 && named(call.ProgramIDIndex, soltx.Account{}.String()) && named(call.Accounts[0], nonce) {
			return true
		}
	}
	return false
}

// signedBy reports whether an account has signed the transaction.
func (c called) signedBy(account string) bool {
	m := c.Transaction.Message
	return slices.Contains(m.AccountKeys[:min(len(m.AccountKeys), max(0, m.Header.NumRequiredSignatures))], account)
}

// rivalAt asks one endpoint about a rival.
func (d *Driver) rivalAt(ctx context.Context, e *rpc.Endpoint, o sweep.Outgoing, hash string, final chain.Header) (r sweep.Rival, err error) {
	tx, r, err := d.finalAt(ctx, e, hash, final)
	if err != nil {
		return r, err
	}
	if tx.Slot <= o.From || !tx.advanced(o.Sender) {
		return r, fmt.Errorf("%w: it does not advance the nonce account %s after slot %d", sweep.ErrBeside, o.Sender, o.From)
	}
	return r, d.used(ctx, e, o, final.Height)
}

// finalAt reads a transaction from one endpoint, which must have it in a block up to a final one.
func (d *Driver) finalAt(ctx context.Context, e *rpc.Endpoint, hash string, final chain.Header) (tx *called, r sweep.Rival, err error) {
	tx, err = askOne[*called](ctx, e, "getTransaction", hash, map[string]any{
		"commitment": confirmed, "encoding": "json", "maxSupportedTransactionVersion": 0,
	})
	if err != nil {
		return nil, r, err
	}
	if tx == nil || tx.Meta == nil {
		return nil, r, sweep.ErrUnmined
	}
	if tx.Slot > final.Height {
		return nil, r, fmt.Errorf("%w: it is in slot %d, and the newest final one is %d", sweep.ErrNotFinal, tx.Slot, final.Height)
	}
	b, err := d.slotBlock(ctx, e, final.Height, false)
	if err != nil {
		return nil, r, err
	}
	if b.hash != final.Hash {
		return nil, r, fmt.Errorf("%w: slot %d is %s, and not %s", sweep.ErrDiffer, final.Height, b.hash, final.Hash)
	}
	if b, err = d.slotBlock(ctx, e, tx.Slot, false); err != nil {
		return nil, r, err
	}
	r.Receipt = sweep.Receipt{TxHash: hash, Height: tx.Slot, Block: b.hash, OK: tx.Meta.Err.text == nil, Fee: new(big.Int)}
	return tx, r, nil
}

// Lost shows at every endpoint that another transaction, which the address of a sweep has signed, is in a block up to a
// final one, and that the address has less than the sweep after a final block.
func (d *Driver) Lost(ctx context.Context, o sweep.Outgoing, hash string, final chain.Header) (sweep.Rival, error) {
	w := o.Sweep
	purse, err := purseOf(w)
	if err != nil {
		return sweep.Rival{}, err
	}
	return rpc.Unanimous(ctx, d.pool, hash, func(e *rpc.Endpoint) (sweep.Rival, error) {
		tx, r, err := d.finalAt(ctx, e, hash, final)
		if err != nil {
			return r, err
		}
		if !tx.signedBy(w.Address) {
			return r, fmt.Errorf("%w: %s has not signed it", sweep.ErrBeside, w.Address)
		}
		a, err := d.finalAccount(ctx, e, purse, final.Height)
		if err != nil {
			return r, err
		}
		has, err := heldOn(a, w)
		if err != nil {
			return r, err
		}
		return r, w.Short(new(big.Int).SetUint64(has))
	})
}

// purseOf is the account that holds the money of a sweep: the address itself for SOL, its token account for a token.
func purseOf(w sweep.Sweep) (string, error) {
	if w.Native() {
		return w.Address, nil
	}
	owner, ownerErr := soltx.ParseAccount(w.Address)
	mint, mintErr := soltx.ParseAccount(w.Contract)
	if err := errors.Join(ownerErr, mintErr); err != nil {
		return "", err
	}
	account, err := soltx.TokenAccount(owner, mint)
	return account.String(), err
}

// heldOn is what such an account has of the asset of a sweep; one that does not exist has nothing.
func heldOn(a sweep.SolanaAccount, w sweep.Sweep) (uint64, error) {
	switch {
	case w.Native():
		return a.Coins, nil
	case a.Program == "" || soltx.Plain(a.Program, a.Data):
		return 0, nil
	}
	owner, ownerErr := soltx.ParseAccount(w.Address)
	mint, mintErr := soltx.ParseAccount(w.Contract)
	if err := errors.Join(ownerErr, mintErr); err != nil {
		return 0, err
	}
	return soltx.ReadToken(a.Program, a.Data, owner, mint)
}

// finalAccount reads an account from one endpoint after a final block, no older than a height.
func (d *Driver) finalAccount(ctx context.Context, e *rpc.Endpoint, name string, height int64) (a sweep.SolanaAccount, err error) {
	got, err := askOne[at[[]*answered]](ctx, e, "getMultipleAccounts", []string{name}, map[string]any{"encoding": base64Encoded, "commitment": finalized})
	if err != nil {
		return a, err
	}
	if len(got.Value) != 1 || got.Context.Slot < height {
		return a, fmt.Errorf("%w: the account %s has no value that is as new as slot %d", sweep.ErrNotFinal, name, height)
	}
	if got.Value[0] == nil {
		return a, nil
	}
	a.Coins, a.Program = got.Value[0].Lamports, got.Value[0].Owner
	if a.Data, err = base64.StdEncoding.DecodeString(got.Value[0].Data[0]); err != nil {
		err = fmt.Errorf("the data of %s: %w", name, err)
	}
	return a, err
}

// used fails unless the nonce of a transaction has another value in a final block, no older than a height.
func (d *Driver) used(ctx context.Context, e *rpc.Endpoint, o sweep.Outgoing, height int64) error {
	terms := o.Newest().Request.Solana
	if terms == nil {
		return errors.New("the refund has no form of solana")
	}
	station, err := soltx.ParseAccount(terms.Station)
	if err != nil {
		return err
	}
	a, err := d.finalAccount(ctx, e, o.Sender, height)
	if err != nil {
		return err
	}
	value, err := soltx.ReadNonce(a.Program, a.Data, station)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Sender, err)
	}
	if value.String() == terms.Nonce {
		return fmt.Errorf("%w: the nonce account %s has its value", sweep.ErrAlive, o.Sender)
	}
	return nil
}
