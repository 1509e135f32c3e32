package operators

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
)

// actionUnclaimed is a booking of unclaimed money, as approvals name it.
const actionUnclaimed = "book_unclaimed"

// The refusals of unclaimed money.
var (
	errNothingRests = fault.New(fault.Conflict, "nothing_owed",
		"Nothing of this asset is owed there that could be booked as unclaimed: the payment runs, its money is moving, or there is none.")
	errReturned       = fault.New(fault.Conflict, "unclaimed_returned", "This money was returned already.")
	ErrNoUnclaimed    = fault.New(fault.NotFound, "unclaimed_not_found", "No unclaimed money has this id")
	ErrNoSuchDeposit  = fault.New(fault.NotFound, "deposit_not_found", "No deposit without a payment has this key")
	errOwedTooShortly = func(from time.Time) error {
		return fault.New(fault.Conflict, "owed_too_shortly", "This money can be booked as unclaimed from %s on, if nothing moves on its accounts until then.", timestamp.Text(from))
	}
)

// Debtor names money that may be booked as unclaimed: all of one asset that a payment owes, or a stray deposit.
type Debtor struct {
	Mode      tenant.Mode // of a stray deposit
	PaymentID string
	Deposit   string // key of a stray deposit
	Asset     string // of a payment
}

// Object is the name under which the approval of a booking is kept.
func (d Debtor) Object() string {
	if d.Deposit != "" {
		d.Asset = "" // the deposit has one
	}
	return strings.Join([]string{"unclaimed", string(d.Mode), d.PaymentID, d.Deposit, d.Asset}, " ")
}

// UnclaimedOrder is the decoded body of POST /v1/admin/unclaimed.
type UnclaimedOrder struct {
	Debtor
	Operator, Reason string
}

// Debt is money that is owed, as the rule of a booking sees it under the lock of its payment or deposit.
type Debt struct {
	Now        time.Time
	Mode       tenant.Mode
	MerchantID string
	Asset      string
	Parts      []DebtPart // by account, in the order of their names
	Since      time.Time  // when the first of the money was booked
	Moved      time.Time  // when an account last changed
	Open       *approval.Request
}

// DebtPart is the balance of one account. Its code has no prefix of the mode.
type DebtPart struct {
	Account string          `json:"account"`
	Amount  decimal.Decimal `json:"amount"`
}

// sum is the whole debt; ok is false where an account has less than nothing, which only a person can explain.
func (d Debt) sum() (total decimal.Decimal, ok bool) {
	for _, part := range d.Parts {
		if part.Amount.IsNegative() {
			return decimal.Zero, false
		}
		total = total.Add(part.Amount)
	}
	return total, total.IsPositive()
}

// Unclaimed is money that was booked as unclaimed.
type Unclaimed struct {
	ID           string
	Mode         tenant.Mode
	PaymentID    string
	MerchantID   string
	Deposit      string
	Asset        string
	Amount       decimal.Decimal
	Parts        []DebtPart
	OwedSince    time.Time
	BookedAt     time.Time
	BookedBy     string
	Reason       string
	ReturnedAt   time.Time // zero while it is unclaimed
	ReturnedBy   string
	ReturnReason string
	Witness      payment.Witness // of its deposits, as a list reads them: no second host has confirmed some of the money
}

// UnclaimedRuling is the result of a rule: a booking, or a request that waits.
type UnclaimedRuling struct {
	Book   *Unclaimed
	Waits  *approval.Request
	Answer idempotency.Answer
}

// UnclaimedRule decides on a booking.
type UnclaimedRule func(Debt) (UnclaimedRuling, error)

// ReturnRule decides on the return of unclaimed money.
type ReturnRule func(u Unclaimed, now time.Time) (Unclaimed, idempotency.Answer, error)

type unclaimedView struct {
	ID           string       `json:"id"`
	Mode         tenant.Mode  `json:"mode"`
	PaymentID    *string      `json:"paymentId"`
	MerchantID   *string      `json:"merchantId"`
	Deposit      *string      `json:"deposit"`
	Asset        string       `json:"asset"`
	Amount       money.Number `json:"amount"`
	OwedSince    string       `json:"owedSince"`
	BookedAt     string       `json:"bookedAt"`
	BookedBy     string       `json:"bookedBy"`
	Reason       string       `json:"reason"`
	ReturnedAt   *string      `json:"returnedAt"`
	ReturnedBy   *string      `json:"returnedBy"`
	ReturnReason *string      `json:"returnReason"`
	// Witness says that no second host has confirmed some of the money.
	Witness payment.Witness `json:"witness,omitempty"`
}

func unclaimedOf(u Unclaimed) unclaimedView {
	return unclaimedView{
		u.ID, u.Mode, orNull(u.PaymentID), orNull(u.MerchantID), orNull(u.Deposit), u.Asset, money.N(u.Amount), timestamp.Text(u.OwedSince),
		timestamp.Text(u.BookedAt), u.BookedBy, u.Reason, timestamp.OrNull(u.ReturnedAt), orNull(u.ReturnedBy), orNull(u.ReturnReason),
		u.Witness,
	}
}

type unclaimedAnswer struct {
	Success   bool          `json:"success"`
	Unclaimed unclaimedView `json:"unclaimed"`
}

func (d UnclaimedOrder) check(problems *fault.Problems) {
	switch {
	case (d.PaymentID == "") == (d.Deposit == ""):
		problems.Add("paymentId", "or deposit is required, and not both")
	case d.PaymentID != "" && !id.IsPayment(d.PaymentID):
		problems.Add("paymentId", "must be the id of a payment")
	case d.PaymentID != "" && d.Asset == "":
		problems.Add("asset", "is required with paymentId")
	case d.Deposit != "" && !d.Mode.Valid():
		problems.Add("mode", "must be one of live, test")
	}
	if d.Reason == "" {
		problems.Add("reason", "is required")
	}
}

// BookUnclaimed books money as unclaimed that is owed and that nobody has asked for in a long time. In live mode it
// takes two operators.
func (a *Operators) BookUnclaimed(ctx context.Context, d UnclaimedOrder, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	d.check(problems)
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	answer, err := a.Store.BookUnclaimed(ctx, d.Debtor, k, func(debt Debt) (UnclaimedRuling, error) { return a.ruleUnclaimed(d, debt) })
	return a.onceMore(ctx, k, answer, err)
}

// onceMore is the stored answer where another request has taken the key meanwhile.
func (a *Operators) onceMore(ctx context.Context, k idempotency.Key, answer idempotency.Answer, err error) (idempotency.Answer, error) {
	if errors.Is(err, idempotency.ErrTaken) {
		return a.Access.Store.Settled(ctx, k)
	}
	return answer, err
}

// waitsFor is the answer to a request that waits for another operator and concerns no payment that could be shown.
func waitsFor(by approval.Request, now time.Time) (idempotency.Answer, error) {
	body, err := views.Encode(struct {
		Success  bool          `json:"success"`
		Approval approval.View `json:"approval"`
	}{true, by.Waiting(now)})
	return idempotency.Answer{Status: change.StatusAccepted, Body: body}, err
}

func (a *Operators) ruleUnclaimed(d UnclaimedOrder, debt Debt) (UnclaimedRuling, error) {
	total, owed := debt.sum()
	if !owed {
		return UnclaimedRuling{}, errNothingRests
	}
	if from := debt.Moved.Add(a.UnclaimedAfter); debt.Now.Before(from) {
		return UnclaimedRuling{}, errOwedTooShortly(from)
	}
	if debt.Mode == tenant.Live && a.SecondAbove != nil {
		object := d.Object()
		digest := []string{}
		for _, part := range debt.Parts {
			digest = append(digest, part.Account, money.Canonical(part.Amount))
		}
		by := approval.Request{Object: object, Action: actionUnclaimed, Digest: a.digest(object, digest...), Operator: d.Operator, Reason: d.Reason}
		confirmed, err := by.Confirms(debt.Open)
		switch {
		case err != nil:
			return UnclaimedRuling{}, err
		case !confirmed:
			answer, err := waitsFor(by, debt.Now)
			return UnclaimedRuling{Waits: &by, Answer: answer}, err
		}
		d.Reason = debt.Open.Joined(d.Reason)
	}
	u := Unclaimed{
		ID: id.Placed(id.Lapse, a.Shard, debt.Now), Mode: debt.Mode, PaymentID: d.PaymentID, MerchantID: debt.MerchantID, Deposit: d.Deposit,
		Asset: debt.Asset, Amount: total, Parts: debt.Parts, OwedSince: debt.Since, BookedAt: debt.Now, BookedBy: d.Operator, Reason: d.Reason,
	}
	body, err := views.Encode(unclaimedAnswer{true, unclaimedOf(u)})
	return UnclaimedRuling{Book: &u, Answer: idempotency.Answer{Status: change.StatusCreated, Body: body}}, err
}

// ReturnUnclaimed takes money out of the unclaimed money again, so that it is owed as before. It takes one operator:
// the money stays.
func (a *Operators) ReturnUnclaimed(ctx context.Context, unclaimedID string, d UnclaimedOrder, k idempotency.Key) (idempotency.Answer, error) {
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	if d.Reason == "" {
		var problems fault.Problems
		problems.Add("reason", "is required")
		return idempotency.Answer{}, problems.Err()
	}
	answer, err := a.Store.ReturnUnclaimed(ctx, unclaimedID, k, func(u Unclaimed, now time.Time) (Unclaimed, idempotency.Answer, error) {
		if !u.ReturnedAt.IsZero() {
			return u, idempotency.Answer{}, errReturned
		}
		u.ReturnedAt, u.ReturnedBy, u.ReturnReason = now, d.Operator, d.Reason
		body, err := views.Encode(unclaimedAnswer{true, unclaimedOf(u)})
		return u, idempotency.Answer{Status: change.StatusOK, Body: body}, err
	})
	return a.onceMore(ctx, k, answer, err)
}

// UnclaimedList is the body of GET /v1/admin/unclaimed, the newest first.
func (a *Operators) UnclaimedList(ctx context.Context, all bool, before string, limit int) ([]byte, error) {
	rows, err := a.Store.Unclaimed(ctx, all, before, limit+1)
	if err != nil {
		return nil, err
	}
	rows, p := page(rows, limit, func(u Unclaimed) string { return u.ID })
	out := make([]unclaimedView, 0, len(rows))
	for _, u := range rows {
		out = append(out, unclaimedOf(u))
	}
	return views.Encode(struct {
		Success    bool             `json:"success"`
		Unclaimed  []unclaimedView  `json:"unclaimed"`
		Pagination views.Pagination `json:"pagination"`
	}{true, out, p})
}

// UnclaimedLine is unclaimed money as one line for a terminal.
func UnclaimedLine(u Unclaimed) string {
	of := u.PaymentID + u.Deposit
	line := fmt.Sprintf("%s %s %s: %s %s, owed since %s, booked %s by %s: %s", u.ID, u.Mode, of, u.Amount, u.Asset,
		timestamp.Text(u.OwedSince), timestamp.Text(u.BookedAt), u.BookedBy, u.Reason)
	switch u.Witness {
	case payment.WitnessAlone:
		line += " (one host alone has shown the deposit)"
	case payment.WitnessPending:
		line += " (no second host has confirmed the deposit yet)"
	}
	if !u.ReturnedAt.IsZero() {
		line += fmt.Sprintf("; returned %s by %s: %s", timestamp.Text(u.ReturnedAt), u.ReturnedBy, u.ReturnReason)
	}
	return line
}
