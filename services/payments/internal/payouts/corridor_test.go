package payouts

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/rail/self"
)

// till is a rail that has a balance only.
type till struct {
	self.Rail
	left  decimal.Decimal
	err   error
	asked int
}

func (*till) Name() string { return "till" }

func (t *till) Balance(context.Context, money.Currency) (decimal.Decimal, error) {
	t.asked++
	return t.left, t.err
}

func TestCorridors(t *testing.T) {
	now := time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)
	open := map[string]bool{}
	c := newCorridors(func() time.Time { return now }, Metrics{Breaker: func(rail string, cur money.Currency, o bool) { open[rail+" "+string(cur)] = o }})
	bank := &till{left: decimal.NewFromInt(1000)}
	order := func(cur money.Currency, amount int64) payout.Payout {
		return payout.Payout{Currency: cur, Amount: decimal.NewFromInt(amount)}
	}
	pass := func(cur money.Currency, amount int64) (payout.Observation, bool) {
		return c.pass(t.Context(), bank, order(cur, amount))
	}

	if _, ok := pass(money.NGN, 600); !ok {
		t.Fatal("600 of 1000 do not pass")
	}
	c.sent(bank, order(money.NGN, 600), payout.Accepted)
	if held, ok := pass(money.NGN, 600); ok || held.Seen != payout.NotNow || held.Alert != alert.FloatShort {
		t.Fatalf("600 of 400 pass: %+v", held)
	}
	if held, ok := pass(money.NGN, 600); ok || held.Alert != 0 {
		t.Fatalf("two alerts within a minute: %+v", held)
	}
	if _, ok := pass(money.NGN, 400); !ok || bank.asked != 1 {
		t.Fatalf("400 of 400 do not pass, or the balance was read %d times", bank.asked)
	}
	now = now.Add(floatKeep)
	if _, ok := pass(money.NGN, 600); !ok || bank.asked != 2 {
		t.Fatal("a new balance is not read")
	}

	for range breakAfter {
		c.sent(bank, order(money.NGN, 1), payout.Unsure)
	}
	if _, ok := pass(money.NGN, 1); ok || !open["till NGN"] {
		t.Fatal("the breaker is closed after so many doubts")
	}
	if _, ok := pass(money.KES, 1); !ok {
		t.Fatal("the breaker of one currency holds another")
	}
	now = now.Add(breakFor)
	if _, ok := pass(money.NGN, 1); !ok {
		t.Fatal("nobody may try")
	}
	if _, ok := pass(money.NGN, 1); ok {
		t.Fatal("two try at once")
	}
	c.sent(bank, order(money.NGN, 1), payout.Unsure)
	if _, ok := pass(money.NGN, 1); ok {
		t.Fatal("a failed try closes the breaker")
	}
	now = now.Add(breakFor)
	if _, ok := pass(money.NGN, 1); !ok {
		t.Fatal("nobody may try again")
	}
	c.sent(bank, order(money.NGN, 1), payout.Refused) // an answer, if no good one
	if _, ok := pass(money.NGN, 1); !ok || open["till NGN"] {
		t.Fatal("the breaker stays open after a clear answer")
	}

	bank.err = errors.New("away")
	now = now.Add(floatKeep)
	for range breakAfter {
		if _, ok := pass(money.NGN, 1); ok {
			t.Fatal("passes without a balance")
		}
	}
	asked := bank.asked
	if _, ok := pass(money.NGN, 1); ok || bank.asked != asked {
		t.Fatal("a rail that does not answer is asked again")
	}
}
