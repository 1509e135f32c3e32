package operators

import (
	"context"
	"encoding/json"

	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/views"
)

// reviewed is a payment as operators see it. Its reference and its payout replace those of views.Shown.
type reviewed struct {
	ID         string      `json:"id"`
	MerchantID string      `json:"merchantId"`
	Mode       tenant.Mode `json:"mode"`
	RefundOurs bool        `json:"refundAddressInternal,omitempty"`
	RefundTx   string      `json:"refundTxHash,omitempty"`
	WouldPay   *wouldPay   `json:"wouldPay,omitempty"`
	Reference  *string     `json:"reference"`
	// Witness says that no second host has confirmed some of the money.
	Witness payment.Witness `json:"witness,omitempty"`
	views.Shown
	Payout *reviewedPayout `json:"payout,omitempty"`
}

// reviewedPayout is a payout as operators see it. Its reference is null where it contains a gift's reference that the
// operator did not bring.
type reviewedPayout struct {
	views.PayoutView
	Reference *string `json:"reference"`
}

func reviewedPayoutOf(o payout.Payout) reviewedPayout {
	return reviewedPayout{views.PayoutViewOf(o), &o.Reference}
}

// wouldPay is the payout of an accept now: amount without a payoutAmount, at most upTo with one.
type wouldPay struct {
	Amount   money.Number   `json:"amount"`
	Currency money.Currency `json:"currency"`
	UpTo     *money.Number  `json:"upTo,omitempty"`
}

// reviewedOf hides a gift's reference from an operator who did not bring it, because it is enough to claim the gift. A
// stray payment has none.
func (a *Operators) reviewedOf(v change.View, brought bool) reviewed {
	p := v.Payment
	r := reviewed{
		ID: p.ID, MerchantID: p.MerchantID, Mode: p.Mode, RefundTx: p.RefundTx, Reference: &p.Reference,
		Witness: payment.Doubt(v.Rows), Shown: a.Render.ShownOf(v),
	}
	r.Metadata = json.RawMessage(id.HideGifts(string(r.Metadata)))
	r.BankRef, r.SettlementRef = id.HideGifts(r.BankRef), id.HideGifts(r.SettlementRef)
	r.MerchantReference, r.Description = id.HideGifts(r.MerchantReference), id.HideGifts(r.Description)
	r.ReturnURL = id.HideGifts(r.ReturnURL)
	if v.Payout != nil {
		paid := reviewedPayoutOf(*v.Payout)
		r.Payout = &paid
	}
	if p.Type == payment.Gift && !brought || p.Type == payment.Stray {
		r.Reference, r.CheckoutURL = nil, ""
		if r.Payout != nil {
			r.Payout.Reference = nil
		}
	}
	offer, ok := a.Policy.Offer(p, v.Rows, v.Refunds)
	if !ok {
		return r
	}
	r.WouldPay = &wouldPay{Amount: money.N(offer.Plain), Currency: p.Currency}
	if offer.Most.GreaterThan(offer.Plain) {
		most := money.N(offer.Most)
		r.WouldPay.UpTo = &most
	}
	return r
}

// listedOf is a payment in a list of operators. It marks a refund address of this system, because operators send
// refunds by hand.
func (a *Operators) listedOf(ctx context.Context, v change.View) (r reviewed, err error) {
	r = a.reviewedOf(v, false)
	r.RefundOurs, err = a.Access.Ours(ctx, v.Payment.RefundAddress)
	return r, err
}

// Show is the body of GET /v1/admin/payments/:reference. The path names the payment by its reference or its id.
func (a *Operators) Show(ctx context.Context, name string) ([]byte, error) {
	v, _, _, err := a.reviewing(ctx, name, idempotency.Key{})
	if err != nil {
		return nil, err
	}
	r := a.reviewedOf(v, !id.IsPayment(name))
	if r.RefundOurs, err = a.Access.Ours(ctx, v.Payment.RefundAddress); err != nil {
		return nil, err
	}
	return views.Encode(views.PaymentAnswer{Success: true, Payment: r})
}

// ListAll is the body of GET /v1/admin/payments: every merchant's, for operators.
func (a *Operators) ListAll(ctx context.Context, f views.Filter) ([]byte, error) {
	f.Operated = true
	return views.Page(ctx, a.Store.List, f, func(v change.View) (reviewed, error) { return a.listedOf(ctx, v) })
}
