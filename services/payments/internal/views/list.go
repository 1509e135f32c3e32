package views

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"causeway.internal/libs/id"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

// Filter chooses payments of a list, newest first. Zero values choose all.
type Filter struct {
	Owner    tenant.Owner
	Operated bool // an operator's list: with Owner's merchant or mode "" of every one, with what a decision needs
	Statuses []payment.Status
	Type     payment.Type
	From, To time.Time // of creation; From included, To not
	Address  string    // deposit address in its canonical spelling
	TxHash   string    // of a transfer to the payment, in its canonical spelling
	Merchant string    // the merchant's own reference of the payment
	Payer    string    // the merchant's identifier for the payer; not in an operator's list

	Reference string            // in an operator's list alone
	Exception payment.Exception // in an operator's list alone
	Payout    string            // id or reference of a payout; in an operator's list alone
	// AccountEnds are the last four digits of the receiver's account, within one mode; in an operator's list alone.
	AccountEnds string

	Before string // id of the last payment of the page before
	Limit  int
	Named  bool // the answer has the ids of its payments, by which the gateway merges the pages of several shards
}

// Store reads payments as their owner sees them.
type Store interface {
	// Find is the payment of an owner by its reference, without a lock and without fields that no answer shows, such as
	// the payer.
	Find(ctx context.Context, o tenant.Owner, reference string) (change.View, error)
	// List gives up to f.Limit payments, each as Find would.
	List(ctx context.Context, f Filter) ([]change.View, error)
	// Past is the history of a payment, with every attempt of its payout.
	Past(ctx context.Context, paymentID string) (Past, error)
	// SettledBetween lists an owner's payments that were settled at or after from and before to, in the order of
	// settlement. Of those settled at from it begins after the id.
	SettledBetween(ctx context.Context, o tenant.Owner, from time.Time, after string, to time.Time, most int) ([]Settlement, error)
}

// Reader shows merchants their payments.
type Reader struct {
	Store  Store
	Render Renderer
	Depths payment.Depths
}

// Cursor makes the opaque cursor of a page whose last row is a payment; ReadCursor reads it.
func Cursor(paymentID string) string {
	return base64.RawURLEncoding.EncodeToString([]byte("p" + strings.TrimPrefix(paymentID, id.Payment)))
}

// ReadCursor is the id that a cursor holds; ok is false for anything that Cursor did not make.
func ReadCursor(text string) (paymentID string, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) == 0 || raw[0] != 'p' || !id.IsObject(id.Payment+string(raw[1:])) {
		return "", false
	}
	return id.Payment + string(raw[1:]), true
}

type Pagination struct {
	Limit      int     `json:"limit"`
	NextCursor *string `json:"nextCursor"`
	HasMore    bool    `json:"hasMore"`
}

type listAnswer[T any] struct {
	Success    bool       `json:"success"`
	Payments   []T        `json:"payments"`
	Pagination Pagination `json:"pagination"`
	IDs        []string   `json:"ids,omitempty"`
}

// List is the body of GET /v1/payments: each payment as GET shows it.
func (a *Reader) List(ctx context.Context, f Filter) ([]byte, error) {
	return Page(ctx, a.Store.List, f, func(v change.View) (Shown, error) { return a.Render.ShownOf(v), nil })
}

// Page lists payments and reads one more than a page holds, to know whether there is another.
func Page[T any](ctx context.Context, list func(context.Context, Filter) ([]change.View, error), f Filter, show func(change.View) (T, error)) ([]byte, error) {
	limit := f.Limit
	f.Limit++
	views, err := list(ctx, f)
	if err != nil {
		return nil, err
	}
	page := Pagination{Limit: limit}
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
	answer := listAnswer[T]{Success: true, Payments: out, Pagination: page}
	if f.Named {
		for _, v := range views {
			answer.IDs = append(answer.IDs, v.Payment.ID)
		}
	}
	return Encode(answer)
}

// Show is the body of GET /v1/payments/:reference.
func (a *Reader) Show(ctx context.Context, o tenant.Owner, reference string) ([]byte, error) {
	if !id.IsPaymentReference(reference) {
		return nil, change.ErrNotFound
	}
	v, err := a.Store.Find(ctx, o, reference)
	if err != nil {
		return nil, err
	}
	return a.Render.Shown(v)
}
