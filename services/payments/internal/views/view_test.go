//go:build integration

package views_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/fixture"
)

// GET and the events show the frozen charge.
func TestChargeThatWasTakenIsShown(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	c := fixture.Command()
	c.FiatAmount = fixture.Number("50000000")
	p := w.Make(c)
	if shown := w.Shown(w.Find(p.Reference)); !strings.Contains(shown, `"charge":{"fiat":37500,"crypto":23.4375,"usd":23.44}`) {
		t.Errorf("quoted %s", shown)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "62.5", Version: 1, Depth: fixture.Enough})
	if _, err := w.Sandbox.ExpireNow(t.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "confirmed underpaid")
	const taken = `"charge":{"fiat":500,"crypto":0.3125,"usd":0.31}`
	if shown := w.Shown(w.Find(p.Reference)); !strings.Contains(shown, taken) || !strings.Contains(shown, `"payoutAmount":99500`) {
		t.Errorf("taken %s", shown)
	}
	var told wire.StatusChanged
	if err := json.Unmarshal(fixture.Ask[[]byte](w, `SELECT body FROM outbox WHERE name = $1 ORDER BY id DESC LIMIT 1`, string(wire.PaymentStatusChangedV1)), &told); err != nil {
		t.Fatal(err)
	}
	if told.Type != "payment.confirmed" || !strings.Contains(string(told.Body), taken) {
		t.Errorf("the event %s shows %s", told.Type, told.Body)
	}
}

func TestFind_anotherOwnerSeesNothing(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(1)
	p := w.Make(fixture.Command())
	for _, o := range []tenant.Owner{{MerchantID: "m2", Mode: tenant.Test}, {MerchantID: "m1", Mode: tenant.Live}} {
		if _, err := w.Reader.Show(t.Context(), o, p.Reference); !errors.Is(err, change.ErrNotFound) {
			t.Errorf("Show() to %+v = %v, want %v", o, err, change.ErrNotFound)
		}
	}
	if _, err := w.Reader.Show(t.Context(), fixture.Owner, "CW-nonsense"); !errors.Is(err, change.ErrNotFound) {
		t.Errorf("malformed: %v", err)
	}
}
