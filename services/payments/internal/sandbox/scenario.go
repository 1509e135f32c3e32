package sandbox

import (
	"context"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
)

// Scenario is a way in which a simulated payer pays.
type Scenario string

// The scenarios of POST /v1/checkout/:reference/simulate.
const (
	PayFull    Scenario = "full"    // what is still owed
	PayPartial Scenario = "partial" // half of it
	PayOver    Scenario = "over"    // a fifth more
	PayLate    Scenario = "late"    // what is owed, first seen after the window
)

// Scenarios lists every scenario.
func Scenarios() []Scenario { return []Scenario{PayFull, PayPartial, PayOver, PayLate} }

// Simulate plays the payer of a test-mode payment for anybody who knows its reference, such as the pay page. For a live
// payment the route does not exist.
func (a *Sandbox) Simulate(ctx context.Context, reference string, s Scenario, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	v, earlier, found, err := a.Access.Open(ctx, reference, k)
	if err != nil || found {
		return earlier, err
	}
	if v.Payment.Mode != tenant.Test {
		return idempotency.Answer{}, errNoSandbox
	}
	if !slices.Contains(Scenarios(), s) {
		problems.Add("scenario", "must be one of full, partial, over, late")
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	if s == PayLate {
		if err := a.closeWindow(ctx, v.Payment); err != nil {
			return idempotency.Answer{}, err
		}
	}
	return a.Access.Anyone(ctx, reference, k, func(v change.View, now time.Time) (change.Result, error) {
		amount := s.amount(v.Payment.Quote, a.owed(v))
		return a.simulated(v, Deposit{Amount: amount, Given: true, Confirmations: -1}, now)
	})
}

// closeWindow ends a payment's window so that the next deposit is late. It refuses a payment with money, which would
// not expire.
func (a *Sandbox) closeWindow(ctx context.Context, p payment.Payment) error {
	switch {
	case p.Status() == payment.StatusExpired:
		return nil
	case p.Status() != payment.StatusPending || p.Received.IsPositive():
		return errNotPayable
	}
	_, err := a.Access.Anyone(ctx, p.Reference, idempotency.Key{}, a.expired)
	return err
}

var (
	two  = decimal.NewFromInt(2)
	more = decimal.New(12, -1)
)

// owed is the amount that a simulated payer sends: the rest, or the whole due once there is no rest.
func (a *Sandbox) owed(v change.View) decimal.Decimal {
	if left := a.Policy.Tally(v.Payment, v.Rows).Left; left.IsPositive() {
		return left
	}
	return v.Payment.Quote.CryptoAmount
}

// amount is the amount of the scenario, in the digits of its asset.
func (s Scenario) amount(q quote.Quote, owed decimal.Decimal) decimal.Decimal {
	digits := quoteDigits(q)
	switch s {
	case PayPartial:
		return owed.Div(two).RoundUp(digits)
	case PayOver:
		return owed.Mul(more).RoundUp(digits)
	case PayFull, PayLate:
	}
	return owed
}

func quoteDigits(q quote.Quote) int32 {
	if n, ok := money.NetworkOf(q.Network); ok {
		if asset, ok := n.Asset(q.Crypto); ok {
			return asset.QuoteDigits
		}
	}
	return 0
}
