//go:build integration

package intake_test

import (
	"sync"
	"testing"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
)

// One reference of a merchant names one payment that has not ended without money, whatever comes at once.
func TestCreate_oneReferenceOnePayment(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(64)
	named := func(change func(*payment.Command)) payment.Command {
		c := fixture.Command()
		c.Shop.MerchantReference = "order-17"
		if change != nil {
			change(&c)
		}
		return c
	}
	said := counted{said: map[string]int{}}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			_, err := w.Create(named(nil), idempotency.Key{})
			said.add(err)
		})
	}
	all.Wait()
	if said.said["ok"] != 1 || len(said.said) != 2 {
		t.Fatalf("16 parallel creates of one order = %v, want 1 payment and 15 refusals of one kind", said.said)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments`); n != 1 {
		t.Fatalf("%d payments, want 1", n)
	}
	taken := func() {
		t.Helper()
		if _, err := w.Create(named(nil), idempotency.Key{}); !fault.Is(err, "merchant_reference_used") || fault.As(err).Kind != fault.Conflict {
			t.Errorf("create the order again: got %v, want a conflict merchant_reference_used", err)
		}
	}
	w.Make(named(func(c *payment.Command) { c.Shop.MerchantReference = "order-18" }))
	w.Make(fixture.Command())
	w.Make(fixture.Command()) // payments without a reference are as many as they want
	for _, ended := range []string{"expired", "cancelled", "refunded"} {
		taken()
		w.SQL(`UPDATE payments SET status = $1 WHERE merchant_reference = 'order-17'`, ended)
		p := w.Make(named(nil))
		if p.Shop.MerchantReference != "order-17" {
			t.Fatalf("create after the %s one: got the reference %q", ended, p.Shop.MerchantReference)
		}
	}
	taken()
	// Late money brings the first one back after the last has ended: it has the reference again.
	w.SQL(`UPDATE payments SET status = 'expired' WHERE merchant_reference = 'order-17'`)
	w.SQL(`UPDATE payments SET status = 'settled' WHERE id = (SELECT min(id) FROM payments WHERE merchant_reference = 'order-17')`)
	taken()
	for _, f := range []views.Filter{
		{Owner: fixture.Owner, Merchant: "order-17", Limit: 9},
		{Owner: fixture.Owner, Operated: true, Merchant: "order-17", Limit: 9},
	} {
		found, err := w.Store.List(t.Context(), f)
		if err != nil || len(found) != 4 {
			t.Errorf("list the payments of the order: got %d, %v; want 4", len(found), err)
		}
	}
	other := fixture.Owner
	other.MerchantID = "somebody"
	if found, err := w.Store.List(t.Context(), views.Filter{Owner: other, Merchant: "order-17", Limit: 9}); err != nil || len(found) != 0 {
		t.Errorf("another merchant lists the order: got %d, %v; want nothing", len(found), err)
	}
	w.Balanced()
}

// A create under the key of an earlier one is answered with that one, not with a conflict of their reference.
func TestCreate_referenceReplayed(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	c := fixture.Command()
	c.Shop = payment.Shop{MerchantReference: "o-1", Description: "Tea", Locale: "sw", ReturnURL: "https://shop.example/"}
	k := idempotency.Key{Scope: idempotency.Scope("m1", "test", "POST /v1/payments"), Key: "k1", Hash: [32]byte{1}}
	first, err := w.Create(c, k)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.Create(c, k); err != nil || !again.Replayed || string(again.Body) != string(first.Body) {
		t.Errorf("create again: got %s, %v; want the first answer", again.Body, err)
	}
	if p := w.Find(fixture.Reference(t, first.Body)).Payment; p.Shop != c.Shop {
		t.Errorf("read the payment: got %+v, want %+v", p.Shop, c.Shop)
	}
}
