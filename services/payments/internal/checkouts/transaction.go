package checkouts

import (
	"context"
	"encoding/hex"
	"strings"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
)

// namedMost bounds the transactions that payers may name for one payment, because each costs wallets a few calls.
const namedMost = 5

var (
	errNotNeeded = fault.New(fault.Invalid, "hint_not_needed", "Every transfer to this payment is found without its transaction hash.")
	errTooMany   = fault.New(fault.Conflict, "too_many_transactions", "This payment takes no further transactions.")
)

type namedAnswer struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
}

// NameTransaction takes the hash of the transaction that a payer says has paid. Wallets reads its transfers to the
// payment's address later, so the answer does not mention them.
func (a *Checkouts) NameTransaction(ctx context.Context, reference, txHash string, problems *fault.Problems) ([]byte, error) {
	v, _, _, err := a.Access.Open(ctx, reference, idempotency.Key{})
	if err != nil {
		return nil, err
	}
	hash := strings.ToLower(txHash)
	if !isTransaction(hash) {
		problems.Add("txHash", "must be 0x and 64 hexadecimal digits")
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	p := v.Payment
	if !a.unseen(p) {
		return nil, errNotNeeded
	}
	network, _ := money.NetworkOf(p.Quote.Network)
	ok, err := a.Keep(ctx, p.ID, hash, namedMost, change.Command{
		Name: wire.LookAtTransactionV1, ID: p.ID + ":" + hash, Payload: wire.LookAtTransaction{
			Mode: p.Mode, Network: network.Name, Address: p.Address, Asset: p.Quote.Crypto, TxHash: hash,
		},
	})
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, errTooMany
	}
	return views.Encode(namedAnswer{true, "The transaction will be looked at."})
}

// unseen reports whether the scan misses a contract's transfer to a payment: its crypto is the coin of an EVM network
// that is not traced.
func (a *Checkouts) unseen(p payment.Payment) bool {
	network, ok := money.NetworkOf(p.Quote.Network)
	return ok && p.Address != "" && !a.Pricing.SeesContracts(p.Mode, network, p.Quote.Crypto)
}

// takesHash reports whether a payment's page asks for a transaction hash.
func (a *Checkouts) takesHash(p payment.Payment) bool {
	switch p.Status() {
	case payment.StatusPending, payment.StatusExpired, payment.StatusCancelled, payment.StatusNeedsReview:
		return a.unseen(p)
	default:
		return false
	}
}

// isTransaction reports whether a text is the hash of an EVM transaction, in lower case.
func isTransaction(text string) bool {
	digits, ok := strings.CutPrefix(text, "0x")
	b, err := hex.DecodeString(digits)
	return ok && err == nil && len(b) == 32
}
