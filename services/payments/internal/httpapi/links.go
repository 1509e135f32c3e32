package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/link"
	"causeway.internal/services/payments/internal/links"
	"causeway.internal/services/payments/internal/payment"
)

func linkRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "POST /v1/payment-links", httpkit.ForMerchants, func(ctx context.Context, r linkRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Links.Create(ctx, in.Owner, r.link, &r.problems, in.Key())
	})
	httpkit.Handle(s, "GET /v1/payment-links", httpkit.ForMerchants, func(ctx context.Context, r pageRequest) ([]byte, error) {
		return u.Links.List(ctx, httpkit.From(ctx).Owner, r.before, r.limit)
	})
	httpkit.Handle(s, "GET /v1/payment-links/{id}", httpkit.ForMerchants, func(ctx context.Context, r idRequest) ([]byte, error) {
		return u.Links.Show(ctx, httpkit.From(ctx).Owner, r.id)
	})
	httpkit.Handle(s, "PATCH /v1/payment-links/{id}", httpkit.ForMerchants, func(ctx context.Context, r linkChangeRequest) ([]byte, error) {
		return u.Links.Change(ctx, httpkit.From(ctx).Owner, r.id, r.wish, &r.problems)
	})
	httpkit.Handle(s, "GET /v1/links/{id}", httpkit.ForAll, func(ctx context.Context, r idRequest) (httpkit.Answer, error) {
		body, merchantID, err := u.Links.Public(ctx, r.id)
		return httpkit.Answer{Status: http.StatusOK, Body: body, Header: http.Header{httpkit.MerchantHeader: {merchantID}}}, err
	})
	httpkit.Handle(s, "POST /v1/links/{id}/payments", httpkit.ForAll, func(ctx context.Context, r linkPaymentRequest) (idempotency.Answer, error) {
		answer, err := u.Links.Pay(ctx, r.id, r.order, &r.problems, httpkit.From(ctx).Key())
		if err == nil {
			answer.Header = u.Links.Render.Places(answer.Body)
		}
		return answer, err
	})
}

type linkRequest struct {
	link     link.Link
	problems fault.Problems
}

// Read decodes a new link (docs/api-contract.md#payment-links).
func (r *linkRequest) Read(in *httpkit.Input) {
	b := in.Body()
	r.link = link.Link{
		Type: payment.Type(b.Text("type", wordMax)), Title: b.Text("title", link.TitleMax), Description: b.Text("description", link.DescriptionMax),
		Currency: money.Currency(b.Text("fiatCurrency", wordMax)), AccountID: b.Text("settlementAccountId", wordMax),
	}
	for name, to := range map[string]*decimal.Decimal{"fiatAmount": &r.link.Amount, "minimumAmount": &r.link.Minimum, "maximumAmount": &r.link.Maximum} {
		if d := number(b, name); d != nil {
			if *to = *d; !d.IsPositive() {
				b.Problem(name, "must be greater than 0")
			}
		}
	}
	if n, ok := b.Int("usageLimit", 1, link.UsesMost); ok {
		r.link.UsageLimit = int(n)
	}
	if at := bodyTime(b, "expiresAt"); at != nil {
		r.link.ExpiresAt = *at
	}
	r.problems = in.Deferred()
}

// bodyTime reads a time of a body, nil where there is none.
func bodyTime(b *httpkit.Body, name string) *time.Time {
	text := b.Text(name, wordMax)
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || at.Year() < 1970 || at.Year() >= 9000 {
		b.Problem(name, "must be an ISO 8601 time such as 2026-04-01T00:00:00.000Z")
		return nil
	}
	at = at.UTC().Truncate(time.Microsecond)
	return &at
}

type linkChangeRequest struct {
	id       string
	wish     links.Wish
	problems fault.Problems
}

// Read decodes a change of a link (docs/api-contract.md#payment-links).
func (r *linkChangeRequest) Read(in *httpkit.Input) {
	r.id = in.Path("id")
	b := in.Body()
	if b.Has("title") {
		title := b.Text("title", link.TitleMax)
		r.wish.Title = &title
	}
	if b.Has("description") {
		text := b.Text("description", link.DescriptionMax)
		r.wish.Description = &text
	}
	if n, ok := b.Int("usageLimit", 0, link.UsesMost); ok {
		most := int(n)
		r.wish.UsageLimit = &most
	}
	r.wish.ExpiresAt = bodyTime(b, "expiresAt")
	switch status := b.Text("status", wordMax); status {
	case "":
	case link.Active, link.Ended:
		ended := status == link.Ended
		r.wish.Ended = &ended
	default:
		b.Problem("status", "must be one of active, ended")
	}
	r.problems = in.Deferred()
}

type linkPaymentRequest struct {
	id       string
	order    links.Order
	problems fault.Problems
}

// Read decodes what a payer chooses (docs/api-contract.md#payment-links).
func (r *linkPaymentRequest) Read(in *httpkit.Input) {
	r.id = in.Path("id")
	b := in.Body()
	r.order = links.Order{FiatAmount: number(b, "fiatAmount"), Crypto: b.Text("crypto", wordMax), Network: b.Text("network", wordMax)}
	r.problems = in.Deferred()
}
