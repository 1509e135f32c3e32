package app

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
)

// Filter chooses payments of a list, newest first. Zero values choose all.
type Filter struct {
	Owner    change.Owner // MerchantID "" is an operator's list: all merchants and modes
	Statuses []payment.Status
	Type     payment.Type
	From, To time.Time // of creation; From included, To not
	Before   string    // id of the last payment of the page before
	Limit    int
}

// Lists reads lists of payments.
type Lists interface {
	// List gives up to f.Limit payments, each as Find would.
	List(ctx context.Context, f Filter) ([]change.View, error)
}

// Cursor makes the opaque cursor of a page that ends with a payment; ReadCursor reads it.
func Cursor(paymentID string) string {
	return base64.RawURLEncoding.EncodeToString([]byte("p" + strings.TrimPrefix(paymentID, id.Payment)))
}

// ReadCursor is the id that a cursor holds; ok is false for anything that Cursor did not make.
func ReadCursor(text string) (paymentID string, ok bool) {
	const idLength = 26
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != 1+idLength || raw[0] != 'p' || strings.Trim(string(raw[1:]), "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return "", false
	}
	return id.Payment + string(raw[1:]), true
}

type pagination struct {
	Limit      int     `json:"limit"`
	NextCursor *string `json:"nextCursor"`
	HasMore    bool    `json:"hasMore"`
}

type listAnswer[T any] struct {
	Success    bool       `json:"success"`
	Payments   []T        `json:"payments"`
	Pagination pagination `json:"pagination"`
}

// List is the body of GET /v1/payments: each payment as GET shows it.
func (a *App) List(ctx context.Context, f Filter) ([]byte, error) {
	return list(ctx, a.Lists, f, func(v change.View) (shown, error) { return a.Render.shownOf(v), nil })
}

// reviewed is a payment as operators see it. Its reference and its payout take the places of those that shown has.
type reviewed struct {
	ID            string      `json:"id"`
	MerchantID    string      `json:"merchantId"`
	Mode          tenant.Mode `json:"mode"`
	RefundAddress string      `json:"refundAddress,omitempty"`
	RefundOurs    bool        `json:"refundAddressInternal,omitempty"`
	RefundTx      string      `json:"refundTxHash,omitempty"`
	WouldPay      *wouldPay   `json:"wouldPay,omitempty"`
	Reference     *string     `json:"reference"`
	shown
	Payout *reviewedPayout `json:"payout,omitempty"`
}

// reviewedPayout is a payout as operators see it. Its reference is null where it is made of a gift's that they may not see.
type reviewedPayout struct {
	payoutView
	Reference *string `json:"reference"`
}

func reviewedPayoutOf(o payout.Payout) reviewedPayout {
	return reviewedPayout{payoutViewOf(o), &o.Reference}
}

// wouldPay is what an accept pays now: amount without a payoutAmount, upTo with that payoutAmount where it may be more.
type wouldPay struct {
	Amount   money.Number   `json:"amount"`
	Currency money.Currency `json:"currency"`
	UpTo     *money.Number  `json:"upTo,omitempty"`
}

// reviewedOf hides a gift's reference from an operator who did not bring it, because it is enough to claim the gift.
func (a *App) reviewedOf(v change.View, brought bool) reviewed {
	p := v.Payment
	r := reviewed{
		ID: p.ID, MerchantID: p.MerchantID, Mode: p.Mode, RefundAddress: p.RefundAddress, RefundTx: p.RefundTx,
		Reference: &p.Reference, shown: a.Render.shownOf(v),
	}
	r.Metadata = json.RawMessage(id.HideGifts(string(r.Metadata)))
	if v.Payout != nil {
		paid := reviewedPayoutOf(*v.Payout)
		r.Payout = &paid
	}
	if p.Type == payment.Gift && !brought {
		r.Reference, r.CheckoutURL = nil, ""
		if r.Payout != nil {
			r.Payout.Reference = nil
		}
	}
	offer, ok := a.Policy.Offer(p, v.Rows)
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

// listedOf is a payment in a list of operators, who send refunds by hand: it marks a refund address that is one of this system's.
func (a *App) listedOf(ctx context.Context, v change.View) (r reviewed, err error) {
	r = a.reviewedOf(v, false)
	r.RefundOurs, err = a.ours(ctx, v.Payment.Mode, v.Payment.RefundAddress)
	return r, err
}

// ListAll is the body of GET /v1/admin/payments: every merchant's, for operators.
func (a *App) ListAll(ctx context.Context, f Filter) ([]byte, error) {
	f.Owner = change.Owner{}
	return list(ctx, a.Lists, f, func(v change.View) (reviewed, error) { return a.listedOf(ctx, v) })
}

// list reads one more than a page holds, to know whether there is another.
func list[T any](ctx context.Context, from Lists, f Filter, show func(change.View) (T, error)) ([]byte, error) {
	limit := f.Limit
	f.Limit++
	views, err := from.List(ctx, f)
	if err != nil {
		return nil, err
	}
	page := pagination{Limit: limit}
	if len(views) > limit {
		views = views[:limit]
		next := Cursor(views[limit-1].Payment.ID)
		page.HasMore, page.NextCursor = true, &next
	}
	out := make([]T, len(views))
	for i, v := range views {
		if out[i], err = show(v); err != nil {
			return nil, err
		}
	}
	return encode(listAnswer[T]{true, out, page})
}
