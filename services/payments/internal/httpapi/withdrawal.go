package httpapi

import (
	"context"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/withdrawals"
)

func withdrawalRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "GET /v1/balances", httpkit.ForMerchants, func(ctx context.Context, _ nothing) ([]byte, error) {
		return u.Withdrawals.Balances(ctx, httpkit.From(ctx).Owner)
	})
	httpkit.Handle(s, "GET /v1/settlement-settings", httpkit.ForMerchants, func(ctx context.Context, _ nothing) ([]byte, error) {
		return u.Withdrawals.Settings(ctx, httpkit.From(ctx).Owner)
	})
	httpkit.Handle(s, "PATCH /v1/settlement-settings", httpkit.ForMerchants, func(ctx context.Context, r settingsRequest) ([]byte, error) {
		return u.Withdrawals.ChangeSettings(ctx, httpkit.From(ctx).Owner, r.wish, &r.problems)
	})
	httpkit.Handle(s, "POST /v1/settlement-accounts", httpkit.ForMerchants, func(ctx context.Context, r accountRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Withdrawals.AddAccount(ctx, in.Owner, r.proposal, &r.problems, in.Key())
	})
	httpkit.Handle(s, "GET /v1/settlement-accounts", httpkit.ForMerchants, func(ctx context.Context, _ nothing) ([]byte, error) {
		return u.Withdrawals.AccountList(ctx, httpkit.From(ctx).Owner)
	})
	httpkit.Handle(s, "GET /v1/settlement-accounts/{id}", httpkit.ForMerchants, func(ctx context.Context, r idRequest) ([]byte, error) {
		return u.Withdrawals.ShowAccount(ctx, httpkit.From(ctx).Owner, r.id)
	})
	httpkit.Handle(s, "POST /v1/settlement-accounts/{id}/confirm", httpkit.ForMerchants, func(ctx context.Context, r confirmAccountRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Withdrawals.ConfirmAccount(ctx, in.Owner, r.id, r.number, &r.problems, in.Key())
	})
	httpkit.Handle(s, "DELETE /v1/settlement-accounts/{id}", httpkit.ForMerchants, func(ctx context.Context, r idRequest) ([]byte, error) {
		return u.Withdrawals.DeleteAccount(ctx, httpkit.From(ctx).Owner, r.id)
	})
	httpkit.Handle(s, "POST /v1/withdrawals", httpkit.ForMerchants, func(ctx context.Context, r withdrawRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Withdrawals.Withdraw(ctx, in.Owner, r.order, &r.problems, in.Key())
	})
	httpkit.Handle(s, "GET /v1/withdrawals", httpkit.ForMerchants, func(ctx context.Context, r pageRequest) ([]byte, error) {
		return u.Withdrawals.List(ctx, httpkit.From(ctx).Owner, r.before, r.limit)
	})
	httpkit.Handle(s, "GET /v1/withdrawals/{id}", httpkit.ForMerchants, func(ctx context.Context, r idRequest) ([]byte, error) {
		return u.Withdrawals.Show(ctx, httpkit.From(ctx).Owner, r.id)
	})
	httpkit.Handle(s, "GET /v1/admin/withdrawals", httpkit.ForOperators, func(ctx context.Context, r waitingRequest) ([]byte, error) {
		return u.Withdrawals.Waiting(ctx, r.approved, r.before, r.limit)
	})
	decide := func(route string, f func(context.Context, string, withdrawals.Decision, *fault.Problems, idempotency.Key) (idempotency.Answer, error)) {
		httpkit.Handle(s, route, httpkit.ForOperators, func(ctx context.Context, r refundDecisionRequest) (idempotency.Answer, error) {
			in := httpkit.From(ctx)
			return f(ctx, r.id, withdrawals.Decision{Operator: in.Identity.Operator, Reason: r.reason}, &r.problems, in.Key())
		})
	}
	decide("POST /v1/admin/withdrawals/{id}/approve", u.Withdrawals.Approve)
	decide("POST /v1/admin/withdrawals/{id}/refuse", u.Withdrawals.Refuse)
}

type waitingRequest struct {
	pageRequest
	approved bool
}

// Read takes the status, the limit and the cursor of the operators' list of withdrawals.
func (r *waitingRequest) Read(in *httpkit.Input) {
	r.approved = in.QueryOneOf("status", "requested", "approved") == "approved"
	r.pageRequest.Read(in)
}

type withdrawRequest struct {
	order    withdrawals.Order
	problems fault.Problems
}

// Read decodes a withdrawal (docs/api-contract.md#withdrawals).
func (r *withdrawRequest) Read(in *httpkit.Input) {
	b := in.Body()
	r.order = withdrawals.Order{
		Currency: b.Text("currency", wordMax), Amount: number(b, "amount"), AccountID: b.Text("settlementAccountId", wordMax),
	}
	r.problems = in.Deferred()
}

type accountRequest struct {
	proposal withdrawals.Proposal
	problems fault.Problems
}

// Read decodes a new settlement account (docs/api-contract.md#settlement-accounts).
func (r *accountRequest) Read(in *httpkit.Input) {
	b := in.Body()
	r.proposal.Currency = b.Text("currency", wordMax)
	if p := b.Object("receiver"); p != nil {
		r.proposal.Receiver = &payment.ReceiverInput{BankCode: p.Text("bankCode", wordMax), AccountNumber: p.Text("accountNumber", accountMax)}
	}
	r.problems = in.Deferred()
}

type confirmAccountRequest struct {
	id, number string
	problems   fault.Problems
}

// Read decodes the confirmation of a settlement account (docs/api-contract.md#settlement-accounts).
func (r *confirmAccountRequest) Read(in *httpkit.Input) {
	r.id = in.Path("id")
	r.number = in.Body().Text("accountNumber", accountMax)
	r.problems = in.Deferred()
}

type settingsRequest struct {
	wish     withdrawals.Wish
	problems fault.Problems
}

// Read decodes a merchant's choices (docs/api-contract.md#balances).
func (r *settingsRequest) Read(in *httpkit.Input) {
	b := in.Body()
	r.wish = withdrawals.Wish{MerchantPayments: b.Text("merchantPayments", wordMax), DailySent: b.Sent("daily")}
	for _, d := range b.Objects("daily", len(money.Currencies())) {
		r.wish.Daily = append(r.wish.Daily, withdrawals.Daily{
			Currency: d.Text("currency", wordMax), AccountID: d.Text("settlementAccountId", wordMax), Minimum: number(d, "minimum"),
		})
	}
	r.problems = in.Deferred()
}
