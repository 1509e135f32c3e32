package app

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
)

// Approval is what one operator has asked for and a second one has to confirm.
type Approval struct {
	PaymentID string
	Version   int64  // of the payment that the first operator saw
	Action    string //
	Digest    []byte // of everything that was asked for
	Operator  string
	Reason    string
	At        time.Time
}

// Approvals reads them.
type Approvals interface {
	// Asked is the open request for a payment; ok is false without one.
	Asked(ctx context.Context, paymentID string) (asked Approval, ok bool, err error)
}

var errSecondOperator = fault.New(fault.Conflict, "second_operator_required", "You have asked for this already. Another operator has to confirm it.")

// needsSecond reports an order that moves so much money that one operator is not enough: a payout that is made again, one that
// is larger than the quote, and what a refund gives back. before and after are the payment around the order.
func (a *App) needsSecond(before View, after payment.Payment, action string) bool {
	p := before.Payment
	above, limited := a.SecondAbove[p.Currency]
	if !limited {
		return false
	}
	moved := after.PayoutAmount()
	switch action {
	case ActionAccept:
		if !moved.GreaterThan(p.Quote.PayoutAmount) {
			return false
		}
	case ActionRefunded:
		moved = decimal.Max(p.FiatAmount, p.PayoutAmount(), inFiat(before))
	}
	return moved.GreaterThan(above)
}

// inFiat is what the transfers that stand are worth at the payment's own rate.
func inFiat(v View) (sum decimal.Decimal) {
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

// digest names an order by everything that a second operator confirms. The account number is in it, so it is keyed.
func (a *App) digest(p payment.Payment, d Order, r payment.Receiver) []byte {
	parts := []string{d.Action, d.TxHash, r.BankCode, r.AccountNumber}
	if d.Payout != nil {
		parts = append(parts, money.Canonical(*d.Payout))
	}
	return a.Keys.Blind(strings.Join(parts, "\x00"), "approval/"+p.ID)
}

type approvalView struct {
	Status      string `json:"status"`
	Action      string `json:"action"`
	RequestedBy string `json:"requestedBy"`
}

type approvalAnswer struct {
	Success  bool         `json:"success"`
	Payment  any          `json:"payment"`
	Approval approvalView `json:"approval"`
}

// asked notes what the first operator wants; nothing else happens to the payment.
func (a *App) asked(v View, d Order, digest []byte) (Result, error) {
	body, err := encode(approvalAnswer{true, a.reviewedOf(v), approvalView{"waiting_for_second_operator", d.Action, d.Operator}})
	return Result{
		Payment: v.Payment, Answer: &Answer{Status: statusOK, Body: body},
		Approval: &Approval{PaymentID: v.Payment.ID, Version: v.Payment.Version, Action: d.Action, Digest: digest, Operator: d.Operator, Reason: d.Reason},
	}, err
}

// Stray is money on an address that no payment carries.
type StrayDeposit struct {
	Deposit payment.Deposit
	Mode    payment.Mode
	Address string
	Created time.Time
}

// Held is a payment that waits for a person, with what was decided about its senders.
type Held struct {
	View      View
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
	Mode        payment.Mode `json:"mode"`
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
	payoutView
	PaymentID string       `json:"paymentId"`
	Mode      payment.Mode `json:"mode"`
	Rail      string       `json:"rail"`
	Frozen    bool         `json:"frozen"`
	Sends     int          `json:"sends"`
	Misses    int          `json:"misses"`
	SentAt    *string      `json:"sentAt"`
	NextAt    *string      `json:"nextAt"`
	Reason    string       `json:"reason"`
}

// Doubts is the body of GET /v1/admin/payouts: payouts of which nobody knows whether they were made, or whose answer does
// not match what was sent.
func (a *App) Doubts(ctx context.Context, before string, limit int) ([]byte, error) {
	rows, err := a.Operators.Doubts(ctx, before, limit+1)
	if err != nil {
		return nil, err
	}
	rows, p := page(rows, limit, func(o payout.Payout) string { return o.ID })
	out := make([]doubtView, 0, len(rows))
	for _, o := range rows {
		out = append(out, doubtView{
			payoutView{o.ID, string(o.State), money.N(o.Amount), string(o.Currency), o.Reference},
			o.PaymentID, payment.Mode(o.Mode), o.Rail,
			o.Frozen, o.Sends, o.Misses, timestampOrNull(o.SentAt), timestampOrNull(o.NextAt), o.Reason,
		})
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
		out = append(out, heldView{h.View.Payment.Hold, h.Decisions, a.reviewedOf(h.View)})
	}
	return encode(struct {
		Success    bool       `json:"success"`
		Payments   []heldView `json:"payments"`
		Pagination pagination `json:"pagination"`
	}{true, out, p})
}
