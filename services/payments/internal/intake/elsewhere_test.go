//go:build integration

package intake_test

import (
	"fmt"
	"sync"
	"testing"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/fixture"
)

// A key is used here or given to another shard, and never both: creates of a gateway that does not know of a merchant's
// move race with the questions of one that does.
func TestElsewhere_oneKeyOneShard(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(64)
	o := tenant.Owner{MerchantID: "m1", Mode: tenant.Test}
	for round := range 20 {
		k := idempotency.Key{Scope: idempotency.Scope("m1", "test", "POST /v1/payments"), Key: fmt.Sprint("k", round), Hash: [32]byte{1}}
		before := fixture.Ask[int](w, `SELECT count(*) FROM payments`)
		var mu sync.Mutex
		var all sync.WaitGroup
		answers := map[string]int{}
		for i := range 6 {
			all.Go(func() {
				who, ask := "create", func() (idempotency.Answer, error) { return w.Create(fixture.Command(), k) }
				if (i+round)%2 == 0 {
					who, ask = "elsewhere", func() (idempotency.Answer, error) { return w.Intake.Elsewhere(t.Context(), o, "", k) }
				}
				a, err := ask()
				if err != nil {
					t.Errorf("%s under one key: got %v, want an answer", who, err)
				}
				mu.Lock()
				defer mu.Unlock()
				answers[fmt.Sprint(who, " ", a.Status)]++
			})
		}
		all.Wait()
		made := fixture.Ask[int](w, `SELECT count(*) FROM payments`) - before
		here := made == 1 && answers["create 201"] == 3 && answers["elsewhere 201"] == 3
		there := made == 0 && answers["create 503"] == 3 && answers["elsewhere 204"] == 3
		if !here && !there {
			t.Errorf("use a key here and give it away at once: got %d payments and the answers %v, want all of one shard", made, answers)
		}
	}
}

// A merchant's reference that a payment here has is refused to the other shard; one that is given away is taken here
// no more.
func TestElsewhere_merchantReference(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	o := tenant.Owner{MerchantID: "m1", Mode: tenant.Test}
	elsewhere := func(reference, key string) error {
		k := idempotency.Key{Scope: idempotency.Scope("m1", "test", "POST /v1/payments"), Key: key}
		if key == "" {
			k = idempotency.Key{}
		}
		a, err := w.Intake.Elsewhere(t.Context(), o, reference, k)
		if err == nil && a.Status != 204 {
			t.Errorf("give %s away: got %d, want 204", reference, a.Status)
		}
		return err
	}
	create := func(reference string) error {
		c := fixture.Command()
		c.Shop.MerchantReference = reference
		_, err := w.Create(c, idempotency.Key{})
		return err
	}
	if err := create("here"); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "k1"} {
		if err := elsewhere("here", key); !fault.Is(err, "merchant_reference_used") {
			t.Errorf("give away the reference of a payment: got %v, want merchant_reference_used", err)
		}
	}
	for _, key := range []string{"", "k2", "k2", "k3"} {
		if err := elsewhere("there", key); err != nil {
			t.Errorf("give a free reference away: %v", err)
		}
	}
	if err := create("there"); !fault.Is(err, "merchant_reference_used") {
		t.Errorf("create a payment with a reference that was given away: got %v, want merchant_reference_used", err)
	}
	w.SQL(`UPDATE payments SET status = 'expired' WHERE merchant_reference = 'here'`)
	if err := elsewhere("here", "k4"); err != nil {
		t.Errorf("give away the reference of an expired payment: %v", err)
	}
	w.SQL(`UPDATE payments SET status = 'confirmed' WHERE merchant_reference = 'here'`)
	if err := elsewhere("here", "k5"); !fault.Is(err, "merchant_reference_used") {
		t.Errorf("give away again the reference of a payment that came back: got %v, want merchant_reference_used", err)
	}
}
