package operators

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/address"
	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/merchants"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
)

// The actions of an operator on a payment that waits for a decision (docs/operators.md#one-operator-or-two).
const (
	ActionAccept   = "accept"
	ActionRetry    = "retry_payout"
	ActionRefunded = "mark_refunded"
)

// Order is the decoded body of an operator's decision.
type Order struct {
	Operator string
	Action   string
	Receiver *payment.ReceiverInput // of a retry; nil keeps the receiver
	TxHash   string                 // of a refund
	TxHashes []string               // of a refund that took several transactions; TxHash is empty then
	Reason   string
	Payout   *decimal.Decimal // the exact amount of an accept; nil pays at most the quote

	rail string // of a retry to a receiver whose bank the payment's own rail does not pay
}

// Resolve carries out an operator's decision on a payment that waits for one. name is the payment's id or its
// reference.
func (a *Operators) Resolve(ctx context.Context, name string, o Order, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	o.check(problems)
	v, earlier, found, err := a.reviewing(ctx, name, k)
	if err != nil || found {
		return earlier, err
	}
	if n, ok := money.NetworkOf(v.Payment.Quote.Network); ok && o.Action == ActionRefunded {
		o.checkHashes(n.Family, problems)
	}
	d := decision{Order: o, brought: name == v.Payment.Reference}
	if o.Receiver != nil {
		d.receiver = payment.CheckReceiver(o.Receiver, v.Payment.Mode, v.Payment.Currency, problems)
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	if err := a.prepare(ctx, v, &d); err != nil {
		return idempotency.Answer{}, err
	}
	return a.once(ctx, v.Payment.ID, k, func(v change.View, now time.Time) (change.Result, error) { return a.decide(v, d, now) })
}

// check finds the broken rules of an order that need no payment.
func (d Order) check(problems *fault.Problems) {
	switch d.Action {
	case ActionAccept, ActionRetry, ActionRefunded:
	case "":
		problems.Add("action", "is required")
	default:
		problems.Add("action", "must be one of accept, retry_payout, mark_refunded")
	}
	switch {
	case d.Action != ActionRefunded:
	case len(d.hashes()) == 0:
		problems.Add("txHash", "is required")
	case d.TxHash != "" && len(d.TxHashes) > 0:
		problems.Add("txHashes", "is not allowed with txHash")
	}
	if d.Receiver != nil && d.Action != ActionRetry {
		problems.Add("receiver", "is only allowed with retry_payout")
	}
	switch amount := d.Payout; {
	case amount == nil:
	case d.Action != ActionAccept:
		problems.Add("payoutAmount", "is only allowed with accept")
	case !amount.IsPositive() || amount.GreaterThan(money.Max) || money.Digits(*amount) > money.FiatDigits:
		problems.Add("payoutAmount", "must be greater than 0 with at most %d decimal places", money.FiatDigits)
	}
}

// decision is an order with everything that needs other tables, which nobody asks under a payment's lock.
type decision struct {
	Order
	brought  bool // the request names the payment by its reference
	receiver payment.Receiver
	own      string // the payment's refund address, where it belongs to this system
	proof    proof
	open     *approval.Request // of the first of two operators
}

// prepare reads what a decision needs beside the payment.
func (a *Operators) prepare(ctx context.Context, v change.View, d *decision) (err error) {
	if d.receiver.Known() {
		if d.receiver, err = a.Receivers.Named(ctx, v.Payment, d.receiver); err != nil {
			return err
		}
		if d.rail, err = a.Providers[v.Payment.Mode].Reroute(v.Payment, d.receiver); err != nil {
			return err
		}
	}
	if d.Action == ActionRefunded {
		switch internal, err := a.Access.Ours(ctx, v.Payment.RefundAddress); {
		case err != nil:
			return err
		case internal:
			d.own = v.Payment.RefundAddress
		}
	}
	if d.proof, err = a.proofOf(ctx, v, d.Order); err != nil {
		return err
	}
	d.open, err = a.Store.Asked(ctx, v.Payment.ID)
	return err
}

// decide changes the payment by a decision, or keeps the order of the first of two operators.
func (a *Operators) decide(v change.View, d decision, now time.Time) (change.Result, error) {
	r, err := change.Applied(a.Policy.Apply(v.Payment, d.trigger(v, d.receiver), now))
	if err != nil {
		return change.Result{}, err
	}
	if d.own != "" && v.Payment.RefundAddress == d.own {
		return change.Result{}, merchants.ErrOwnRefundAddress
	}
	if d.Action == ActionRefunded {
		proven, not := d.proof.check(v, now)
		if not != nil {
			return *not, nil
		}
		t := payment.MarkRefunded{Tx: strings.Join(d.hashes(), ","), Rows: v.Rows, Later: proven.later, Refunds: v.Refunds}
		if r, err = change.Applied(a.Policy.Apply(v.Payment, t, now)); err != nil {
			return change.Result{}, err
		}
		r.Refunding = proven.refunding
	}
	if a.needsSecond(v, r.Payment, d.Action) {
		by := approval.Request{
			Object: v.Payment.ID, Version: v.Payment.Version, Action: d.Action,
			Digest: a.digest(v.Payment.ID, d.confirms(r.Payment)...), Operator: d.Operator, Reason: d.Reason,
		}
		confirmed, err := by.Confirms(d.open)
		switch {
		case errors.Is(err, approval.ErrOutdated):
			return outdated(v.Payment), nil
		case err != nil:
			return change.Result{}, err
		case !confirmed:
			return a.asked(v, d.brought, by, now)
		}
		d.Reason = d.open.Joined(d.Reason)
	}
	v.Payment = r.Payment
	body, err := views.Encode(views.PaymentAnswer{Success: true, Payment: a.reviewedOf(v, d.brought)})
	if err != nil {
		return change.Result{}, err
	}
	r.Answer = &idempotency.Answer{Status: change.StatusOK, Body: body}
	r.Decision = &change.Decision{Operator: d.Operator, Action: d.Action, Reason: d.Reason, TxHash: strings.Join(d.hashes(), ",")}
	return r, nil
}

// reviewing finds a payment by its reference or its id, because operators do not see a gift's reference.
func (a *Operators) reviewing(ctx context.Context, name string, k idempotency.Key) (v change.View, earlier idempotency.Answer, found bool, err error) {
	if !id.IsPayment(name) {
		return a.Access.Open(ctx, name, k)
	}
	return a.Access.UnlessDone(ctx, k, func() (change.View, error) { return a.Store.FindByID(ctx, name) })
}

// once changes a payment once per key. A stray payment has no reference that could name it.
func (a *Operators) once(ctx context.Context, paymentID string, k idempotency.Key, f change.Func) (idempotency.Answer, error) {
	return a.Access.Once(ctx, k, f, func(f change.Func) error { return a.Store.UpdateOnce(ctx, paymentID, k, f) })
}

// hashes are the transactions of a refund.
func (d Order) hashes() []string {
	if d.TxHash != "" {
		return []string{d.TxHash}
	}
	return d.TxHashes
}

// checkHashes refuses what is no transaction of the family, and a transaction that is named twice.
func (d Order) checkHashes(family money.Family, problems *fault.Problems) {
	field := "txHash"
	if d.TxHash == "" {
		field = "txHashes"
	}
	seen := map[string]bool{}
	for _, hash := range d.hashes() {
		switch {
		case !address.IsTransaction(family, hash):
			problems.Add(field, "is no transaction of the payment's network")
			return
		case seen[hashOf(family, hash)]:
			problems.Add(field, "names a transaction twice")
			return
		}
		seen[hashOf(family, hash)] = true
	}
}

// trigger is the trigger of the order.
func (d Order) trigger(v change.View, receiver payment.Receiver) payment.Trigger {
	switch d.Action {
	case ActionRetry:
		return payment.Retry{Receiver: receiver, Rail: d.rail, Refunds: v.Refunds}
	case ActionRefunded:
		return payment.MarkRefunded{Tx: strings.Join(d.hashes(), ","), Rows: v.Rows, Refunds: v.Refunds}
	}
	accept := payment.Accept{Rows: v.Rows, Refunds: v.Refunds}
	if d.Payout != nil {
		accept.Payout = *d.Payout
	}
	return accept
}
