package bitcoin

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
)

var _ chain.Mempool = (*Driver)(nil)

// Waiting implements chain.Mempool.
func (d *Driver) Waiting(ctx context.Context) (ids []chain.TxID, err error) {
	err = d.ask(ctx, func(e *rpc.Endpoint) error {
		result, err := e.Call(ctx, "getrawmempool")
		if err != nil {
			return err
		}
		ids = nil
		r := rpc.NewReader(result)
		if err = r.Array(func() error {
			text, err := r.Text()
			var id chain.TxID
			if err == nil && len(text) != 2*len(id) {
				err = errors.New("an id of another length")
			}
			if err == nil {
				_, err = hex.Decode(id[:], text)
			}
			ids = append(ids, id)
			return err
		}); err == nil {
			err = r.End()
		}
		if err != nil {
			return fmt.Errorf("the mempool of endpoint %s: %w", e.Name, err)
		}
		return nil
	})
	return ids, err
}

// Unmined implements chain.Mempool.
func (d *Driver) Unmined(ctx context.Context, id chain.TxID) (chain.Unmined, error) {
	wanted := digest(id)
	slices.Reverse(wanted[:])
	tx, err := d.tx(ctx, wanted)
	if errors.Is(err, errRefused) {
		return nil, chain.ErrNoTx
	}
	if err != nil {
		return nil, err
	}
	return unmined{d, tx}, nil
}

// unmined is a transaction that waits.
type unmined struct {
	driver *Driver
	tx     transaction
}

// Inputs implements chain.Unmined.
func (u unmined) Inputs() []string {
	out := make([]string, len(u.tx.inputs))
	for i, from := range u.tx.inputs {
		out[i] = from.String()
	}
	return out
}

// Match implements chain.Unmined.
func (u unmined) Match(ctx context.Context, watched chain.Watched) ([]chain.Transfer, error) {
	found := u.driver.transfers(u.tx, watched)
	if len(found) == 0 {
		return nil, nil
	}
	senders, err := u.driver.senders(ctx, u.tx, "")
	for i := range found {
		found[i].Senders = senders
	}
	return found, err
}

// spentMost bounds the outputs of one request.
const spentMost = 50

// Spent implements chain.Mempool. Bitcoin Core counts its mempool's spends, btcd only its chain's. Where no endpoint
// serves the call, nothing counts as spent: the grace alone decides about missing transactions.
func (d *Driver) Spent(ctx context.Context, outputs []string) (spent bool, err error) {
	for _, text := range outputs[:min(len(outputs), spentMost)] {
		id, number, _ := strings.Cut(text, ":")
		vout, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return false, fmt.Errorf("%q is not an output: %w", text, err)
		}
		err = d.ask(ctx, func(e *rpc.Endpoint) error {
			result, err := e.Call(ctx, "gettxout", id, vout, true)
			spent = err == nil && string(result) == "null"
			return err
		})
		if errors.Is(err, errRefused) {
			return false, nil
		}
		if err != nil || spent {
			return spent, err
		}
	}
	return false, nil
}
