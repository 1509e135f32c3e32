package app

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
)

// Approvals reads what one operator has asked for and a second one has to confirm.
type Approvals interface {
	// Asked is the open request about a payment, nil without one.
	Asked(ctx context.Context, paymentID string) (*approval.Request, error)
}

// needsSecond reports an order that one operator may not give alone: it moves more money than is his to move, or it pays a live
// payment to another account. before and after are the payment around the order.
func (a *App) needsSecond(before change.View, after payment.Payment, action string) bool {
	p := before.Payment
	above, watched := a.SecondAbove[p.Currency]
	if !watched {
		return false
	}
	moved := after.PayoutAmount()
	switch action {
	case ActionRefunded:
		moved = decimal.Max(p.FiatAmount, p.PayoutAmount(), inFiat(before))
	case ActionRetry:
		if p.Mode == tenant.Live && !sameAccount(p.Receiver, after.Receiver) {
			return true
		}
	}
	return moved.GreaterThan(above)
}

func sameAccount(a, b payment.Receiver) bool {
	return a.BankCode == b.BankCode && a.AccountNumber == b.AccountNumber
}

// inFiat is what the transfers that stand are worth at the payment's own rate.
func inFiat(v change.View) (sum decimal.Decimal) {
	q := v.Payment.Quote
	for _, d := range v.Rows {
		switch {
		case d.Reverted:
		case d.Asset == q.Crypto && d.Network == q.Network:
			sum = sum.Add(d.Amount.Mul(q.Rate.Value))
		default:
			sum = sum.Add(d.USD.Mul(q.Rate.USD))
		}
	}
	return sum
}

// digest names an order on a payment by everything that a second operator confirms. An account number may be in it, so it is
// keyed.
func (a *App) digest(paymentID string, order ...string) []byte {
	return a.Keys.Blind(strings.Join(order, "\x00"), "approval/"+paymentID)
}

// confirms is what a second operator confirms of a decision: the order and what it pays.
func (d Order) confirms(after payment.Payment) []string {
	return []string{d.Action, d.TxHash, after.Receiver.BankCode, after.Receiver.AccountNumber, money.Canonical(after.PayoutAmount())}
}

// outdated withdraws the open request about a payment that has changed since.
func outdated(p payment.Payment) change.Result {
	return change.Result{Payment: p, Withdrawn: true, Refused: approval.ErrOutdated}
}

type approvalAnswer struct {
	Success  bool          `json:"success"`
	Payment  any           `json:"payment"`
	Approval approval.View `json:"approval"`
}

// asked notes what the first operator wants; nothing else happens to the payment.
func (a *App) asked(v change.View, brought bool, r approval.Request, now time.Time) (change.Result, error) {
	body, err := encode(approvalAnswer{true, a.reviewedOf(v, brought), r.Waiting(now)})
	return change.Result{Payment: v.Payment, Answer: &change.Answer{Status: change.StatusOK, Body: body}, Approval: &r}, err
}

// Stray is money on an address that no payment carries.
type StrayDeposit struct {
	Deposit payment.Deposit
	Mode    tenant.Mode
	Address string
	Created time.Time
}

// Held is a payment that waits for a person, with what was decided about its senders.
type Held struct {
	View      change.View
	Decisions []HeldDecision
}

// HeldDecision is a decision about senders, as operators see it.
type HeldDecision struct {
	Stage   string `json:"stage"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
	Lists   string `json:"lists"`
	At      string `json:"at"`
}

// OperatorLists reads what waits for operators, newest first. before is the key of the last row of the page before, or
// empty; most is how many rows a page may have.
type OperatorLists interface {
	Strays(ctx context.Context, before string, most int) ([]StrayDeposit, error)
	Doubts(ctx context.Context, before string, most int) ([]payout.Payout, error)
	Holds(ctx context.Context, before string, most int) ([]Held, error)
	Differences(ctx context.Context, all bool, before string, most int) ([]Difference, error)
}

// page cuts a list that was read with one row more than a page holds, and names the row at which the next one begins.
func page[T any](rows []T, limit int, key func(T) string) ([]T, pagination) {
	p := pagination{Limit: limit}
	if len(rows) > limit {
		rows = rows[:limit]
		next := base64.RawURLEncoding.EncodeToString([]byte("o" + key(rows[limit-1])))
		p.HasMore, p.NextCursor = true, &next
	}
	return rows, p
}

// ReadOperatorCursor is the key that a cursor of an operators' list holds; ok is false for anything else.
func ReadOperatorCursor(text string) (key string, ok bool) {
	const most = 512
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < 2 || len(raw) > most || raw[0] != 'o' || strings.ContainsRune(string(raw), 0) {
		return "", false
	}
	return string(raw[1:]), true
}

type strayView struct {
	Key         string       `json:"key"`
	Mode        tenant.Mode  `json:"mode"`
	Network     string       `json:"network"`
	Crypto      string       `json:"crypto"`
	Address     string       `json:"address"`
	TxHash      string       `json:"txHash"`
	Amount      money.Number `json:"amount"`
	Booked      bool         `json:"inSuspense"`
	Reverted    bool         `json:"reverted"`
	FirstSeenAt string       `json:"firstSeenAt"`
}

// StrayKey is the place of a row in the list of strays.
func StrayKey(d StrayDeposit) string {
	return d.Created.UTC().Format(time.RFC3339Nano) + " " + d.Deposit.Key
}

// Strays is the body of GET /v1/admin/deposits/unattributed.
func (a *App) Strays(ctx context.Context, before string, limit int) ([]byte, error) {
	rows, err := a.Operators.Strays(ctx, before, limit+1)
	if err != nil {
		return nil, err
	}
	rows, p := page(rows, limit, StrayKey)
	out := make([]strayView, 0, len(rows))
	for _, s := range rows {
		d := s.Deposit
		out = append(out, strayView{d.Key, s.Mode, d.Network, d.Asset, s.Address, d.TxHash, money.N(d.Amount), d.Booked != "", d.Reverted, Timestamp(d.FirstSeenAt)})
	}
	return encode(struct {
		Success    bool        `json:"success"`
		Deposits   []strayView `json:"deposits"`
		Pagination pagination  `json:"pagination"`
	}{true, out, p})
}

type doubtView struct {
	reviewedPayout
	PaymentID    string      `json:"paymentId"`
	Mode         tenant.Mode `json:"mode"`
	Rail         string      `json:"rail"`
	Frozen       bool        `json:"frozen"`
	Stopped      bool        `json:"stopped"`
	GivenUp      bool        `json:"givenUp"`
	Sends        int         `json:"sends"`
	Misses       int         `json:"misses"`
	FirstSentAt  *string     `json:"firstSentAt"`
	SentAt       *string     `json:"sentAt"`
	NextAt       *string     `json:"nextAt"`
	Answer       string      `json:"lastAnswer"`
	AnswerAt     *string     `json:"lastAnswerAt"`
	Concluded    string      `json:"concluded"`
	ConcludedAt  *string     `json:"concludedAt"`
	Contradicted bool        `json:"contradicted"`
	Reason       string      `json:"reason"`
}

func doubtOf(o payout.Payout) doubtView {
	first := o.FirstSentAt
	if first.IsZero() {
		first = o.SentAt
	}
	paid := reviewedPayoutOf(o)
	if id.HideGifts(o.Reference) != o.Reference {
		paid.Reference = nil
	}
	return doubtView{
		paid,
		o.PaymentID, tenant.Mode(o.Mode), o.Rail, o.Frozen, o.Stopped, o.Paged, o.Sends, o.Misses,
		timestampOrNull(first), timestampOrNull(o.SentAt), timestampOrNull(o.NextAt), id.HideGifts(o.Answer), timestampOrNull(o.AnswerAt),
		concludedAs(o.Concluded), timestampOrNull(o.ConcludedAt), o.Contradicted, id.HideGifts(o.Reason),
	}
}

// Doubts is the body of GET /v1/admin/payouts: payouts of which nobody knows whether they were made, whose answer does not
// match what was sent, or whose rail contradicts the operator who concluded them.
func (a *App) Doubts(ctx context.Context, before string, limit int) ([]byte, error) {
	rows, err := a.Operators.Doubts(ctx, before, limit+1)
	if err != nil {
		return nil, err
	}
	rows, p := page(rows, limit, func(o payout.Payout) string { return o.ID })
	out := make([]doubtView, 0, len(rows))
	for _, o := range rows {
		out = append(out, doubtOf(o))
	}
	return encode(struct {
		Success    bool        `json:"success"`
		Payouts    []doubtView `json:"payouts"`
		Pagination pagination  `json:"pagination"`
	}{true, out, p})
}

type heldView struct {
	Hold       payment.Hold   `json:"hold"`
	Screenings []HeldDecision `json:"screenings"`
	reviewed
}

// Holds is the body of GET /v1/admin/holds: payments that a person has to decide on before their money moves.
func (a *App) Holds(ctx context.Context, before string, limit int) ([]byte, error) {
	rows, err := a.Operators.Holds(ctx, before, limit+1)
	if err != nil {
		return nil, err
	}
	rows, p := page(rows, limit, func(h Held) string { return h.View.Payment.ID })
	out := make([]heldView, 0, len(rows))
	for _, h := range rows {
		listed, err := a.listedOf(ctx, h.View)
		if err != nil {
			return nil, err
		}
		out = append(out, heldView{h.View.Payment.Hold, h.Decisions, listed})
	}
	return encode(struct {
		Success    bool       `json:"success"`
		Payments   []heldView `json:"payments"`
		Pagination pagination `json:"pagination"`
	}{true, out, p})
}
