package merchants

import (
	"context"
	"errors"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
)

var errNoFamily = fault.New(fault.Conflict, "network_unknown", "The payment has no network yet, so no address can be checked for it.")

var ErrOwnRefundAddress = fault.New(fault.Conflict, "refund_address_internal",
	"The refund address belongs to this service, so a refund to it did not reach the payer. Set the payer's own address first.")

type refundAnswer struct {
	Success bool       `json:"success"`
	Refund  refundView `json:"refund"`
}

type refundView struct {
	Reference string `json:"reference"`
	Network   string `json:"network"`
	Address   string `json:"address"`
}

// RefundAddress stores the address to which an operator may refund the payer's money. The address must be one of the
// payment's network and none of this system. The screener's verdict is stored, also where the address is refused.
func (a *Merchants) RefundAddress(ctx context.Context, o tenant.Owner, reference, to string, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if to == "" {
		problems.Add("address", "is required")
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	ours, err := a.Access.Ours(ctx, o.Mode, to)
	if err != nil {
		return idempotency.Answer{}, err
	}
	var decided []change.Screened
	if a.Policy.Screen {
		verdict, screening := a.Screening.Ask(ctx, o.Mode, "", []string{to})
		if screening == payment.Unscreened {
			return idempotency.Answer{}, admission.ErrScreenDown
		}
		decided = []change.Screened{{Stage: change.AtRefund, Verdict: verdict, Addresses: []string{to}}}
	}
	return a.Access.Owned(ctx, o, reference, k, func(v change.View, now time.Time) (change.Result, error) {
		p := v.Payment
		n, ok := money.NetworkOf(p.Quote.Network)
		if !ok {
			return change.Result{}, errNoFamily
		}
		var wrong fault.Problems
		if err := address.Check(n.Family, p.Mode == tenant.Live, to); errors.Is(err, address.ErrShape) {
			wrong.Add("address", "is no address of the payment's network")
		} else if err != nil {
			wrong.Add("address", "%s", err.Error())
		} else if ours {
			wrong.Add("address", "belongs to this service, not to the payer")
		} else if len(decided) > 0 && decided[0].Verdict.Hit {
			wrong.Add("address", "cannot be used")
			return change.Result{Payment: p, Screened: decided, Refused: wrong.Err()}, nil
		}
		if err := wrong.Err(); err != nil {
			return change.Result{}, err
		}
		r, err := change.Applied(a.Policy.Apply(p, payment.SetRefundAddress{Address: to}, now))
		if err != nil {
			return change.Result{}, err
		}
		body, err := views.Encode(refundAnswer{true, refundView{p.Reference, p.NetworkName, to}})
		if err != nil {
			return change.Result{}, err
		}
		r.Screened = decided
		r.Answer = &idempotency.Answer{Status: change.StatusOK, Body: body}
		return r, nil
	})
}
