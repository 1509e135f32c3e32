package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"causeway.internal/libs/command"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/refunds"
	"causeway.internal/services/payments/internal/store"
)

// cancelRefund asks wallets not to carry out an approved refund, as POST /v1/admin/refunds/{id}/cancel does, and prints
// the answer of that request. No rule of the policy decides about a cancellation.
func cancelRefund(in command.Input) (operation, error) {
	var refundID, reason string
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&refundID, "refund", "", "approved refund that must not leave")
		f.StringVar(&reason, "reason", "", "why, for the audit")
	})
	if err != nil {
		return nil, err
	}
	if refundID == "" || strings.TrimSpace(reason) == "" {
		return nil, in.Usage()
	}
	return func(ctx context.Context, s *store.Store) error {
		cases := refunds.Refunds{Store: s, Access: &access.Payments{Store: s}, Policy: payment.Defaults()}
		decision := refunds.Decision{Operator: in.Operator(), Reason: reason}
		answer, err := cases.Cancel(ctx, refundID, decision, &fault.Problems{}, idempotency.Key{})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(in.Out, "%s\n", answer.Body)
		return err
	}, nil
}
