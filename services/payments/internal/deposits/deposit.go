// Package deposits updates payments from the transfers to their addresses, and closes their windows.
package deposits

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/magic"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
)

// Store is the tables of payments and of transfers to them.
type Store interface {
	// Update changes the payment of that id.
	Update(ctx context.Context, id string, f change.Func) error
	// Receive stores a deposit snapshot, if it is newer and its message is new, and changes the payment that carries
	// its address; without such a payment the address leaves the stock, and stray decides the journals.
	Receive(ctx context.Context, in change.Incoming, f change.Func, stray change.Stray) error
	// Known reports whether a snapshot of the transfer is stored.
	Known(ctx context.Context, mode tenant.Mode, key string) (bool, error)
	// Due lists payments whose timer is due by the database's clock. A payment with an address is due once its network
	// is scanned past the end of its window by the margin.
	Due(ctx context.Context, margin time.Duration, most int) ([]string, error)
	// Unscreened lists transfers whose screening failed.
	Unscreened(ctx context.Context, most int) ([]Unscreened, error)
}

// Deposits updates payments from the transfers to their addresses, and closes their windows.
type Deposits struct {
	Store     Store
	Providers map[tenant.Mode]provider.Set
	Policy    payment.Policy
	Capacity  *admission.Capacity
	Screening admission.Screening
	Outages   *admission.Outages
}

// DepositChanged takes a snapshot of a transfer and computes the payment of its address again from all transfers. A
// snapshot older than the stored one, or a repeated message, changes nothing.
func (a *Deposits) DepositChanged(ctx context.Context, messageID string, m wire.DepositChanged) error {
	in, err := a.incoming(messageID, m)
	if err != nil {
		return fault.Permanent(err)
	}
	if !in.Deposit.Reverted {
		in.Verdict, in.Deposit.Screening = a.Screening.Ask(ctx, in.Mode, in.Deposit.Network, in.Deposit.Senders)
	} else if err := a.sighted(ctx, in); err != nil {
		return err
	}
	return a.Store.Receive(ctx, in, a.deposits, a.stray)
}

// overtakes is how long after its first sighting a transfer's end may overtake the message of the sighting, because
// messages are handled side by side.
const overtakes = 10 * time.Second

// sighted returns an error, after which the bus hands the message over again, while the sighting of a transfer that is
// gone may still be on its way. Without this a payment whose transfer came and went within moments would show nothing
// of it or show that it was reorged, depending on which of two messages came first. A time far in the future, which
// wallets' clock or a forger may give, is not awaited, because the message keeps others from being handled.
func (a *Deposits) sighted(ctx context.Context, in change.Incoming) error {
	if in.Deposit.Version == 1 || time.Since(in.Deposit.FirstSeenAt).Abs() > overtakes {
		return nil
	}
	known, err := a.Store.Known(ctx, in.Mode, in.Deposit.Key)
	if err != nil || known {
		return err
	}
	return fmt.Errorf("deposit %s is gone, and the message of its sighting has not come yet", in.Deposit.Key)
}

// incoming reads the message. Its errors are permanent: a retry reads the same message.
func (a *Deposits) incoming(messageID string, m wire.DepositChanged) (change.Incoming, error) {
	mode := m.Mode
	if mode != tenant.Live && mode != tenant.Test {
		return change.Incoming{}, fmt.Errorf("deposit %s: unknown mode %q", m.Key, m.Mode)
	}
	n, ok := money.NetworkOf(m.Network)
	if !ok || n.Family != m.Family {
		return change.Incoming{}, fmt.Errorf("deposit %s: unknown network %q of family %q", m.Key, m.Network, m.Family)
	}
	asset, ok := n.Asset(m.Asset)
	if !ok {
		return change.Incoming{}, fmt.Errorf("deposit %s: %q is not listed on %s", m.Key, m.Asset, n.Name)
	}
	amount, err := change.BaseUnits(asset, m.Amount)
	if err != nil {
		return change.Incoming{}, fmt.Errorf("deposit %s: %w", m.Key, err)
	}
	if m.Key == "" || m.Address == "" || m.FirstSeenAt.IsZero() || m.Number < 0 {
		return change.Incoming{}, fmt.Errorf("deposit %q: key, address or time missing, or number negative", m.Key)
	}
	d := payment.Deposit{
		Key: m.Key, Version: m.Version, Network: n.Name, Asset: asset.Symbol, Contract: m.Contract, TxHash: m.TxHash,
		Amount: amount, Reverted: m.State == wire.Reverted || m.Witness == wire.WitnessContradicted, BlockHeight: m.BlockHeight,
		BlockHash: m.BlockHash, BlockTime: m.BlockTime,
		FirstSeenAt: m.FirstSeenAt, Depth: m.Depth, Finalized: m.Finalized, Senders: m.Senders, Witness: payment.Witness(m.Witness),
	}
	if d.Senders == nil {
		d.Senders = []string{}
	}
	d.USD = a.worth(mode, d)
	return change.Incoming{MessageID: messageID, Mode: mode, Family: n.Family, Address: m.Address, Number: m.Number, Deposit: d}, nil
}

// worth is the value of a transfer in dollars now, rounded down to two digits; zero while there is no price.
func (a *Deposits) worth(mode tenant.Mode, d payment.Deposit) decimal.Decimal {
	w, ok := a.Providers[mode]
	if !ok {
		return decimal.Zero
	}
	r, err := w.Rates.Quote(money.NGN, d.Asset)
	if err != nil {
		return decimal.Zero
	}
	return money.Down(d.Amount.Mul(r.UnitUSD()), money.FiatDigits)
}

// rateNow is the current rate of a payment's pair, zero when there is none.
func (a *Deposits) rateNow(p payment.Payment) decimal.Decimal {
	w, ok := a.Providers[p.Mode]
	if !ok || !p.Quote.Priced() || a.Outages.Rates(p.Mode, p.MerchantID) {
		return decimal.Zero
	}
	r, err := w.Rates.Quote(p.Currency, p.Quote.Crypto)
	if err != nil {
		return decimal.Zero
	}
	return r.Value
}

// fund applies a trigger that may convert the money. An amount beyond the quote waits for a person where a limit or a
// capacity has no room for it.
func (a *Deposits) fund(v change.View, t payment.Trigger, now time.Time) (change.Result, error) {
	policy := a.Policy
	policy.NoRoom = v.OverLimit || slices.ContainsFunc(v.Rows, func(d payment.Deposit) bool {
		return !d.Reverted && magic.Above.Sent(v.Payment.Mode, d.Senders)
	})
	next, facts, err := policy.Apply(v.Payment, t, now)
	if err == nil && !policy.NoRoom && !a.Capacity.More(v.Payment, next) {
		policy.NoRoom = true
		next, facts, err = policy.Apply(v.Payment, t, now)
	}
	return change.Result{Payment: next, Facts: facts}, err
}

func (a *Deposits) deposits(v change.View, now time.Time) (change.Result, error) {
	r, err := a.fund(v, payment.Deposits{Rows: v.Rows, Rate: a.rateNow(v.Payment)}, now)
	if err != nil {
		return change.Result{}, err
	}
	return a.judged(v, r, now)
}

const (
	unbooked = ""
	suspense = "suspense"
)

// stray books money that belongs to no payment once it has its confirmations. It reverses the booking when the transfer
// is reorganised away, is mined again in a block that is not deep yet, or is mined again with another amount, which it
// books instead.
func (a *Deposits) stray(d payment.Deposit) (journals []ledger.Journal, mark payment.Mark) {
	mark = payment.Mark{
		Key: d.Key, Booked: d.Booked, BookedAmount: d.BookedAmount, BookedBlock: d.BookedBlock, Bookings: d.Bookings,
		Counted: d.Counted, Refunded: d.Refunded,
	}
	booking := ledger.Deposit{Key: d.Key, N: d.Bookings, Network: d.Network, Asset: d.Asset, Amount: d.Amount, To: ledger.Suspense(d.Asset)}
	deep := a.Policy.Depths.Required(d.Network, d.Asset, d.USD).Met(d)
	moved := d.BookedBlock != "" && d.BookedBlock != d.BlockHash
	if d.Booked != unbooked && (d.Reverted || !d.Amount.Equal(d.BookedAmount) || moved && !deep) {
		old := booking
		old.Amount = d.BookedAmount
		journals = append(journals, old.Reverted())
		mark.Booked, mark.BookedAmount, mark.BookedBlock = unbooked, decimal.Zero, ""
	} else if moved {
		mark.BookedBlock = d.BlockHash
	}
	if mark.Booked == unbooked && d.Amount.IsPositive() && deep {
		booking.N++
		mark.Booked, mark.BookedAmount, mark.Bookings, mark.BookedBlock = suspense, d.Amount, booking.N, d.BlockHash
		journals = append(journals, booking.Confirmed())
	}
	return journals, mark
}
