//go:build integration

package e2e

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"sort"
	"sync"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/deploy/e2e/internal/contract"
	"causeway.internal/libs/testkit/receiver"
	"causeway.internal/libs/testkit/stack"
)

// Times within which the product must have done something, also on a machine that is overloaded: only a failure is that
// slow.
const (
	soon   = time.Minute     // one step of a payment
	settle = 2 * time.Minute // a whole walk
)

var loadContract = sync.OnceValues(func() (*contract.Contract, error) {
	path, err := contract.Find("gateway/openapi.yaml")
	if err != nil {
		return nil, err
	}
	return contract.Load(path)
})

// client calls a stack with the key that the stack was started with.
func client(t testing.TB, s *stack.Stack) *api.Client {
	t.Helper()
	c, err := loadContract()
	if err != nil {
		t.Fatal(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	t.Cleanup(transport.CloseIdleConnections)
	return &api.Client{Base: s.BaseURL, Key: s.APIKey, HTTP: &http.Client{Transport: c.Transport(transport), Timeout: 30 * time.Second}}
}

// shared is the shared stack with a client of its key.
func shared(t testing.TB) (*stack.Stack, *api.Client) {
	t.Helper()
	s := stack.Shared(t)
	return s, client(t, s)
}

// key makes an API key of a merchant and returns a client that uses it.
func key(t testing.TB, s *stack.Stack, c *api.Client, mode, merchant string, permissions ...string) *api.Client {
	t.Helper()
	if mode == "live" {
		approved(t, c.With(s.AdminToken), merchant)
	}
	made := c.With(s.AdminToken).Call(t, http.MethodPost, "/v1/admin/keys", api.Object{
		"merchantId": merchant, "name": t.Name(), "mode": mode, "permissions": permissions, "tier": "unlimited",
	}).Want(t, http.StatusCreated)
	return c.With(made.Text(t, "key.secret"))
}

// approved makes a merchant, if there is none, and approves it.
func approved(t testing.TB, operator *api.Client, merchant string) {
	t.Helper()
	order := api.Object{"merchantId": merchant, "name": merchant, "country": "NG"}
	operator.Call(t, http.MethodPost, "/v1/admin/merchants", order).Want(t, http.StatusCreated, http.StatusConflict)
	operator.Call(t, http.MethodPost, "/v1/admin/merchants/"+merchant+"/approve", nil).Want(t, http.StatusOK)
}

// unique is a name that no other test has.
func unique(prefix string) string {
	raw := make([]byte, 6)
	_, _ = rand.Read(raw)
	return prefix + "-" + hex.EncodeToString(raw)
}

// transfer is a good body of a transfer payment; changes replace its fields, nil removes one.
func transfer(changes api.Object) api.Object {
	body := api.Object{
		"type": "transfer", "fiatAmount": 25000, "fiatCurrency": "NGN", "crypto": "USDT", "network": "erc20", "chargeFrom": "crypto",
		"payer":    api.Object{"chatId": "payer-1", "phone": "+2348012345678"},
		"receiver": api.Object{"bankCode": "058", "accountNumber": "0123456789"},
	}
	for name, value := range changes {
		if value == nil {
			delete(body, name)
			continue
		}
		body[name] = value
	}
	return body
}

// hooks is a receiver that verifies the stack's signatures, with one path of its own.
func hooks(t testing.TB, secrets ...string) (*receiver.Receiver, string) {
	t.Helper()
	r := receive(t)
	r.Secrets("", secrets...)
	return r, "/" + unique("hook")
}

// receive is a receiver that holds every event against the published document; one that breaks it fails the test.
func receive(t testing.TB) *receiver.Receiver {
	t.Helper()
	c, err := loadContract()
	if err != nil {
		t.Fatal(err)
	}
	var r *receiver.Receiver
	t.Cleanup(func() {
		for _, d := range r.Deliveries() {
			var e *contract.EventError
			if errors.As(d.Problem, &e) {
				t.Errorf("the webhook %s to %s breaks openapi.yaml: %v", d.Type, d.Path, e)
			}
		}
	})
	r = receiver.Start(t)
	r.Check(c.Event)
	return r
}

// create makes a payment and returns the answer.
func create(t testing.TB, c *api.Client, body any) *api.Answer {
	t.Helper()
	return c.Call(t, http.MethodPost, "/v1/payments", body).Want(t, http.StatusCreated)
}

// deposit sends simulated money to a payment; nil pays what is owed.
func deposit(t testing.TB, c *api.Client, reference string, body any) *api.Answer {
	t.Helper()
	if body == nil {
		body = api.Object{}
	}
	return c.Call(t, http.MethodPost, "/v1/sandbox/payments/"+reference+"/deposits", body).Want(t, http.StatusOK)
}

func get(t testing.TB, c *api.Client, reference string) *api.Answer {
	t.Helper()
	return c.Call(t, http.MethodGet, "/v1/payments/"+reference, nil).Want(t, http.StatusOK)
}

// awaitStatus polls until the payment has the status and returns it.
func awaitStatus(t testing.TB, c *api.Client, reference, status string) *api.Answer {
	t.Helper()
	return awaitPayment(t, c, reference, status, func(a *api.Answer) bool { return a.Text(t, "payment.status") == status })
}

func awaitPayment(t testing.TB, c *api.Client, reference, what string, holds func(*api.Answer) bool) *api.Answer {
	t.Helper()
	var last *api.Answer
	defer func() {
		if t.Failed() && last != nil {
			t.Logf("the payment was last seen as %s", last.Body)
		}
	}()
	api.Eventually(t, settle, reference+" to be "+what, func() bool {
		last = get(t, c, reference)
		return holds(last)
	})
	return last
}

// events are the verified callbacks on a path, each once, in order of sequence: order of arrival is not promised, and
// an event whose answer came too late is sent again (docs/api-contract.md#webhooks).
func events(r *receiver.Receiver, path string) []receiver.Delivery {
	all := r.Accepted(path)
	sort.SliceStable(all, func(i, j int) bool { return all[i].Sequence < all[j].Sequence })
	return slices.CompactFunc(all, func(a, b receiver.Delivery) bool { return a.ID == b.ID })
}

// accepted lists the types of events.
func accepted(r *receiver.Receiver, path string) []string {
	var types []string
	for _, d := range events(r, path) {
		types = append(types, d.Type)
	}
	return types
}

// awaitExactly waits until a path accepted these events, in order of sequence, and no other.
func awaitExactly(t testing.TB, r *receiver.Receiver, path string, types ...string) {
	t.Helper()
	r.Await(t, settle, "callbacks", func([]receiver.Delivery) bool { return len(accepted(r, path)) >= len(types) })
	if got := accepted(r, path); !slices.Equal(got, types) {
		t.Errorf("callbacks on %s: %v, want %v", path, got, types)
	}
}

// awaitCallbacks waits until a path accepted the types, whatever else came between them, and the last of them.
func awaitCallbacks(t testing.TB, r *receiver.Receiver, path string, types ...string) {
	t.Helper()
	r.Await(t, settle, "callbacks", func([]receiver.Delivery) bool {
		have := accepted(r, path)
		for _, want := range types {
			if !slices.Contains(have, want) {
				return false
			}
		}
		return true
	})
}

// clean waits for what is still missing between callbacks that came, and fails the test when anything was lost, sent
// under two ids or not verified. Order and no repetition are owed only while nothing is slow; the dispatcher's own
// tests prove them.
func clean(t testing.TB, r *receiver.Receiver) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settle)
	defer cancel()
	_ = r.Wait(ctx, func(all []receiver.Delivery) bool { return len(receiver.Judge(all, nil).Lost) == 0 })
	if a := r.Audit(nil); !a.Clean() {
		t.Errorf("callbacks: %s\nlost %v\ndoubled %v\ninvalid %v", a, a.Lost, a.Doubled, a.Invalid)
	}
}

func sameSet(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s has the fields %v, want %v", what, got, want)
	}
}
