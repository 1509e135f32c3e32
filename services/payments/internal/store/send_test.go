//go:build integration

package store_test

import (
	"crypto/sha256"
	"sync"
	"testing"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/sandbox"
)

// Simulated deposits that come together are one transaction. Each is sent once for its key, and keeps its own answer.
func TestSendOwned_together(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	first := w.Make(fixture.Command())
	var payments []payment.Payment
	for range 3 {
		payments = append(payments, w.Make(fixture.Command()))
	}
	deposit := func(p payment.Payment, key string) (idempotency.Answer, error) {
		k := idempotency.Key{}
		if key != "" {
			k = keyed(key)
		}
		return w.Sandbox.SimulateDeposit(t.Context(), fixture.Owner, p.Reference, sandbox.Deposit{Confirmations: -1}, &fault.Problems{}, k)
	}
	calls := []struct {
		of  int
		key string
	}{{0, "a"}, {1, "b"}, {2, ""}, {1, "b"}}
	answers := make([]born, len(calls))
	held, waiting, release := w.Store.Sends()
	var callers sync.WaitGroup
	callers.Go(func() {
		if _, err := deposit(first, ""); err != nil {
			t.Errorf("the first deposit: %v, want no error", err)
		}
	})
	<-held
	for i, c := range calls {
		callers.Go(func() { answers[i].Answer, answers[i].err = deposit(payments[c.of], c.key) })
	}
	until(w, func() bool { return waiting() == len(calls) })
	release()
	callers.Wait()
	for i, a := range answers {
		if a.err != nil {
			t.Fatalf("deposit %d of four that came together: %v, want no error", i, a.err)
		}
		if calls[i].key == "" {
			continue
		}
		if again, err := deposit(payments[calls[i].of], calls[i].key); err != nil || !again.Replayed || string(again.Body) != string(a.Body) {
			t.Errorf("deposit %d with its key again = replayed %t, %v, %s; want %s", i, again.Replayed, err, again.Body, a.Body)
		}
	}
	const sent = `SELECT count(*) FROM outbox WHERE name = $1`
	if n := fixture.Ask[int](w, sent, string(wire.SimulateDepositV1)); n != 4 {
		t.Errorf("%d deposits were sent, want 4", n)
	}
	if n := fixture.Ask[int](w, `SELECT max(n) FROM (SELECT count(*) AS n FROM outbox WHERE name = $1 GROUP BY xmin::text) AS t`, string(wire.SimulateDepositV1)); n != 3 {
		t.Errorf("%d deposits were sent in one transaction, want 3", n)
	}
}

// Look-ups of earlier answers that come together have each its own: an answer, none, or that the key had another body.
func TestReplay_together(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	for _, name := range []string{"one", "two"} {
		if err := idempotency.Put(t.Context(), w.Pool, keyed(name), idempotency.Answer{Status: 200, Body: []byte(name)}); err != nil {
			t.Fatal(err)
		}
	}
	other := keyed("two")
	other.Hash = sha256.Sum256([]byte("another body"))
	held, waiting, release := w.Store.Replays()
	var callers sync.WaitGroup
	look := func(name string, k idempotency.Key, body, code string) {
		a, found, err := w.Store.Replay(t.Context(), k)
		switch {
		case code != "":
			if !fault.Is(err, code) || found {
				t.Errorf("replay of %s = %t, %v; want %s", name, found, err, code)
			}
		case err != nil || found != (body != "") || string(a.Body) != body || found && (a.Status != 200 || !a.Replayed):
			t.Errorf("replay of %s = %+v, %t, %v; want %q", name, a, found, err, body)
		}
	}
	callers.Go(func() { look("a first key", keyed("none"), "", "") })
	<-held
	callers.Go(func() { look("a key", keyed("one"), "one", "") })
	callers.Go(func() { look("a new key", keyed("new"), "", "") })
	callers.Go(func() { look("another body", other, "", "idempotency_key_reused") })
	callers.Go(func() { look("another key", keyed("two"), "two", "") })
	callers.Go(func() { look("the same key", keyed("one"), "one", "") })
	until(w, func() bool { return waiting() == 5 })
	release()
	callers.Wait()
	look("no key", idempotency.Key{}, "", "")
}
