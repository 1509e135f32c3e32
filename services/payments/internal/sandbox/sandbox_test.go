//go:build integration

package sandbox_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSandbox_depositAndExpire(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(2)
	p := w.Make(fixture.Command())
	k := idempotency.Key{Scope: "s", Key: "k"}
	for range 2 { // the key makes the second a replay
		a, err := w.Sandbox.SimulateDeposit(t.Context(), fixture.Owner, p.Reference, sandbox.Deposit{Confirmations: -1}, &fault.Problems{}, k)
		if err != nil || a.Status != 200 || !strings.Contains(string(a.Body), `"amount":31.25,"crypto":"USDT","network":"trc20","confirmations":19`) {
			t.Fatalf("SimulateDeposit() = %d %s, %v; want 31.25 USDT on trc20 with 19 confirmations", a.Status, a.Body, err)
		}
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM outbox WHERE name = $1`, string(wire.SimulateDepositV1)); n != 1 {
		t.Errorf("%d commands for one key", n)
	}
	live := tenant.Owner{MerchantID: "m1", Mode: tenant.Live}
	if _, err := w.Sandbox.SimulateDeposit(t.Context(), live, p.Reference, sandbox.Deposit{}, &fault.Problems{}, idempotency.Key{}); err == nil {
		t.Error("a live key reached the sandbox")
	}
	gone := w.Make(fixture.Command())
	if _, err := w.Sandbox.ExpireNow(t.Context(), fixture.Owner, gone.Reference, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	w.Want(gone, "expired")
	if _, err := w.Sandbox.ExpireNow(t.Context(), fixture.Owner, gone.Reference, idempotency.Key{}); err == nil {
		t.Error("expired twice")
	}
	again := idempotency.Key{Scope: "s", Key: "again"} // a refusal by the state is stored under the key
	for _, replayed := range []bool{false, true} {
		a, err := w.Sandbox.ExpireNow(t.Context(), fixture.Owner, gone.Reference, again)
		if err != nil || a.Status != 409 || a.Replayed != replayed || string(a.Body) != "not_expirable" {
			t.Errorf("ExpireNow() = %+v, %v; want 409 not_expirable, replayed: %t", a, err, replayed)
		}
	}
}

// A key sends one transfer, however many requests have it at the same time, and keeps a refusal by the payment's state.
func TestSandbox_depositOncePerKey(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(2)
	p := w.Make(fixture.Command())
	deposit := func(key string) (idempotency.Answer, error) {
		return w.Sandbox.SimulateDeposit(t.Context(), fixture.Owner, p.Reference, sandbox.Deposit{Confirmations: -1}, &fault.Problems{}, idempotency.Key{Scope: "s", Key: key})
	}
	bodies := make([]string, 8)
	var callers sync.WaitGroup
	for i := range bodies {
		callers.Go(func() {
			a, err := deposit("once")
			for fault.Is(err, "idempotency_in_progress") {
				a, err = deposit("once")
			}
			if err != nil {
				t.Errorf("SimulateDeposit() beside others with its key: %v, want no error", err)
			}
			bodies[i] = string(a.Body)
		})
	}
	callers.Wait()
	if n := len(slices.Compact(bodies)); n != 1 {
		t.Errorf("%d answers for one key, want 1", n)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM outbox WHERE name = $1`, string(wire.SimulateDepositV1)); n != 1 {
		t.Errorf("%d transfers for one key, want 1", n)
	}
	w.See(p, fixture.Coin{Key: "t", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Pay(p)
	for _, replayed := range []bool{false, true} {
		a, err := deposit("late")
		if err != nil || a.Status != 409 || a.Replayed != replayed || string(a.Body) != "not_payable" {
			t.Errorf("SimulateDeposit() to a settled payment = %+v, %v; want 409 not_payable, replayed: %t", a, err, replayed)
		}
	}
}

// The sandbox's "enough" confirmations suffice for the whole payment, not only for the simulated transfer.
func TestSandbox_enoughForTheWholePayment(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	depths, err := payment.ParseDepths("tron=<20:19,77")
	if err != nil {
		t.Fatal(err)
	}
	w.With(func(d *fixture.Deps) { d.Policy.Depths = depths })
	w.Fill(1)
	p := w.Make(fixture.Command()) // worth 31 dollars
	a, err := w.Sandbox.SimulateDeposit(t.Context(), fixture.Owner, p.Reference, sandbox.Deposit{Given: true, Amount: *fixture.Number("5"), Confirmations: -1}, &fault.Problems{}, idempotency.Key{})
	if err != nil || !strings.Contains(string(a.Body), `"confirmations":77`) {
		t.Errorf("SimulateDeposit() = %s, %v; want 77 confirmations", a.Body, err)
	}
}
