package solana

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"

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

// rivalAt asks one endpoint about a rival.
func (d *Driver) rivalAt(ctx context.Context, e *rpc.Endpoint, o sweep.Outgoing, hash string, final chain.Header) (r sweep.Rival, err error) {
	tx, err := askOne[*called](ctx, e, "getTransaction", hash, map[string]any{
		"commitment": confirmed, "encoding": "json", "maxSupportedTransactionVersion": 0,
	})
	if err != nil {
		return r, err
	}
	switch {
	case tx == nil || tx.Meta == nil:
		return r, sweep.ErrUnmined
	case tx.Slot > final.Height:
		return r, fmt.Errorf("%w: it is in slot %d, and the newest final one is %d", sweep.ErrNotFinal, tx.Slot, final.Height)
	case tx.Slot <= o.From || !tx.advanced(o.Sender):
		return r, fmt.Errorf("%w: it does not advance the nonce account %s after slot %d", sweep.ErrBeside, o.Sender, o.From)
	}
	b, err := d.slotBlock(ctx, e, final.Height, false)
	if err != nil {
		return r, err
	}
	if b.hash != final.Hash {
		return r, fmt.Errorf("%w: slot %d is %s, and not %s", sweep.ErrDiffer, final.Height, b.hash, final.Hash)
	}
	if b, err = d.slotBlock(ctx, e, tx.Slot, false); err != nil {
		return r, err
	}
	r.Receipt = sweep.Receipt{TxHash: hash, Height: tx.Slot, Block: b.hash, OK: tx.Meta.Err.text == nil, Fee: new(big.Int)}
	return r, d.used(ctx, e, o, final.Height)
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
	got, err := askOne[at[[]*answered]](ctx, e, "getMultipleAccounts", []string{o.Sender}, map[string]any{"encoding": base64Encoded, "commitment": finalized})
	if err != nil {
		return err
	}
	if len(got.Value) != 1 || got.Value[0] == nil || got.Context.Slot < height {
		return fmt.Errorf("%w: the nonce account %s has no value that is as new as slot %d", sweep.ErrNotFinal, o.Sender, height)
	}
	data, err := base64.StdEncoding.DecodeString(got.Value[0].Data[0])
	if err != nil {
		return fmt.Errorf("the data of %s: %w", o.Sender, err)
	}
	value, err := soltx.ReadNonce(got.Value[0].Owner, data, station)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Sender, err)
	}
	if value.String() == terms.Nonce {
		return fmt.Errorf("%w: the nonce account %s has its value", sweep.ErrAlive, o.Sender)
	}
	return nil
}
