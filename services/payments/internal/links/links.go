// Package links makes payment links for merchants, and payments out of links for anybody who has one.
package links

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/intake"
	"causeway.internal/services/payments/internal/link"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/pricing"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/internal/withdrawal"
)

// Store is the table of links.
type Store interface {
	// InsertLink writes a new link, unless the merchant has too many, and stores the answer under the key.
	InsertLink(ctx context.Context, l link.Link, k idempotency.Key, a idempotency.Answer) error
	// ChangeLink changes a merchant's link under its lock.
	ChangeLink(ctx context.Context, o tenant.Owner, linkID string, change func(link.Link) (link.Link, error)) (link.Link, error)
	// FindLink is a link by its id, of any merchant.
	FindLink(ctx context.Context, linkID string) (link.Link, error)
	// LinksOf are a merchant's links, newest first, that were made before one of them.
	LinksOf(ctx context.Context, o tenant.Owner, before string, most int) ([]link.Link, error)
	// FreeLink counts the payments of a link again that has as many as it may, and reports whether there is a place.
	FreeLink(ctx context.Context, linkID string) (bool, error)
	// WaitingPayments counts the payments of a link that were made within a time and wait for their money.
	WaitingPayments(ctx context.Context, linkID string, most int, within time.Duration) (int, error)
	SettlementAccounts(ctx context.Context, o tenant.Owner) ([]withdrawal.Account, error)
}

// Links makes links, and payments out of links.
type Links struct {
	Store   Store
	Access  *access.Payments
	Intake  *intake.Intake
	Pricing *pricing.Pricing
	Render  views.Renderer
	Shard   shard.Code
	Now     func() time.Time
}

// view is a link as its merchant sees it.
type view struct {
	ID           string         `json:"id"`
	URL          string         `json:"url,omitempty"`
	Type         payment.Type   `json:"type"`
	Status       string         `json:"status"`
	Title        string         `json:"title"`
	Description  string         `json:"description"`
	FiatCurrency money.Currency `json:"fiatCurrency"`
	FiatAmount   *money.Number  `json:"fiatAmount"`
	Minimum      *money.Number  `json:"minimumAmount"`
	Maximum      *money.Number  `json:"maximumAmount"`
	AccountID    *string        `json:"settlementAccountId"`
	UsageLimit   *int           `json:"usageLimit"`
	Uses         int            `json:"uses"`
	ExpiresAt    *string        `json:"expiresAt"`
	EndedAt      *string        `json:"endedAt"`
	CreatedAt    string         `json:"createdAt"`
}

func (a *Links) viewOf(l link.Link) view {
	v := view{
		ID: l.ID, Type: l.Type, Status: l.Status(a.Now()), Title: l.Title, Description: l.Description, FiatCurrency: l.Currency,
		FiatAmount: amount(l.Amount), Minimum: amount(l.Minimum), Maximum: amount(l.Maximum), Uses: l.Uses, ExpiresAt: timestamp.OrNull(l.ExpiresAt),
		EndedAt: timestamp.OrNull(l.EndedAt), CreatedAt: timestamp.Text(l.CreatedAt),
	}
	if a.Render.PublicURL != "" {
		v.URL = a.Render.PublicURL + "/link/" + l.ID
	}
	if l.AccountID != "" {
		v.AccountID = &l.AccountID
	}
	if l.UsageLimit > 0 {
		v.UsageLimit = &l.UsageLimit
	}
	return v
}

// amount is null where it is absent.
func amount(d decimal.Decimal) *money.Number {
	if d.IsZero() {
		return nil
	}
	n := money.N(d)
	return &n
}

func (a *Links) answer(l link.Link) ([]byte, error) {
	return views.Encode(struct {
		Success bool `json:"success"`
		Link    view `json:"paymentLink"`
	}{true, a.viewOf(l)})
}

// Create makes a link. Its account has to be one to which money may leave.
func (a *Links) Create(ctx context.Context, o tenant.Owner, l link.Link, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	now := a.Now().UTC().Truncate(time.Microsecond)
	l.Check(now, problems)
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	if _, err := a.receiver(ctx, o, l, now); err != nil {
		return idempotency.Answer{}, err
	}
	l.ID, l.Owner, l.CreatedAt = id.Placed(link.Prefix, a.Shard, now), o, now
	body, err := a.answer(l)
	if err != nil {
		return idempotency.Answer{}, err
	}
	answer := idempotency.Answer{Status: change.StatusCreated, Body: body}
	if err := a.Store.InsertLink(ctx, l, k, answer); errors.Is(err, idempotency.ErrTaken) {
		return a.Access.Store.Settled(ctx, k)
	} else if err != nil {
		return idempotency.Answer{}, err
	}
	return answer, nil
}

// receiver is the account that a link's payments are paid out to, nil where the merchant has the money.
func (a *Links) receiver(ctx context.Context, o tenant.Owner, l link.Link, now time.Time) (*payment.ReceiverInput, error) {
	if l.AccountID == "" {
		return nil, nil //nolint:nilnil // a link without a receiver
	}
	all, err := a.Store.SettlementAccounts(ctx, o)
	if err != nil {
		return nil, err
	}
	found, err := withdrawal.Find(all, l.AccountID)
	if err != nil || found.Currency != l.Currency {
		return nil, withdrawal.ErrNoAccount
	}
	if err := found.MayPay(now); err != nil {
		return nil, err
	}
	return &payment.ReceiverInput{BankCode: found.Receiver.BankCode, AccountNumber: found.Receiver.AccountNumber}, nil
}

// Show is the body of GET /v1/payment-links/:id.
func (a *Links) Show(ctx context.Context, o tenant.Owner, linkID string) ([]byte, error) {
	l, err := a.find(ctx, linkID)
	if err != nil {
		return nil, err
	}
	if l.Owner.MerchantID != o.MerchantID || l.Owner.Mode != o.Mode {
		return nil, link.ErrUnknown
	}
	return a.answer(l)
}

func (a *Links) find(ctx context.Context, linkID string) (link.Link, error) {
	if !id.IsObject(linkID) {
		return link.Link{}, link.ErrUnknown
	}
	return a.Store.FindLink(ctx, linkID)
}

// List is the body of GET /v1/payment-links.
func (a *Links) List(ctx context.Context, o tenant.Owner, before string, limit int) ([]byte, error) {
	rows, err := a.Store.LinksOf(ctx, o, before, limit+1)
	if err != nil {
		return nil, err
	}
	rows, page := views.PageOf(rows, limit, func(l link.Link) string { return l.ID })
	out := make([]view, 0, len(rows))
	for _, l := range rows {
		out = append(out, a.viewOf(l))
	}
	return views.Encode(struct {
		Success    bool             `json:"success"`
		Links      []view           `json:"paymentLinks"`
		Pagination views.Pagination `json:"pagination"`
	}{true, out, page})
}

// Wish is what a merchant changes about a link; nil keeps it.
type Wish struct {
	Title, Description *string
	UsageLimit         *int // 0 removes the limit
	ExpiresAt          *time.Time
	Ended              *bool
}

// Change changes a link. Payments that it has made go on as they are.
func (a *Links) Change(ctx context.Context, o tenant.Owner, linkID string, w Wish, problems *fault.Problems) ([]byte, error) {
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if !id.IsObject(linkID) {
		return nil, link.ErrUnknown
	}
	now := a.Now().UTC().Truncate(time.Microsecond)
	changed, err := a.Store.ChangeLink(ctx, o, linkID, func(l link.Link) (link.Link, error) {
		set(&l.Title, w.Title)
		set(&l.Description, w.Description)
		set(&l.UsageLimit, w.UsageLimit)
		set(&l.ExpiresAt, w.ExpiresAt)
		switch {
		case w.Ended == nil:
		case !*w.Ended:
			l.EndedAt = time.Time{}
		case l.EndedAt.IsZero():
			l.EndedAt = now
		}
		var found fault.Problems
		checked := l
		if w.ExpiresAt == nil {
			checked.ExpiresAt = time.Time{} // it may have passed
		}
		checked.CheckTerms(now, &found)
		return l, found.Err()
	})
	if err != nil {
		return nil, err
	}
	return a.answer(changed)
}

func set[T any](to, wish *T) {
	if wish != nil {
		*to = *wish
	}
}

// option is one way to pay. An open amount has no price yet.
type option struct {
	Crypto       string        `json:"crypto"`
	Network      string        `json:"network"`
	CryptoAmount *money.Number `json:"cryptoAmount"`
}

type publicView struct {
	ID           string         `json:"id"`
	Type         payment.Type   `json:"type"`
	Status       string         `json:"status"`
	Mode         tenant.Mode    `json:"mode"`
	Title        string         `json:"title"`
	Description  string         `json:"description"`
	FiatCurrency money.Currency `json:"fiatCurrency"`
	FiatAmount   *money.Number  `json:"fiatAmount"`
	Minimum      *money.Number  `json:"minimumAmount"`
	Maximum      *money.Number  `json:"maximumAmount"`
	Options      []option       `json:"options"`
}

// Public is the body of GET /v1/links/:id, what a payer needs, with the merchant for the gateway alone. A request is
// priced once it is made.
func (a *Links) Public(ctx context.Context, linkID string) (body []byte, merchantID string, err error) {
	l, err := a.find(ctx, linkID)
	if err != nil {
		return nil, "", err
	}
	v := publicView{
		ID: l.ID, Type: l.Type, Status: l.Status(a.Now()), Mode: l.Owner.Mode, Title: l.Title, Description: l.Description, FiatCurrency: l.Currency,
		FiatAmount: amount(l.Amount), Minimum: amount(l.Minimum), Maximum: amount(l.Maximum), Options: []option{},
	}
	if v.Status == link.Active && l.Type == payment.MerchantPayment {
		v.Options = a.options(l)
	}
	body, err = views.Encode(struct {
		Success bool       `json:"success"`
		Link    publicView `json:"link"`
	}{true, v})
	return body, l.Owner.MerchantID, err
}

// likely is an amount at which every pair of a currency has a price, for the options of a link whose amount is open.
var likely = map[money.Currency]int64{money.NGN: 500_000, money.GHS: 5_000, money.KES: 50_000, money.ZAR: 5_000}

func (a *Links) options(l link.Link) []option {
	draft := payment.Payment{
		Type: payment.Request, MerchantID: l.Owner.MerchantID, KeyID: l.Owner.KeyID, Mode: l.Owner.Mode, Currency: l.Currency, FiatAmount: l.Amount,
	}
	if l.Amount.IsZero() {
		draft.FiatAmount = decimal.NewFromInt(likely[l.Currency])
	}
	out := []option{}
	for _, o := range a.Pricing.Options(draft) {
		one := option{Crypto: o.Crypto, Network: o.Network}
		if l.Amount.IsPositive() {
			one.CryptoAmount = &o.CryptoAmount
		}
		out = append(out, one)
	}
	return out
}

// Order is what a payer chooses.
type Order struct {
	FiatAmount      *decimal.Decimal
	Crypto, Network string
}

// open refuses a link that takes no payment now.
func (a *Links) open(ctx context.Context, l link.Link, now time.Time) error {
	switch l.Status(now) {
	case link.Ended, link.Expired:
		return link.ErrClosed
	case link.UsedUp:
		if free, err := a.Store.FreeLink(ctx, l.ID); err != nil || !free {
			return cmp.Or(err, error(link.ErrClosed))
		}
	}
	waiting, err := a.Store.WaitingPayments(ctx, l.ID, link.WaitingMost, link.WaitingWithin)
	if err == nil && waiting >= link.WaitingMost {
		err = link.ErrBusy
	}
	return err
}

// Pay makes a payment out of a link. The link is checked again in the transaction that writes the payment.
func (a *Links) Pay(ctx context.Context, linkID string, order Order, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	l, err := a.find(ctx, linkID)
	if err != nil {
		return idempotency.Answer{}, err
	}
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	now := a.Now()
	if err := a.open(ctx, l, now); err != nil {
		return idempotency.Answer{}, err
	}
	c := payment.Command{Type: string(l.Type), FiatAmount: l.Priced(order.FiatAmount, problems), FiatCurrency: string(l.Currency)}
	if c.Metadata, err = json.Marshal(map[string]string{"paymentLink": l.ID}); err != nil {
		return idempotency.Answer{}, err
	}
	if l.Type == payment.MerchantPayment {
		c.Crypto, c.Network = order.Crypto, order.Network
	}
	if c.Receiver, err = a.receiver(ctx, l.Owner, l, now); err != nil {
		if f, ok := errors.AsType[*fault.Error](err); ok { // the merchant's account is no concern of the payer
			return idempotency.Answer{}, link.ErrClosed.Because(f)
		}
		return idempotency.Answer{}, err
	}
	return a.Intake.CreateLinked(ctx, l.Owner, c, l.ID, problems, k)
}
