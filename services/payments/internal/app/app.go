package app

import (
	"context"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/change"
)

// Payments is the table of payments and everything that is written with them.
type Payments interface {
	// Insert writes a new payment with its history, event and stored answer in one round trip. ErrAddressUsed and
	// ErrReferenceUsed ask for another try with another one; ErrKeyTaken means that a request with the same key won.
	Insert(ctx context.Context, n change.Newborn) error
	// Find is the payment of an owner by its reference, without a lock and without what no answer shows of it, such as the payer.
	Find(ctx context.Context, o change.Owner, reference string) (change.View, error)
	// Update changes the payment of that id.
	Update(ctx context.Context, id string, f change.Func) error
	// UpdateOwned changes the payment of an owner by its reference and stores the answer under the key.
	UpdateOwned(ctx context.Context, o change.Owner, reference string, k change.Key, f change.Func) error
	// FindAny is the whole payment, and UpdateAny is UpdateOwned, for whoever knows the reference, which names its own mode.
	// UpdateAny gives ErrAddressUsed where Insert would.
	FindAny(ctx context.Context, reference string) (change.View, error)
	UpdateAny(ctx context.Context, reference string, k change.Key, f change.Func) error
	// FindByID is FindAny by the payment's id, for operators.
	FindByID(ctx context.Context, paymentID string) (change.View, error)
	// FindPayout is the reference of the owner's payment that a payout belongs to.
	FindPayout(ctx context.Context, o change.Owner, payoutID string) (reference string, err error)
	// PayoutPayment is the id of the payment that a payout belongs to.
	PayoutPayment(ctx context.Context, payoutID string) (paymentID string, err error)
	// Ours says whether an address in its canonical spelling is a payment's deposit address, waits in the stock for a
	// payment, has received money, or was named by wallets.
	Ours(ctx context.Context, family money.Family, address string) (bool, error)
	// UpdatePayoutOnce changes a payout together with its payment and stores the answer under the key.
	UpdatePayoutOnce(ctx context.Context, paymentID, payoutID string, k change.Key, f change.Func) error
	// Receive stores a deposit snapshot, if it is newer and its message is new, and changes the payment that carries its
	// address; without such a payment the address leaves the stock and stray decides.
	Receive(ctx context.Context, in change.Incoming, f change.Func, stray change.Stray) error
	// Replay is the stored answer of a key.
	Replay(ctx context.Context, k change.Key) (change.Answer, bool, error)
	// Settled is the stored answer of a key that another request holds; a 409 while that one is still running.
	Settled(ctx context.Context, k change.Key) (change.Answer, error)
}

// units is an amount in base units of an asset, as wire messages carry it.
func units(a money.Asset, amount decimal.Decimal) string {
	return a.ToUnits(amount).Truncate(0).String()
}
