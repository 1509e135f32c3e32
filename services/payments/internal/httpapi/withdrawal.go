package httpapi

import (
	"context"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
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
}

type settingsRequest struct {
	wish     withdrawals.Wish
	problems fault.Problems
}

// Read decodes a merchant's choices (docs/api-contract.md#balances).
func (r *settingsRequest) Read(in *httpkit.Input) {
	r.wish = withdrawals.Wish{MerchantPayments: in.Body().Text("merchantPayments", wordMax)}
	r.problems = in.Deferred()
}
