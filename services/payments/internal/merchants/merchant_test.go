//go:build integration

package merchants_test

import (
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The caller pays out itself. The token of payment.confirmed settles once, and a new token voids the old one.
func TestSettle_byTheCaller(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(3)
	p := w.Make(fixture.OwnSettled())
	if err := w.Settle(p.Reference, "stl_x"); fault.As(err).Kind != fault.Conflict {
		t.Errorf("before it is confirmed: %v", err)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Want(p, "confirmed")
	first := w.Token()
	if err := w.Settle(p.Reference, "stl_wrong"); fault.As(err).Code != "invalid_settlement_token" {
		t.Errorf("a wrong token: %v", err)
	}
	key := idempotency.Key{Scope: "token", Key: "k"}
	a, err := w.Merchants.IssueToken(t.Context(), fixture.Owner, p.Reference, key)
	if err != nil {
		t.Fatal(err)
	}
	var issued struct{ SettlementToken, ExpiresAt string }
	if err := json.Unmarshal(a.Body, &issued); err != nil || issued.SettlementToken == "" || issued.SettlementToken == first {
		t.Fatalf("IssueToken() = %s, %v; want a token other than the first", a.Body, err)
	}
	if again, err := w.Merchants.IssueToken(t.Context(), fixture.Owner, p.Reference, key); err != nil || !again.Replayed || string(again.Body) != string(a.Body) {
		t.Errorf("replay %s %v", again.Body, err)
	}
	w.SQL(`UPDATE idempotency SET secret = NULL`)
	if late, err := w.Merchants.IssueToken(t.Context(), fixture.Owner, p.Reference, key); err != nil || strings.Contains(string(late.Body), "stl_") {
		t.Errorf("a late replay shows the token: %s %v", late.Body, err)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM idempotency WHERE encode(body, 'escape') LIKE '%stl_%'`); n != 0 {
		t.Error("a token is stored in the clear")
	}
	if err := w.Settle(p.Reference, first); err == nil {
		t.Error("the old token is not void")
	}
	if err := w.Settle(p.Reference, issued.SettlementToken); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "settled")
	if err := w.Settle(p.Reference, issued.SettlementToken); fault.As(err).Code != "already_settled" {
		t.Errorf("a second time: %v", err)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payouts`); n != 0 {
		t.Errorf("%d payouts", n)
	}
	w.Balanced()

	c := fixture.OwnSettled()
	c.Type, c.BankRef = "merchant", ""
	p = w.Make(c)
	w.See(p, fixture.Coin{Key: "t2", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	if err := w.Settle(p.Reference, w.Token()); err != nil {
		t.Errorf("merchant without a receiver: %v", err)
	}
	p = w.Make(fixture.OwnSettled())
	w.See(p, fixture.Coin{Key: "t3", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	old := w.Token()
	w.SQL(`UPDATE payments SET token_expires_at = now() - interval '1 second' WHERE id = $1`, p.ID)
	if err := w.Settle(p.Reference, old); fault.As(err).Code != "invalid_settlement_token" {
		t.Errorf("a token of yesterday: %v", err)
	}
}

// A merchant cancels a payment without transfers. Money that arrives later goes to review.
func TestCancel(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(3)
	cancel := func(p payment.Payment, o tenant.Owner) error {
		_, err := w.Merchants.Cancel(t.Context(), o, p.Reference, idempotency.Key{})
		return err
	}
	p := w.Make(fixture.Command())
	if err := cancel(p, tenant.Owner{MerchantID: "m2", Mode: tenant.Test}); fault.As(err).Kind != fault.NotFound {
		t.Errorf("another merchant: %v", err)
	}
	if err := cancel(p, fixture.Owner); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "cancelled")
	if err := cancel(p, fixture.Owner); fault.As(err).Kind != fault.Conflict {
		t.Errorf("twice: %v", err)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Want(p, "needs_review paid_late")
	p = w.Make(fixture.Command())
	w.See(p, fixture.Coin{Key: "t2", Amount: "1", Version: 1})
	if err := cancel(p, fixture.Owner); fault.As(err).Message != "Payment can no longer be cancelled" {
		t.Errorf("after money: %v", err)
	}
	p = w.Make(fixture.Request())
	if err := cancel(p, fixture.Owner); err != nil {
		t.Error(err)
	}
	w.Want(p, "cancelled")
}
