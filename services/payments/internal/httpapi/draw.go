package httpapi

import (
	"context"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/draws"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/refunds"
)

func drawRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "POST /v1/wallets/address-book", httpkit.ForMerchants, func(ctx context.Context, r entryRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Draws.Add(ctx, in.Owner, r.entry, &r.problems, in.Key())
	})
	httpkit.Handle(s, "GET /v1/wallets/address-book", httpkit.ForMerchants, func(ctx context.Context, r pageRequest) ([]byte, error) {
		return u.Draws.Book(ctx, httpkit.From(ctx).Owner, r.before, r.limit)
	})
	httpkit.Handle(s, "DELETE /v1/wallets/address-book/{id}", httpkit.ForMerchants, func(ctx context.Context, r idRequest) ([]byte, error) {
		return u.Draws.Remove(ctx, httpkit.From(ctx).Owner, r.id)
	})
	httpkit.Handle(s, "GET /v1/wallets/withdrawals/fees", httpkit.ForMerchants, func(ctx context.Context, _ noRequest) ([]byte, error) {
		return u.Draws.Charges(httpkit.From(ctx).Owner)
	})
	httpkit.Handle(s, "POST /v1/wallets/withdrawals", httpkit.ForMerchants, func(ctx context.Context, r drawRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Draws.Request(ctx, in.Owner, r.order, &r.problems, in.Key())
	})
	httpkit.Handle(s, "GET /v1/wallets/withdrawals", httpkit.ForMerchants, func(ctx context.Context, r pageRequest) ([]byte, error) {
		return u.Draws.List(ctx, httpkit.From(ctx).Owner, r.before, r.limit)
	})
	httpkit.Handle(s, "GET /v1/wallets/withdrawals/{id}", httpkit.ForMerchants, func(ctx context.Context, r idRequest) ([]byte, error) {
		return u.Draws.Show(ctx, httpkit.From(ctx).Owner, r.id)
	})
	httpkit.Handle(s, "POST /v1/wallets/withdrawals/{id}/cancel", httpkit.ForMerchants, func(ctx context.Context, r idRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Draws.Cancel(ctx, in.Owner, r.id, in.Key())
	})
	httpkit.Handle(s, "GET /v1/admin/wallets/withdrawals", httpkit.ForOperators, func(ctx context.Context, r operatorListRequest) ([]byte, error) {
		return u.Draws.Waiting(ctx, r.before, r.limit)
	})
	decide := func(route string, f func(ctx context.Context, drawID string, d refunds.Decision, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error)) {
		httpkit.Handle(s, route, httpkit.ForOperators, func(ctx context.Context, r refundDecisionRequest) (idempotency.Answer, error) {
			in := httpkit.From(ctx)
			return f(ctx, r.id, refunds.Decision{Operator: in.Identity.Operator, Reason: r.reason}, &r.problems, in.Key())
		})
	}
	decide("POST /v1/admin/wallets/withdrawals/{id}/approve", u.Draws.Approve)
	decide("POST /v1/admin/wallets/withdrawals/{id}/refuse", u.Draws.Refuse)
	decide("POST /v1/admin/wallets/withdrawals/{id}/cancel", u.Draws.Stop)
}

// labelMax bounds the label of an address.
const labelMax = 100

type entryRequest struct {
	entry    draws.NewEntry
	problems fault.Problems
}

// Read decodes a new address of the address book (docs/api-contract.md#withdrawals-from-wallets).
func (r *entryRequest) Read(in *httpkit.Input) {
	b := in.Body()
	r.entry = draws.NewEntry{Network: b.RequiredText("network", wordMax), Address: b.Text("address", addressMax), Label: b.Text("label", labelMax)}
	r.problems = in.Deferred()
}

type drawRequest struct {
	order    draws.Order
	problems fault.Problems
}

// Read decodes a withdrawal from wallets (docs/api-contract.md#withdrawals-from-wallets).
func (r *drawRequest) Read(in *httpkit.Input) {
	b := in.Body()
	r.order = draws.Order{Crypto: b.Text("crypto", wordMax), Network: b.Text("network", wordMax), EntryID: b.Text("addressId", wordMax)}
	r.order.Amount, r.order.Given = b.NumberOrText("amount")
	if fee, ok := b.NumberOrText("fee"); ok {
		r.order.Fee = &fee
	}
	r.problems = in.Deferred()
}

type pageRequest struct {
	before string
	limit  int
}

// Read takes the limit and the cursor of a merchant's list.
func (r *pageRequest) Read(in *httpkit.Input) {
	r.limit = in.QueryInt("limit", pageDefault, 1, pageMax)
	if text := in.Query("cursor"); text != "" {
		before, ok := operators.ReadCursor(text)
		if !ok {
			in.Problems.Add("cursor", "must be the nextCursor of an earlier answer")
		}
		r.before = before
	}
}

type idRequest struct{ id string }

// Read takes the id out of the path.
func (r *idRequest) Read(in *httpkit.Input) { r.id = in.Path("id") }

type noRequest struct{}

// Read reads nothing.
func (*noRequest) Read(*httpkit.Input) {}
