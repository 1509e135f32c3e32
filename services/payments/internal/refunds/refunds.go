// Package refunds holds the use cases of refunds on a chain (docs/architecture.md#refunds): requests of merchants and
// operators, decisions of operators, and the reports of wallets.
package refunds

import (
	"context"
	"crypto/ed25519"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/address"
	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/refund"
	"causeway.internal/services/payments/internal/views"
)

// Store is the tables that refunds read and change.
type Store interface {
	// Find is the payment of an owner.
	Find(ctx context.Context, o tenant.Owner, reference string) (change.View, error)
	// FindAny is the payment of a reference, for operators.
	FindAny(ctx context.Context, reference string) (change.View, error)
	// FindByID is the payment of that id.
	FindByID(ctx context.Context, paymentID string) (change.View, error)
	// UpdateOnce changes a payment by its id and stores the answer under the key.
	UpdateOnce(ctx context.Context, paymentID string, k idempotency.Key, f change.Func) error
	// Asked is the open request about a payment, nil without one.
	Asked(ctx context.Context, paymentID string) (*approval.Request, error)
	// RefundPayment is the id of the payment that a refund belongs to.
	RefundPayment(ctx context.Context, refundID string) (paymentID string, err error)
	// WaitingRefunds lists refunds that wait for operators or for the end of a cancellation, newest first.
	WaitingRefunds(ctx context.Context, before string, most int) ([]refund.Refund, error)
}

// Keys are the keys that sign orders, by their approval.
type Keys map[refund.Approval]ed25519.PrivateKey

// Refunds holds the use cases.
type Refunds struct {
	Store     Store
	Access    *access.Payments
	Policy    payment.Policy
	Screening admission.Screening
	Pauses    *admission.Pauses
	Scans     *admission.Scans
	Signing   Keys
	Blind     *keyring.Ring                      // hashes requests of operators
	Automatic map[money.Currency]decimal.Decimal // up to this worth a request approves itself
	Networks  []string                           // on which refunds of live mode leave
	One       bool                               // one operator suffices
	// Recovery stops refunds of live mode: the restored database lacks those of the lost time.
	Recovery bool
}

// Order is the decoded body of a request for a refund.
type Order struct {
	Amount  *decimal.Decimal // nil is everything that is owed
	Reason  string
	Crypto  string // with Network: needed only where several assets are owed
	Network string
	Sender  string // "key 7", or the operator's name
}

var (
	errClosed   = fault.New(fault.Conflict, "refunds_closed", "Refunds on this network are not open. Refund the payer yourself, and tell support.").Closed()
	errRecovery = fault.New(fault.Unavailable, "refunds_paused", "Refunds are paused until lost data is restored. Try again later.").After(time.Minute).Closed()
	errInternal = fault.New(fault.Conflict, "refund_address_internal",
		"The refund address belongs to this service, so a refund to it would not reach the payer. Set the payer's own address first.")
	errListed = fault.New(fault.Conflict, "refund_address_refused", "Nothing may be sent to the refund address. Set another address first.")
	errFamily = fault.New(fault.Conflict, "refund_address_unfit", "The refund address is none of the network of the refund. Set another address first.")
)

// check finds the broken rules of a request that need no payment.
func (o Order) check(problems *fault.Problems) error {
	if o.Reason == "" {
		problems.Add("reason", "is required")
	}
	if o.Amount != nil && (!o.Amount.IsPositive() || o.Amount.GreaterThan(money.Max)) {
		problems.Add("amount", "must be greater than 0")
	}
	return problems.Err()
}

// destination is a refund address with the answers that need other tables, which nobody asks under a payment's lock.
type destination struct {
	address  string
	ours     bool
	screened []change.Screened
}

// judge looks a refund address up. A screener that fails stops every refund.
func (a *Refunds) judge(ctx context.Context, mode tenant.Mode, to string) (d destination, err error) {
	d.address = to
	if to == "" {
		return d, nil
	}
	if d.ours, err = a.Access.Ours(ctx, to); err != nil || !a.Policy.Screen {
		return d, err
	}
	verdict, err := a.Screening.Destination(ctx, mode, "", to)
	if err != nil {
		return d, err
	}
	d.screened = []change.Screened{{Stage: change.AtRefund, Verdict: verdict, Addresses: []string{to}}}
	return d, nil
}

func (d destination) listed() bool { return len(d.screened) > 0 && d.screened[0].Verdict.Hit }

// heldUntil is the end of the hold after a change of the refund address, zero without one.
func heldUntil(p payment.Payment) time.Time { return p.RefundAddressFrom }

// opens reports whether refunds of live mode leave on a network. Elsewhere nothing would carry an approved refund out.
func (a *Refunds) opens(network string) bool {
	return a.Signing[refund.Automatic] != nil && a.Signing[refund.ByOperator] != nil && slices.Contains(a.Networks, network)
}

// may refuses a refund that must not leave now: the address, its hold, the network, a pause.
func (a *Refunds) may(p payment.Payment, network string, to destination, now time.Time) error {
	n, _ := money.NetworkOf(network)
	switch until := heldUntil(p); {
	case p.Mode == tenant.Live && !a.opens(n.Name):
		return errClosed
	case p.Mode == tenant.Live && a.Recovery:
		return errRecovery
	case to.ours:
		return errInternal
	case to.address != "" && address.CheckOwner(n.Family, a.Policy.Net(p), to.address) != nil:
		return errFamily
	case to.listed():
		return errListed
	case p.Mode == tenant.Live && now.Before(until):
		return fault.New(fault.Conflict, "refund_address_held", "The refund address has changed, so no refund leaves before %s", timestamp.Text(until)).
			After(until.Sub(now))
	}
	if err := a.Pauses.Refunds(p.Currency, n.Name); err != nil {
		return err
	}
	return a.Scans.Quotes(p.Owner(), n.Name)
}

// Request makes a refund for the merchant that owns the payment.
func (a *Refunds) Request(ctx context.Context, owner tenant.Owner, reference string, o Order, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if !id.IsPaymentReference(reference) {
		return idempotency.Answer{}, change.ErrNotFound
	}
	if err := o.check(problems); err != nil {
		return idempotency.Answer{}, err
	}
	v, earlier, found, err := a.Access.UnlessDone(ctx, k, func() (change.View, error) { return a.Store.Find(ctx, owner, reference) })
	if err != nil || found {
		return earlier, err
	}
	to, err := a.judge(ctx, v.Payment.Mode, v.Payment.RefundAddress)
	if err != nil {
		return idempotency.Answer{}, err
	}
	return a.Access.Owned(ctx, owner, reference, k, func(v change.View, now time.Time) (change.Result, error) {
		r, made, err := a.request(v, o, to, now)
		if err != nil || r.Refused != nil {
			return r, err
		}
		if a.automatic(v, made) {
			if r, made, err = a.approve(v, r, made, refund.Automatic, now); err != nil {
				return change.Result{}, err
			}
		}
		return answered(r, views.RefundAnswer{Success: true, Refund: views.RefundOf(made)})
	})
}

// answered adds the answer to the result of a request.
func answered(r change.Result, body any) (change.Result, error) {
	text, err := views.Encode(body)
	r.Answer = &idempotency.Answer{Status: change.StatusCreated, Body: text}
	return r, err
}

// request holds the money of a refund.
func (a *Refunds) request(v change.View, o Order, to destination, now time.Time) (change.Result, refund.Refund, error) {
	refused := func(err error) (change.Result, refund.Refund, error) { return change.Result{}, refund.Refund{}, err }
	p := v.Payment
	if p.RefundAddress != to.address { // it has changed since it was judged
		return refused(change.ErrBusy)
	}
	owed, err := payment.ChooseOwed(a.Policy.Owed(p, v.Rows, v.Refunds), o.Crypto, o.Network)
	if err != nil {
		return refused(err)
	}
	switch err := a.may(p, owed.Network, to, now); {
	case err == errListed: //nolint:errorlint // the value that may returns
		return change.Result{Payment: p, Screened: to.screened, Refused: err}, refund.Refund{}, nil
	case err != nil:
		return refused(err)
	}
	wanted := refund.Refund{ID: id.Beside(id.Refund, p.ID, now), Network: owed.Network, Asset: owed.Asset, Reason: o.Reason, RequestedBy: o.Sender}
	if o.Amount != nil {
		n, _ := money.NetworkOf(owed.Network)
		asset, _ := n.Asset(owed.Asset)
		if money.Digits(*o.Amount) > asset.Decimals {
			var long fault.Problems
			long.Add("amount", "must have at most %d decimal places for %s on %s", asset.Decimals, asset.Symbol, n.Name)
			return refused(long.Err())
		}
		wanted.Amount = *o.Amount
	}
	r, err := change.Applied(a.Policy.Apply(p, payment.RequestRefund{Refund: wanted, Rows: v.Rows, Refunds: v.Refunds}, now))
	if err != nil {
		return refused(err)
	}
	r.Screened = to.screened
	return r, kept(r), nil
}

// kept is the refund that a change wrote last.
func kept(r change.Result) (last refund.Refund) {
	for _, f := range r.Facts {
		if k, ok := f.(payment.KeepRefund); ok {
			last = k.Refund
		}
	}
	return last
}

// automatic reports whether a new refund approves itself: its worth, with the other refunds of the payment, is within
// the bound, none of them has failed after its approval, and nothing about the money needs a person. Test mode has no
// bound.
func (a *Refunds) automatic(v change.View, made refund.Refund) bool {
	p := v.Payment
	if p.Mode != tenant.Live {
		return true
	}
	sum, known := p.WorthInFiat(made, v.Rows)
	for _, r := range v.Refunds {
		if r.State == refund.Failed && r.Approval == "" { // nobody has approved it, so no order of it ever left
			continue
		}
		if r.State == refund.Failed { // the sum without it relies on the report that it can never land
			return false
		}
		worth, ok := p.WorthInFiat(r, v.Rows)
		sum, known = sum.Add(worth), known && ok
	}
	bound, bounded := a.Automatic[p.Currency]
	return known && bounded && sum.LessThanOrEqual(bound) && !a.Policy.NeedsPerson(p, made, v.Rows)
}

// approve approves a refund on top of what r changes already, and sends its signed order in the same transaction.
func (a *Refunds) approve(v change.View, r change.Result, of refund.Refund, by refund.Approval, now time.Time) (change.Result, refund.Refund, error) {
	next, facts, err := a.Policy.Apply(r.Payment, payment.ChangeRefund{
		Refund: of, Trigger: refund.Trigger{Name: refund.OnApprove, Approval: by}, Rows: payment.Marked(v.Rows, r.Facts), Refunds: v.Refunds,
	}, now)
	if err != nil {
		return change.Result{}, of, err
	}
	r.Payment, r.Facts = next, append(r.Facts, facts...)
	approved := kept(r)
	ordered, err := a.Signing.Command(approved, r.Payment.Currency, now)
	if err != nil {
		return change.Result{}, of, err
	}
	r.Commands = append(r.Commands, ordered)
	return r, approved, nil
}

// Command is the message with the signed order of an approved refund of a payment in a currency.
func (k Keys) Command(r refund.Refund, currency money.Currency, now time.Time) (change.Command, error) {
	ordered, err := k.order(r)
	ordered.Currency = currency
	return change.Command{Name: wire.RefundApprovedV1, ID: id.New(id.Message, now), Payload: ordered}, err
}

// order is the signed order of an approved refund. Test mode may have no keys; its simulated chain has no signer.
func (k Keys) order(r refund.Refund) (wire.RefundApproved, error) {
	key := k[r.Approval]
	if key == nil && r.Mode == tenant.Live {
		return wire.RefundApproved{}, errClosed
	}
	out := wire.RefundApproved{Approved: orderOf(r).Approve(key, r.ApprovedAt), Cancelled: r.Cancelled == refund.CancelRequested}
	return out, out.Check()
}

// orderOf is the order of an approved refund.
func orderOf(r refund.Refund) order.Order {
	n, _ := money.NetworkOf(r.Network)
	asset, _ := n.Asset(r.Asset)
	o := order.Order{
		Kind: order.Refund, ID: r.ID, Mode: r.Mode, Network: r.Network, Asset: r.Asset, Amount: asset.ToUnits(r.Amount).String(),
		To: r.Address, Approval: order.Approval(r.Approval),
	}
	if !asset.Native {
		if o.Contract = r.Contract; o.Contract == "" { // the simulated chain names none
			o.Contract = asset.Contract
		}
	}
	return o
}

// List is the body of GET /v1/payments/:reference/refunds.
func (a *Refunds) List(ctx context.Context, owner tenant.Owner, reference string) ([]byte, error) {
	if !id.IsPaymentReference(reference) {
		return nil, change.ErrNotFound
	}
	v, err := a.Store.Find(ctx, owner, reference)
	if err != nil {
		return nil, err
	}
	return views.Encode(views.RefundsAnswer{Success: true, Refunds: views.RefundsOf(v.Refunds)})
}
