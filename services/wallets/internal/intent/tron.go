package intent

import (
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"causeway.internal/services/wallets/internal/trontx"
)

// The kinds that only tron has.
const (
	// Delegate lends energy of the gas station's stake to a deposit address; the amount is the staked TRX.
	Delegate Kind = "delegate"
	// Undelegate takes it back.
	Undelegate Kind = "undelegate"
)

// Expiry is the code of a refusal: an earlier form for the same purpose may still land, or the expiration is out of
// bounds. It passes with time.
const Expiry = "expiry"

// Tron are the terms of a transaction on tron.
type Tron struct {
	Contract   string `json:"contract,omitempty"` // of the token; empty for TRX and for energy
	Number     uint64 `json:"number"`             // of the sender's transactions, counted by wallets
	Block      string `json:"block"`              // id of the final block that it builds on
	Expiration int64  `json:"expiration"`         // milliseconds since 1970
	Timestamp  int64  `json:"timestamp"`
	FeeLimit   int64  `json:"feeLimit,omitempty"` // sun, of a token's transfer
	// Follows is the hash of the expired form in whose place a refund is signed; empty for its first form. So a planner
	// that has lost its rows gets no further form.
	Follows string `json:"follows,omitempty"`
}

// Expires is the time from which no further block holds the transaction.
func (t Tron) Expires() time.Time { return time.UnixMilli(t.Expiration) }

// Height is the number of the block that the transaction builds on: no earlier block holds it.
func (t Tron) Height() (int64, error) {
	id, err := t.block()
	if err != nil {
		return 0, err
	}
	height := int64(0)
	for _, b := range id[:8] {
		height = height<<8 | int64(b)
	}
	if height < 0 {
		return 0, fmt.Errorf("%.80q is no block id", t.Block)
	}
	return height, nil
}

func (t Tron) block() (id [32]byte, err error) {
	b, err := hex.DecodeString(t.Block)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%.80q is no block id", t.Block)
	}
	return [32]byte(b), nil
}

// ErrNoTron says that a request has no terms of tron.
var ErrNoTron = errors.New("the request has no tron terms")

// TronTransaction is the transaction that a request describes, sent by owner. It checks form only; the signer's policy
// decides whether it may be signed.
func (r Request) TronTransaction(owner trontx.Account) (tx trontx.Transaction, err error) {
	if r.Tron == nil {
		return tx, ErrNoTron
	}
	amount, err := Units(r.Amount)
	if err != nil || amount.Sign() == 0 {
		return tx, errors.New("the amount must be a positive whole number")
	}
	to, toErr := trontx.ParseAccount(r.To)
	block, blockErr := r.Tron.block()
	if err := errors.Join(toErr, blockErr); err != nil {
		return tx, err
	}
	tx = trontx.Transaction{
		Ref: trontx.RefOf(block), Expiration: r.Tron.Expiration, Timestamp: r.Tron.Timestamp, FeeLimit: r.Tron.FeeLimit, Owner: owner, To: to,
	}
	if r.Tron.Contract == "" {
		if !amount.IsInt64() {
			return tx, errors.New("the amount has more than 63 bits")
		}
		tx.Type, tx.Amount = tronTypes[r.Kind], amount.Int64()
		return tx, nil
	}
	contract, err := trontx.ParseAccount(r.Tron.Contract)
	if err != nil {
		return tx, fmt.Errorf("contract: %w", err)
	}
	tx.Type, tx.To, tx.Data = trontx.Trigger, contract, trontx.TokenTransfer(to, amount)
	return tx, nil
}

// tronTypes are the contract types of the kinds that move TRX or energy.
var tronTypes = map[Kind]trontx.Type{
	Sweep: trontx.Transfer, Fund: trontx.Transfer, Refund: trontx.Transfer, Delegate: trontx.Delegate, Undelegate: trontx.Undelegate,
}

// checkTron is Check for tron.
func (s Signed) checkTron(r Request, from string, raw []byte) error {
	owner, err := trontx.ParseAccount(from)
	if err != nil {
		return err
	}
	want, err := r.TronTransaction(owner)
	if err != nil {
		return err
	}
	got, err := trontx.Parse(raw)
	switch id := got.ID(); {
	case err != nil:
		return err
	case s.ID != r.ID || s.From != from || !got.Equal(want):
		return errors.New("the signer signed another transaction than the requested one")
	case s.TxHash != hex.EncodeToString(id[:]):
		return errors.New("the signer's hash differs from the hash of its bytes")
	}
	return nil
}
