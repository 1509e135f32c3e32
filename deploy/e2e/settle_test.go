//go:build integration

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/receiver"
)

func cancel(t testing.TB, c *api.Client, ref string) {
	t.Helper()
	a := c.Call(t, http.MethodPost, "/v1/payments/"+ref+"/cancel", nil).Want(t, http.StatusOK)
	if a.Text(t, "payment.status") != "cancelled" {
		t.Errorf("cancelled: %s", a.Body)
	}
}

// TestSettleByTheCaller: the token comes with payment.confirmed, works once, and a new one voids the old.
func TestSettleByTheCaller(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]api.Object{
		"bank_confirmation": bankConfirmation(api.Object{"bankRef": "FT-1"}), "merchant without a receiver": merchant(api.Object{"receiver": nil}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := shared(t)
			hook, path := hooks(t, s.WebhookSecret)
			body["callbackUrl"] = hook.URL(path)
			ref := create(t, c, body).Text(t, "payment.reference")
			settlePath := "/v1/payments/" + ref + "/settle"
			refuse(t, c, settlePath, api.Object{"settlementToken": "stl_x"}, http.StatusConflict, "")
			deposit(t, c, ref, nil)
			awaitStatus(t, c, ref, "confirmed")
			awaitCallbacks(t, hook, path, "payment.confirmed")
			all := hook.Accepted(path)
			at := slices.IndexFunc(all, func(d receiver.Delivery) bool { return d.Type == "payment.confirmed" })
			old := api.Parse(t, all[at].Body).Text(t, "data.payment.settlementToken")

			if a := refuse(t, c, settlePath, api.Object{}, http.StatusBadRequest, ""); !slices.Equal(a.FieldErrors(), []string{"settlementToken"}) {
				t.Errorf("no token: %s", a.Body)
			}
			fresh := c.Call(t, http.MethodPost, "/v1/payments/"+ref+"/settlement-token", nil).Want(t, http.StatusOK)
			token := fresh.Text(t, "settlementToken")
			if token == old || !instant.MatchString(fresh.Text(t, "expiresAt")) {
				t.Errorf("new token: %s", fresh.Body)
			}
			if a := refuse(t, c, settlePath, api.Object{"settlementToken": old}, http.StatusBadRequest, ""); a.Text(t, "error.code") != "invalid_settlement_token" {
				t.Errorf("the old token: %s", a.Body)
			}
			settled := c.Call(t, http.MethodPost, settlePath, api.Object{"settlementToken": token, "settlementReference": "TRF-1"}).Want(t, http.StatusOK)
			if settled.Text(t, "payment.status") != "settled" || settled.Null("payment.settledAt") {
				t.Errorf("settled: %s", settled.Body)
			}
			refuse(t, c, settlePath, api.Object{"settlementToken": token}, http.StatusConflict, "Payment has already been settled")
			awaitCallbacks(t, hook, path, "payment.settled")
			all = hook.Accepted(path)
			at = slices.IndexFunc(all, func(d receiver.Delivery) bool { return d.Type == "payment.settled" })
			for where, shown := range map[string]*api.Answer{"payment.": get(t, c, ref), "data.payment.": api.Parse(t, all[at].Body)} {
				if shown.Text(t, where+"settlementReference") != "TRF-1" {
					t.Errorf("read the settled payment: got %s, want the settlementReference TRF-1", shown.Body)
				}
				if bankRef, _ := shown.At(where + "bankRef"); fmt.Sprint(bankRef) != fmt.Sprint(body["bankRef"]) {
					t.Errorf("read the settled payment: got bankRef %v, want %v", bankRef, body["bankRef"])
				}
			}
			clean(t, hook)
		})
	}
}

// TestSettleWithTheTokenOfTheEvent: no other token was asked for.
func TestSettleWithTheTokenOfTheEvent(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	hook, path := hooks(t, s.WebhookSecret)
	ref := create(t, c, bankConfirmation(api.Object{"callbackUrl": hook.URL(path)})).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	awaitCallbacks(t, hook, path, "payment.confirmed")
	all := hook.Accepted(path)
	at := slices.IndexFunc(all, func(d receiver.Delivery) bool { return d.Type == "payment.confirmed" })
	token := api.Parse(t, all[at].Body).Text(t, "data.payment.settlementToken")
	c.Call(t, http.MethodPost, "/v1/payments/"+ref+"/settle", api.Object{"settlementToken": token}).Want(t, http.StatusOK)
	if n := count(t, s, "payments", `SELECT count(*) FROM sim_transfers WHERE ref LIKE lower($1) || '-%'`, ref); n != 0 {
		t.Errorf("we paid %d times ourselves", n)
	}
}

// TestCancel: only while nothing has been seen; a key that may only read cannot.
func TestCancel(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
	key(t, s, c, "test", unique("cancel"), "*").Call(t, http.MethodPost, "/v1/payments/"+ref+"/cancel", nil).Want(t, http.StatusNotFound)
	cancel(t, c, ref)
	refuse(t, c, "/v1/payments/"+ref+"/cancel", nil, http.StatusConflict, "Payment can no longer be cancelled")
	deposit(t, c, ref, nil)
	if late := awaitStatus(t, c, ref, "needs_review"); exception(late) != "paid_late" {
		t.Errorf("money for a cancelled payment: %s", late.Body)
	}
}
