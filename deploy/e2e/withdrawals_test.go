//go:build integration

package e2e

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/receiver"
)

// book adds an address on tron to the address book.
func book(t testing.TB, c *api.Client, address string) string {
	t.Helper()
	made := c.Call(t, http.MethodPost, "/v1/wallets/address-book", api.Object{"network": "trc20", "address": address, "label": "treasury"}).
		Want(t, http.StatusCreated)
	sameSet(t, "an address", made.Keys(t, "address"), "id", "network", "address", "label", "createdAt", "usableAt")
	if made.Text(t, "address.createdAt") != made.Text(t, "address.usableAt") {
		t.Errorf("add an address in test mode: got %s, want one that is usable at once", made.Body)
	}
	return made.Text(t, "address.id")
}

// available is the merchant's balance of USDT on tron.
func available(t testing.TB, c *api.Client) string {
	t.Helper()
	a := c.Call(t, http.MethodGet, "/v1/balances", nil).Want(t, http.StatusOK)
	if a.Len(t, "balances") != 1 {
		t.Fatalf("read the balances: got %s, want one", a.Body)
	}
	return a.Text(t, "balances.0.available")
}

func awaitWithdrawal(t testing.TB, c *api.Client, id string, within time.Duration, states ...string) *api.Answer {
	t.Helper()
	var last *api.Answer
	api.Eventually(t, within, id+" to be one of "+states[0], func() bool {
		last = c.Call(t, http.MethodGet, "/v1/wallets/withdrawals/"+id, nil).Want(t, http.StatusOK)
		return slices.Contains(states, last.Text(t, "withdrawal.status"))
	})
	return last
}

// eventsOf are the types of the events about a withdrawal or an address, in the order of their sequence.
func eventsOf(t testing.TB, r *receiver.Receiver, path, id string) []string {
	t.Helper()
	bySequence := map[string]string{}
	for _, d := range events(r, path) {
		body := api.Parse(t, d.Body)
		for _, object := range []string{"data.withdrawal", "data.address"} {
			if found, ok := body.At(object + ".id"); ok && found == id {
				bySequence[body.Number(t, object+".sequence").RatString()] = body.Text(t, "type")
			}
		}
	}
	var out []string
	for n := 1; bySequence[strconv.Itoa(n)] != ""; n++ {
		out = append(out, bySequence[strconv.Itoa(n)])
	}
	return out
}

// TestWithdrawals: a merchant withdraws money of its wallets to an address of its book. The simulated chain confirms it
// within 30 seconds, the balance pays amount and fee once, and the events come in order. A withdrawal that the balance
// does not cover fails and takes nothing.
func TestWithdrawals(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("drawer"), "*")
	r, path := hooks(t)
	endpoint(t, mine, r, path)
	made := makeWallet(t, mine, api.Object{"network": "trc20", "crypto": "USDT"}).Text(t, "wallet.id")
	payWallet(t, mine, made, api.Object{"amount": "25"})
	awaitWallet(t, mine, made, "confirmed", "25")
	entry := book(t, mine, anotherTron)

	fees := mine.Call(t, http.MethodGet, "/v1/wallets/withdrawals/fees", nil).Want(t, http.StatusOK)
	fee := ""
	for i := range fees.Len(t, "fees") {
		if fees.Text(t, item("fees", i, "network")) == "tron" && fees.Text(t, item("fees", i, "crypto")) == "USDT" {
			fee = fees.Text(t, item("fees", i, "fee"))
		}
	}
	if fee != "5" {
		t.Fatalf("read the fee of USDT on tron: got %q, want 5", fee)
	}
	const withdrawals = "/v1/wallets/withdrawals"
	order := api.Object{"crypto": "usdt", "network": "trc20", "amount": "12.5", "addressId": entry, "fee": fee}
	for change, code := range map[string]string{"fee": "fee_changed", "amount": "amount_below_minimum", "crypto": "validation_failed", "addressId": "address_not_found"} {
		bad := api.Object{"crypto": "usdt", "network": "trc20", "amount": "12.5", "addressId": entry, "fee": fee}
		bad[change] = map[string]string{"fee": "4", "amount": "1", "crypto": "BTC", "addressId": "adr_none"}[change]
		a := mine.Call(t, http.MethodPost, withdrawals, bad).Want(t, http.StatusBadRequest, http.StatusConflict, http.StatusNotFound)
		if a.Text(t, "error.code") != code {
			t.Errorf("withdraw with another %s: got %s, want %s", change, a.Body, code)
		}
	}
	asked := mine.Call(t, http.MethodPost, withdrawals, order, api.Header("Idempotency-Key", path)).Want(t, http.StatusCreated)
	again := mine.Call(t, http.MethodPost, withdrawals, order, api.Header("Idempotency-Key", path)).Want(t, http.StatusCreated)
	id := asked.Text(t, "withdrawal.id")
	if again.Text(t, "withdrawal.id") != id || asked.Text(t, "withdrawal.status") != "approved" || asked.Text(t, "withdrawal.fee") != "5" {
		t.Errorf("withdraw twice under one key: got %s and %s, want the same approved one", asked.Body, again.Body)
	}
	done := awaitWithdrawal(t, mine, id, refundWithin, "confirmed")
	if done.Text(t, "withdrawal.txHash") == "" || done.Text(t, "withdrawal.address") != anotherTron {
		t.Errorf("read the withdrawal: got %s, want its transaction and address", done.Body)
	}
	if got := available(t, mine); got != "7.5" {
		t.Errorf("read the balance after a withdrawal of 12.5 with a fee of 5 from 25: got %s, want 7.5", got)
	}
	poor := mine.Call(t, http.MethodPost, withdrawals, api.Object{"crypto": "USDT", "network": "tron", "amount": num("7.5"), "addressId": entry}).
		Want(t, http.StatusCreated).Text(t, "withdrawal.id")
	if failed := awaitWithdrawal(t, mine, poor, settle, "failed"); failed.Text(t, "withdrawal.failure") != "insufficient_balance" {
		t.Errorf("withdraw more than the balance covers: got %s, want insufficient_balance", failed.Body)
	}
	if got := available(t, mine); got != "7.5" {
		t.Errorf("read the balance after a withdrawal that failed: got %s, want 7.5", got)
	}
	for of, want := range map[string][]string{
		entry: {"wallet.address_added"},
		poor:  {"wallet.withdrawal_requested", "wallet.withdrawal_approved", "wallet.withdrawal_failed"},
		id: {
			"wallet.withdrawal_requested", "wallet.withdrawal_approved", "wallet.withdrawal_signing", "wallet.withdrawal_sent", "wallet.withdrawal_confirmed",
		},
	} {
		var got []string
		api.Eventually(t, settle, "the last event of "+of, func() bool {
			got = eventsOf(t, r, path, of)
			return len(got) >= len(want)
		})
		if !slices.Equal(got, want) {
			t.Errorf("read the events of %s by their sequence: got %q, want %q", of, got, want)
		}
	}
	clean(t, r)
	list := mine.Call(t, http.MethodGet, withdrawals+"?limit=1", nil).Want(t, http.StatusOK)
	rest := mine.Call(t, http.MethodGet, withdrawals+"?limit=1&cursor="+list.Text(t, "pagination.nextCursor"), nil).Want(t, http.StatusOK)
	if list.Text(t, "withdrawals.0.id") != poor || rest.Text(t, "withdrawals.0.id") != id || !rest.Null("pagination.nextCursor") {
		t.Errorf("list the withdrawals: got %s and %s, want %s and %s", list.Body, rest.Body, poor, id)
	}
}

// TestWithdrawals_refused: live mode refuses withdrawals that are not open, and an address waits 24 hours there. A
// withdrawal is cancelled while nothing is signed.
func TestWithdrawals_refused(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	name := unique("drawer")
	mine, live := key(t, s, c, "test", name, "*"), key(t, s, c, "live", name, "*")
	made := live.Call(t, http.MethodPost, "/v1/wallets/address-book", api.Object{"network": "ethereum", "address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}).
		Want(t, http.StatusCreated)
	if held := textTime(t, made, "address.usableAt").Sub(textTime(t, made, "address.createdAt")); held != 24*time.Hour {
		t.Errorf("add an address in live mode: got a hold of %s, want 24 hours", held)
	}
	order := api.Object{"crypto": "USDT", "network": "ethereum", "amount": "50", "addressId": made.Text(t, "address.id")}
	if a := live.Call(t, http.MethodPost, "/v1/wallets/withdrawals", order, bad).Want(t, http.StatusConflict); a.Text(t, "error.code") != "withdrawals_closed" {
		t.Errorf("withdraw in live mode: got %s, want withdrawals_closed", a.Body)
	}
	entry := book(t, mine, payersTron)
	id := mine.Call(t, http.MethodPost, "/v1/wallets/withdrawals", api.Object{"crypto": "USDT", "network": "tron", "amount": "50", "addressId": entry}).
		Want(t, http.StatusCreated).Text(t, "withdrawal.id")
	awaitWithdrawal(t, mine, id, settle, "failed")
	a := mine.Call(t, http.MethodPost, "/v1/wallets/withdrawals/"+id+"/cancel", nil, bad).Want(t, http.StatusConflict)
	if a.Text(t, "error.code") != "withdrawal_not_cancellable" {
		t.Errorf("cancel a failed withdrawal: got %s, want withdrawal_not_cancellable", a.Body)
	}
	operator := c.With(s.AdminToken)
	operator.Call(t, http.MethodGet, "/v1/admin/wallets/withdrawals?limit=5", nil).Want(t, http.StatusOK)
	for _, verb := range []string{"approve", "refuse", "cancel"} {
		operator.Call(t, http.MethodPost, "/v1/admin/wallets/withdrawals/"+id+"/"+verb, api.Object{"reason": "looked at it"}, bad).Want(t, http.StatusConflict)
	}
	mine.Call(t, http.MethodDelete, "/v1/wallets/address-book/"+entry, nil).Want(t, http.StatusOK)
	left := mine.Call(t, http.MethodGet, "/v1/wallets/address-book", nil).Want(t, http.StatusOK)
	if left.Len(t, "addresses") != 0 {
		t.Errorf("list the address book after the removal: got %s, want none", left.Body)
	}
	plain := key(t, s, c, "test", name, "wallet:create", "wallet:read")
	plain.Call(t, http.MethodPost, "/v1/wallets/address-book", api.Object{"network": "tron", "address": payersTron}, bad).Want(t, http.StatusForbidden)
}
