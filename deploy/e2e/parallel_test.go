//go:build integration

package e2e

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestParallelCreates: 300 creates at once are 300 payments with 300 addresses.
func TestParallelCreates(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	const n = 300
	networks := []string{"erc20", "tron", "bsc", "polygon", "arbitrum", "solana"}
	answers := atOnce(t, n, func(i int) (*api.Answer, error) {
		return patient(t, c, transfer(api.Object{"network": networks[i%len(networks)]}))
	})
	addresses, references := map[string]bool{}, map[string]bool{}
	for _, a := range answers {
		a.Want(t, http.StatusCreated)
		addresses[a.Text(t, "payment.depositAddress")] = true
		references[a.Text(t, "payment.reference")] = true
	}
	if len(addresses) != n || len(references) != n {
		t.Errorf("%d creates gave %d addresses and %d references", n, len(addresses), len(references))
	}
}

// atOnce makes n calls that start together.
func atOnce(t testing.TB, n int, call func(int) (*api.Answer, error)) []*api.Answer {
	t.Helper()
	answers, failures := make([]*api.Answer, n), make([]error, n)
	gate := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-gate
			answers[i], failures[i] = call(i)
		})
	}
	close(gate)
	all.Wait()
	for i, err := range failures {
		if err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	return answers
}

// patient makes a payment and asks again where the answer says so: while another request under the same key is still
// running, and on a machine that is too busy for a request.
func patient(t testing.TB, c *api.Client, body any, options ...api.Option) (a *api.Answer, err error) {
	for deadline := time.Now().Add(settle); ; {
		a, err = c.Try(t.Context(), http.MethodPost, "/v1/payments", body, options...)
		if err != nil || (a.Status != http.StatusConflict && a.Status != http.StatusServiceUnavailable) || time.Now().After(deadline) {
			return a, err
		}
	}
}

// TestOneIdempotencyKey: 16 creates with one key are one payment; another body under it is refused.
func TestOneIdempotencyKey(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	merchant := unique("idem")
	mine, other := key(t, s, c, "test", merchant, "*"), key(t, s, c, "test", unique("idem"), "*")
	idempotent := api.Header("Idempotency-Key", unique("key"))
	body := rawTransfer(t, "")
	answers := atOnce(t, 16, func(int) (*api.Answer, error) { return patient(t, mine, body, idempotent) })
	fresh := 0
	for _, a := range answers {
		a.Want(t, http.StatusCreated)
		if !bytes.Equal(a.Body, answers[0].Body) {
			t.Errorf("two answers: %s and %s", a.Body, answers[0].Body)
		}
		switch replayed := a.Header.Get("Idempotent-Replayed"); replayed {
		case "":
			fresh++
		case "true":
		default:
			t.Errorf("Idempotent-Replayed: %q", replayed)
		}
	}
	if fresh != 1 {
		t.Errorf("%d of 16 answers are not replays", fresh)
	}
	if n := countPayments(t, s, merchant); n != 1 {
		t.Errorf("%d payments were written", n)
	}
	refused := mine.Call(t, http.MethodPost, "/v1/payments", body+" ", idempotent).Want(t, http.StatusUnprocessableEntity)
	if refused.Text(t, "error.code") != "idempotency_key_reused" {
		t.Errorf("refused with %s", refused.Body)
	}
	second := key(t, s, c, "test", merchant, "payment:create")
	if a := second.Call(t, http.MethodPost, "/v1/payments", body, idempotent).Want(t, http.StatusCreated); !bytes.Equal(a.Body, answers[0].Body) {
		t.Error("another key of the merchant did not get the replay")
	}
	if a := other.Call(t, http.MethodPost, "/v1/payments", body, idempotent).Want(t, http.StatusCreated); bytes.Equal(a.Body, answers[0].Body) {
		t.Error("another merchant got the replay")
	}
}

// TestRefusalsAreNotStored: a key whose request was refused for its fields can be used again.
func TestRefusalsAreNotStored(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	idempotent := api.Header("Idempotency-Key", unique("key"))
	c.Call(t, http.MethodPost, "/v1/payments", transfer(api.Object{"type": nil}), idempotent, bad).Want(t, http.StatusBadRequest)
	a := c.Call(t, http.MethodPost, "/v1/payments", transfer(nil), idempotent).Want(t, http.StatusCreated)
	if a.Header.Get("Idempotent-Replayed") != "" {
		t.Error("a first answer calls itself a replay")
	}
	c.Call(t, http.MethodPost, "/v1/payments", transfer(nil), api.Header("Idempotency-Key", strings.Repeat("k", 256)), bad).
		Want(t, http.StatusBadRequest)
	longest := unique("key") + strings.Repeat("k", 255-len(unique("key")))
	for _, one := range atOnce(t, 2, func(int) (*api.Answer, error) {
		return patient(t, c, transfer(nil), api.Header("Idempotency-Key", longest))
	}) {
		one.Want(t, http.StatusCreated)
	}
}
