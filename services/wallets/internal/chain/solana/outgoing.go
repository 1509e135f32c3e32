package solana

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/sweep"
)

// The chain queries of a sweep. Their answers are small, so encoding/json reads them. The signer and the chain check
// untrusted values (balances, nonces) again.

// ask makes one call on an endpoint that works and decodes its result.
func ask[T any](ctx context.Context, d *Driver, method string, params ...any) (out T, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		out, err = askOne[T](ctx, e, method, params...)
		return err
	})
	return out, err
}

func askOne[T any](ctx context.Context, e *rpc.Endpoint, method string, params ...any) (out T, err error) {
	result, err := e.Call(ctx, method, params...)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(result, &out); err != nil {
		return out, fmt.Errorf("%s at endpoint %s: %w", method, e.Name, err)
	}
	return out, nil
}

// at is the part of an answer that says which slot it holds for.
type at[T any] struct {
	Context struct{ Slot int64 }
	Value   T
}

// answered is an account as nodes write it.
type answered struct {
	Lamports uint64
	Owner    string
	Data     [2]string
}

// Accounts reads accounts as one block left them: the newest confirmed one, or the newest final one.
func (d *Driver) Accounts(ctx context.Context, addresses []string, final bool) (out []sweep.SolanaAccount, slot int64, err error) {
	commitment := confirmed
	if final {
		commitment = finalized
	}
	got, err := ask[at[[]*answered]](ctx, d, "getMultipleAccounts", addresses, map[string]any{"encoding": base64Encoded, "commitment": commitment})
	if err != nil {
		return nil, 0, err
	}
	if len(got.Value) != len(addresses) {
		return nil, 0, fmt.Errorf("%d accounts were asked for and %d answered", len(addresses), len(got.Value))
	}
	out = make([]sweep.SolanaAccount, len(addresses))
	for i, a := range got.Value {
		if a == nil {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(a.Data[0])
		if err != nil || a.Data[1] != base64Encoded {
			return nil, 0, fmt.Errorf("the data of %s is not base64", addresses[i])
		}
		out[i] = sweep.SolanaAccount{Coins: a.Lamports, Program: a.Owner, Data: data}
	}
	return out, got.Context.Slot, nil
}

// priceShare is the share of the recent blocks whose lowest price a transaction offers: three quarters.
const priceShare, priceOf = 3, 4

// UnitPrice is what recent transactions that write to the same accounts paid per unit of compute, in millionths of a
// lamport.
func (d *Driver) UnitPrice(ctx context.Context, accounts []string) (uint64, error) {
	type fee struct {
		PrioritizationFee uint64
	}
	list, err := ask[[]fee](ctx, d, "getRecentPrioritizationFees", accounts)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	prices := make([]uint64, len(list))
	for i, f := range list {
		prices[i] = f.PrioritizationFee
	}
	slices.Sort(prices)
	return prices[(len(prices)-1)*priceShare/priceOf], nil
}

// Send gives signed bytes to a node. The node does not run them first: a transaction that waits for its turn would be
// refused, and one that fails uses up its nonce, which ends it.
func (d *Driver) Send(ctx context.Context, raw []byte) error {
	var no *rpc.NodeError
	err := d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		no = nil
		_, err := e.Call(ctx, "sendTransaction", base64.StdEncoding.EncodeToString(raw), map[string]any{"encoding": base64Encoded, "skipPreflight": true})
		if node, is := errors.AsType[*rpc.NodeError](err); is {
			no = node
			return nil
		}
		return err
	})
	if err == nil && no != nil {
		err = fmt.Errorf("%w: %w", sweep.ErrRefused, no)
	}
	return err
}

// failure is the error of a transaction as a node writes it: a name, or an object with one member.
type failure struct{ text json.RawMessage }

// UnmarshalJSON implements json.Unmarshaler.
func (f *failure) UnmarshalJSON(b []byte) error {
	if string(b) != "null" {
		f.text = slices.Clone(b)
	}
	return nil
}

// Try runs unsigned bytes on the newest block without sending them. It returns nil, or the call that fails, counted
// from 0, or the account; both are -1 where the transaction as a whole is at fault.
func (d *Driver) Try(ctx context.Context, raw []byte) (*sweep.Fault, error) {
	got, err := ask[at[struct{ Err failure }]](ctx, d, "simulateTransaction", base64.StdEncoding.EncodeToString(raw), map[string]any{
		"encoding": base64Encoded, "sigVerify": false, "commitment": confirmed,
	})
	if err != nil || got.Value.Err.text == nil {
		return nil, err
	}
	fault := &sweep.Fault{Call: -1, Account: -1, Text: string(got.Value.Err.text)}
	var named struct {
		InstructionError         []json.RawMessage
		InsufficientFundsForRent *struct {
			Account int `json:"account_index"`
		}
	}
	if json.Unmarshal(got.Value.Err.text, &named) != nil { // a name alone
		return fault, nil
	}
	if len(named.InstructionError) > 0 && json.Unmarshal(named.InstructionError[0], &fault.Call) != nil {
		fault.Call = -1
	}
	if named.InsufficientFundsForRent != nil {
		fault.Account = named.InsufficientFundsForRent.Account
	}
	return fault, nil
}

// status is a node's record of a signature.
type status struct {
	Slot               int64
	ConfirmationStatus string
}

func (d *Driver) status(ctx context.Context, e *rpc.Endpoint, hash string) (s *status, slot int64, err error) {
	got, err := askOne[at[[]*status]](ctx, e, "getSignatureStatuses", []string{hash}, map[string]any{"searchTransactionHistory": true})
	if err == nil && len(got.Value) != 1 {
		err = fmt.Errorf("endpoint %s answers %d statuses for one signature", e.Name, len(got.Value))
	}
	if err != nil {
		return nil, 0, err
	}
	s = got.Value[0]
	if s != nil && s.ConfirmationStatus != confirmed && s.ConfirmationStatus != finalized {
		s = nil
	}
	return s, got.Context.Slot, nil
}

// Absent reports whether no endpoint has a record of a signature. Each must keep the blocks from one slot on and have
// seen the other: a node that was started from a later snapshot knows nothing of earlier transactions.
func (d *Driver) Absent(ctx context.Context, hash string, since, seen int64) (absent bool, err error) {
	absent = true
	err = d.pool.All(ctx, func(e *rpc.Endpoint) error {
		first, err := askOne[int64](ctx, e, "getFirstAvailableBlock")
		if err != nil {
			return err
		}
		if first > since {
			return fmt.Errorf("endpoint %s keeps the blocks from %d on, and not from %d", e.Name, first, since)
		}
		s, now, err := d.status(ctx, e, hash)
		absent = absent && err == nil && s == nil && now >= seen
		return err
	})
	return absent && err == nil, err
}

// Receipt is the transaction's record in a confirmed block; false when no block holds it.
func (d *Driver) Receipt(ctx context.Context, hash string) (r sweep.Receipt, found bool, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) (err error) {
		r, found, err = d.receiptOf(ctx, e, hash)
		return err
	})
	return r, found, err
}

// Agreed is Receipt with a second answer: where the endpoints are on several hosts, two hosts must show the transaction
// in the same block, with the same result.
func (d *Driver) Agreed(ctx context.Context, hash string) (sweep.Receipt, bool, error) {
	r, found, err := rpc.Agreed(ctx, d.pool, func(e *rpc.Endpoint) (sweep.Receipt, bool, error) { return d.receiptOf(ctx, e, hash) })
	if err != nil {
		return r, false, fmt.Errorf("the record of %s: %w", hash, err)
	}
	return r, found, nil
}

// receiptOf asks one endpoint for the record of a transaction.
func (d *Driver) receiptOf(ctx context.Context, e *rpc.Endpoint, hash string) (r sweep.Receipt, found bool, err error) {
	s, _, err := d.status(ctx, e, hash)
	if err != nil || s == nil {
		return r, false, err
	}
	type record struct {
		Slot int64
		Meta *struct {
			Err                       failure
			Fee                       uint64
			PreBalances, PostBalances []uint64
		}
	}
	got, err := askOne[*record](ctx, e, "getTransaction", hash, map[string]any{
		"commitment": confirmed, "encoding": "json", "maxSupportedTransactionVersion": 0,
	})
	if err != nil {
		return r, false, err
	}
	if got == nil || got.Meta == nil || len(got.Meta.PreBalances) == 0 || len(got.Meta.PostBalances) == 0 {
		return r, false, rpc.ErrMoved // it has just left the chain, or the node has not written it down yet
	}
	b, err := d.getBlock(ctx, e, got.Slot, false)
	if err != nil {
		return r, false, err
	}
	if b == nil {
		return r, false, rpc.ErrMoved
	}
	r = sweep.Receipt{TxHash: hash, Height: got.Slot, Block: b.hash, OK: got.Meta.Err.text == nil, Fee: new(big.Int).SetUint64(got.Meta.Fee)}
	// The station gains the rent of closed accounts, less the fee.
	r.Returned = new(big.Int).SetUint64(got.Meta.PostBalances[0])
	r.Returned.Sub(r.Returned, new(big.Int).SetUint64(got.Meta.PreBalances[0])).Add(r.Returned, r.Fee)
	if r.Returned.Sign() < 0 { // it paid more than the fee that the node names
		r.Fee, r.Returned = r.Fee.Sub(r.Fee, r.Returned), new(big.Int)
	}
	return r, true, nil
}

// Locate is the height of the block that holds a transaction; false when no block does.
func (d *Driver) Locate(ctx context.Context, tx string) (height int64, found bool, err error) {
	r, found, err := d.Receipt(ctx, tx)
	return r.Height, found, err
}
