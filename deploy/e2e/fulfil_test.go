//go:build integration

package e2e

import (
	"math/big"
	"net/http"
	"slices"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

var fulfilFields = []string{
	"reference", "status", "depositAddress", "cryptoAmount", "crypto", "network", "fiatAmount", "fiatCurrency", "transactionUsd", "rate",
	"charge", "expiresAt",
}

func fulfilment() api.Object {
	return api.Object{"payer": api.Object{"chatId": "payer-9"}, "crypto": "usdt", "network": "TRC20"}
}

func fulfilPath(ref string) string { return "/v1/payments/requests/" + ref + "/fulfill" }

// TestFulfil: a request is fulfilled without a key, priced now with the fee from crypto, paid and settled.
func TestFulfil(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	nobody := c.With("")
	hook, path := hooks(t, s.WebhookSecret)
	ref := create(t, c, request(api.Object{"callbackUrl": hook.URL(path), "chargeFrom": "fiat", "crypto": "BTC"})).Text(t, "payment.reference")
	a := nobody.Call(t, http.MethodPost, fulfilPath(ref), fulfilment()).Want(t, http.StatusOK)
	sameSet(t, "the answer", a.Keys(t, ""), "success", "message", "payment")
	sameSet(t, "the fulfilled payment", a.Keys(t, "payment"), fulfilFields...)
	if a.Text(t, "message") != "Request fulfilled successfully" || a.Text(t, "payment.status") != "pending" ||
		a.Text(t, "payment.network") != "trc20" || a.Text(t, "payment.crypto") != "USDT" || a.Text(t, "payment.reference") != ref {
		t.Errorf("fulfilled: %s", a.Body)
	}
	gross := new(big.Rat).Add(a.Number(t, "payment.fiatAmount"), a.Number(t, "payment.charge.fiat"))
	if want := api.Ceil(new(big.Rat).Quo(gross, a.Number(t, "payment.rate")), 4); a.Number(t, "payment.cryptoAmount").Cmp(want) != 0 {
		t.Errorf("the fee is not on top: %s, want cryptoAmount %s", a.Body, want.FloatString(4))
	}
	deposit(t, c, ref, nil)
	settled := awaitStatus(t, c, ref, "settled")
	if settled.Number(t, "payment.payoutAmount").Cmp(settled.Number(t, "payment.fiatAmount")) != 0 {
		t.Errorf("the receiver does not get what was asked for: %s", settled.Body)
	}
	awaitExactly(t, hook, path, append([]string{"payment.created"}, walkEvents...)...)
	clean(t, hook)
	paidOnce(t, s, ref)
	refuse(t, nobody, fulfilPath(ref), fulfilment(), http.StatusBadRequest, "Request has already been fulfilled")
}

// refuse makes a call that is answered with this status and text.
func refuse(t testing.TB, c *api.Client, path string, body any, status int, message string) *api.Answer {
	t.Helper()
	a := c.Call(t, http.MethodPost, path, body, bad).Want(t, status)
	if message != "" && a.Text(t, "message") != message {
		t.Errorf("%s answers %q, want %q", path, a.Text(t, "message"), message)
	}
	return a
}

// TestFulfilRefusals: the refusals of docs/api-contract.md#statuses, whatever else is wrong with the body.
func TestFulfilRefusals(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	nobody := c.With("sk_test_not_a_key") // a credential that does not verify is ignored here
	for _, ref := range []string{"CW-AAAAAAAAAAAA", "nonsense", "CW-" + "a"} {
		refuse(t, nobody, fulfilPath(ref), fulfilment(), http.StatusNotFound, "")
	}
	other := create(t, c, transfer(nil)).Text(t, "payment.reference")
	refuse(t, nobody, fulfilPath(other), fulfilment(), http.StatusBadRequest, "Payment is not a request")
	refuse(t, nobody, fulfilPath(other), api.Object{}, http.StatusBadRequest, "Payment is not a request")

	ref := create(t, c, request(nil)).Text(t, "payment.reference")
	for field, body := range map[string]api.Object{
		"payer.chatId": {"crypto": "USDT", "network": "tron"}, "crypto": {"payer": api.Object{"chatId": "1"}, "network": "tron"},
		"network": {"payer": api.Object{"chatId": "1"}, "crypto": "USDT"},
	} {
		if a := refuse(t, nobody, fulfilPath(ref), body, http.StatusBadRequest, ""); !slices.Equal(a.FieldErrors(), []string{field}) {
			t.Errorf("without %s the error names %v", field, a.FieldErrors())
		}
	}
	pair := refuse(t, nobody, fulfilPath(ref), api.Object{"payer": api.Object{"chatId": "1"}, "crypto": "BTC", "network": "tron"}, http.StatusBadRequest, "")
	if pair.Text(t, "error.code") != "unsupported_pair" {
		t.Errorf("unsupported pair: %s", pair.Body)
	}
	if get(t, c, ref).Text(t, "payment.status") != "created" {
		t.Error("a refused fulfilment changed the request")
	}
	expire(t, c, ref)
	refuse(t, nobody, fulfilPath(ref), fulfilment(), http.StatusConflict, "Request has expired")
	ref = create(t, c, request(nil)).Text(t, "payment.reference")
	cancel(t, c, ref)
	refuse(t, nobody, fulfilPath(ref), fulfilment(), http.StatusConflict, "Request has been cancelled")
}

// TestSixteenFulfil: of sixteen fulfilments at once one wins, and its address stays. A loser is refused, or on a busy
// machine does not get the payment's row in time.
func TestSixteenFulfil(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	ref := create(t, c, request(nil)).Text(t, "payment.reference")
	nobody := c.With("")
	address := ""
	networks := []string{"tron", "bsc", "erc20", "polygon"}
	for _, a := range atOnce(t, 16, func(i int) (*api.Answer, error) {
		body := fulfilment()
		body["network"] = networks[i%len(networks)]
		return nobody.Try(t.Context(), http.MethodPost, fulfilPath(ref), body)
	}) {
		if a.Status == http.StatusOK {
			if address != "" {
				t.Error("a second fulfilment won")
			}
			address = a.Text(t, "payment.depositAddress")
			continue
		}
		late := a.Status == http.StatusServiceUnavailable && a.Text(t, "error.code") == "busy"
		if !late && (a.Status != http.StatusBadRequest || a.Text(t, "message") != "Request has already been fulfilled") {
			t.Errorf("a loser hears %d %s", a.Status, a.Body)
		}
	}
	if got := get(t, c, ref).Text(t, "payment.depositAddress"); got != address || got == "" {
		t.Errorf("the winner was answered %s, the payment has %s", address, got)
	}
}

// TestFulfilOnceByKey: one Idempotency-Key on one reference is one answer; the same key on another reference is
// another.
func TestFulfilOnceByKey(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	nobody, idempotent := c.With(""), api.Header("Idempotency-Key", unique("fulfil"))
	one, two := create(t, c, request(nil)).Text(t, "payment.reference"), create(t, c, request(nil)).Text(t, "payment.reference")
	first := nobody.Call(t, http.MethodPost, fulfilPath(one), fulfilment(), idempotent).Want(t, http.StatusOK)
	again := nobody.Call(t, http.MethodPost, fulfilPath(one), fulfilment(), idempotent).Want(t, http.StatusOK)
	if string(again.Body) != string(first.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("replay: %s", again.Body)
	}
	if a := nobody.Call(t, http.MethodPost, fulfilPath(two), fulfilment(), idempotent).Want(t, http.StatusOK); a.Text(t, "payment.reference") != two {
		t.Errorf("another request got the replay: %s", a.Body)
	}
	changed := fulfilment()
	changed["network"] = "bsc"
	nobody.Call(t, http.MethodPost, fulfilPath(one), changed, idempotent).Want(t, http.StatusUnprocessableEntity)
}
