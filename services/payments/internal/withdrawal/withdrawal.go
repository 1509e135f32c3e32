package withdrawal

import (
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
)

// State is the state of a withdrawal.
type State string

// The states. Paid may still become returned, and failed paid where a rail contradicts itself; both are incidents.
const (
	Requested State = "requested" // waits for operators
	Approved  State = "approved"  // its payout leaves soon
	Sending   State = "sending"   // its payout may have left
	Paid      State = "paid"
	Failed    State = "failed"   // its money is in the balance again
	Returned  State = "returned" // it was paid and came back into the balance
)

// States lists every state.
func States() []State { return []State{Requested, Approved, Sending, Paid, Failed, Returned} }

// The codes of a failure.
const (
	FailureRefused = "refused" // by an operator, before it left
	FailurePayout  = "payout_failed"
)

// Event is what the type of each event of a withdrawal begins with; the state follows.
const Event = "withdrawal."

// Withdrawal is money of a merchant's balance on its way to one of its accounts. Version counts the writes of its row.
type Withdrawal struct {
	ID        string
	Owner     tenant.Owner // KeyID is the key that asked for it
	Currency  money.Currency
	Amount    decimal.Decimal
	AccountID string
	Receiver  payment.Receiver // of the account
	Rail      string           // of the current attempt
	State     State
	Failure   string
	Attempt   int // number of the current payout, 0 before the first
	Holds     int // reservations of the current attempt
	Takes     int // times that the money was taken out of the balance
	Version   int64
	Sequence  int64 // events so far
	Gone      bool  // the account was deleted

	CreatedAt, ApprovedAt, EndedAt time.Time
}

// Change is a withdrawal after a step, with what the store writes in the same transaction.
type Change struct {
	Withdrawal
	Journals []ledger.Journal
	Hold     *payment.HoldPayout
	Events   []Withdrawal // one for each state that was entered, as it was then
	Alerts   []payment.Alert
}

// The refusals of withdrawals.
var (
	ErrNone         = fault.New(fault.NotFound, "withdrawal_not_found", "Withdrawal not found")
	ErrInsufficient = fault.New(fault.Conflict, "insufficient_balance", "The available balance is less than the amount.")
	errTooMany      = fault.New(fault.Conflict, "too_many_withdrawals", "Too many withdrawals have not ended. Wait for one.")
	ErrDecided      = fault.New(fault.Conflict, "withdrawal_decided", "The withdrawal is decided already, or has left.")
	errGone         = fault.New(fault.Conflict, "settlement_account_removed", "The merchant has deleted the settlement account, so no money leaves to it. Refuse the withdrawal.")
	ErrNotDue       = fault.New(fault.Conflict, payment.CodePayoutNotDue, "The withdrawal must not be sent now")
)

// reference is that of the current attempt at the rail (R2).
func (w Withdrawal) reference() string {
	return payout.Reference(strings.ReplaceAll(w.ID, "_", "-"), w.Attempt)
}

// entry is the current attempt for the ledger.
func (w Withdrawal) entry() ledger.Payout {
	return ledger.Payout{Payment: w.ID, Reference: w.reference(), N: w.Holds, Rail: w.Rail, Currency: w.Currency, Amount: w.Amount}
}

func (w Withdrawal) taken() ledger.Taking {
	return ledger.Taking{Withdrawal: w.ID, N: w.Takes, Merchant: w.Owner.MerchantID, Currency: w.Currency, Amount: w.Amount}
}

func (c *Change) enter(s State) {
	c.State = s
	c.Sequence++
	c.Events = append(c.Events, c.Withdrawal)
}

// take takes the money out of the balance.
func (c *Change) take() {
	c.Takes++
	c.Journals = append(c.Journals, c.taken().Taken())
}

// giveBack puts the money into the balance again.
func (c *Change) giveBack(s State, failure string, now time.Time) {
	c.Journals = append(c.Journals, c.taken().GivenBack())
	c.Failure, c.EndedAt = failure, now
	c.enter(s)
}

// hold reserves the current attempt and makes its payout.
func (c *Change) hold() {
	c.Holds++
	e := c.entry()
	c.Journals = append(c.Journals, e.Held())
	c.Hold = &payment.HoldPayout{
		Reference: e.Reference, Attempt: c.Attempt, Rail: c.Rail, Amount: c.Amount, Currency: c.Currency, Receiver: c.Receiver,
	}
}

func (c *Change) approve(now time.Time) {
	c.ApprovedAt, c.Attempt = now, 1
	c.enter(Approved)
	c.hold()
}

// OpenMost bounds the withdrawals of a merchant in a mode that have not ended.
const OpenMost = 100

// MayAsk refuses one withdrawal too many.
func MayAsk(open int) error {
	if open >= OpenMost {
		return errTooMany
	}
	return nil
}

// Request makes a withdrawal, whose money leaves the balance at once. One that waits is approved by operators.
func Request(w Withdrawal, available decimal.Decimal, waits bool, now time.Time) (Change, error) {
	c := Change{Withdrawal: w}
	if w.Amount.GreaterThan(available) {
		return c, ErrInsufficient
	}
	c.CreatedAt, c.Version = now, 1
	c.take()
	c.enter(Requested)
	if !waits {
		c.approve(now)
	}
	return c, nil
}

// Approve lets a withdrawal leave that waits for operators, while its account is there.
func (w Withdrawal) Approve(now time.Time) (Change, error) {
	c := Change{Withdrawal: w}
	switch {
	case w.State != Requested:
		return c, ErrDecided
	case w.Gone:
		return c, errGone
	}
	c.approve(now)
	return c, nil
}

// Refuse fails a withdrawal that waits for operators, or one whose payout is unsent. The caller withdraws that payout.
func (w Withdrawal) Refuse(unsent bool, now time.Time) (Change, error) {
	c := Change{Withdrawal: w}
	switch {
	case w.State == Requested:
	case (w.State == Approved || w.State == Sending) && unsent: // it is sending where the first rail has failed
		c.Journals = append(c.Journals, c.entry().Voided())
	default:
		return c, ErrDecided
	}
	c.giveBack(Failed, FailureRefused, now)
	return c, nil
}

// MaySend refuses a send that is not that of the current attempt of a withdrawal under way.
func (w Withdrawal) MaySend(attempt int) error {
	if attempt != w.Attempt || w.State != Approved && w.State != Sending {
		return ErrNotDue
	}
	return nil
}

// After is the withdrawal after an outcome of a payout. over is the rail that takes over after a failure that the first
// one confirms (R9).
func (w Withdrawal) After(outcome payout.Outcome, o payout.Payout, over string, now time.Time) Change {
	c := Change{Withdrawal: w}
	if o.Attempt != w.Attempt {
		if outcome == payout.IsPaid { // an attempt that had failed, and whose money went over another rail
			c.alert(alert.PaidAfterDecision, "success of a payout attempt that had failed and was then paid again")
		}
		return c
	}
	open := w.State == Approved || w.State == Sending
	switch outcome {
	case payout.IsSending, payout.IsUnknown:
		if w.State == Approved {
			c.enter(Sending)
		}
	case payout.IsPaid:
		c.paid(open, o, now)
	case payout.IsFailed:
		c.failed(open, over, now)
	case payout.IsReturned:
		c.returned(open, now)
	case payout.None:
	}
	return c
}

// paid accepts a conclusive success. One after a failure takes the money out of the balance again, even where the
// balance has less: the rail has paid it.
func (c *Change) paid(open bool, o payout.Payout, now time.Time) {
	switch {
	case open:
	case c.State == Failed:
		c.alert(alert.PaidAfterFailure, "success of a payout attempt that had failed; its money was given back to the merchant")
		c.take()
		c.Holds++
		c.Journals = append(c.Journals, c.entry().Held())
	default:
		return
	}
	if c.State == Approved { // found at the rail after a restore
		c.enter(Sending)
	}
	c.Journals = append(c.Journals, c.entry().Succeeded(o.Fee))
	c.Failure, c.EndedAt = "", now
	c.enter(Paid)
}

func (c *Change) failed(open bool, over string, now time.Time) {
	if !open {
		return
	}
	c.Journals = append(c.Journals, c.entry().Voided())
	if over != "" {
		c.alert(alert.PayoutFailedOver, "payout failed at "+c.Rail+" and goes over "+over)
		c.Rail, c.Attempt, c.Holds = over, c.Attempt+1, 0
		c.hold()
		return
	}
	c.giveBack(Failed, FailurePayout, now)
}

func (c *Change) returned(open bool, now time.Time) {
	switch {
	case open: // the rail never reported the success, so the books show the money leave and come back
		c.Journals = append(c.Journals, c.entry().Succeeded(decimal.Zero))
	case c.State == Paid:
	default:
		return
	}
	c.Journals = append(c.Journals, c.entry().Returned())
	c.giveBack(Returned, "", now)
}

func (c *Change) alert(code alert.Code, text string) {
	c.Alerts = append(c.Alerts, payment.Alert{Code: code, Text: text})
}
