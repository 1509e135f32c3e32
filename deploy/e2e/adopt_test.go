//go:build integration

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
	"causeway.internal/libs/wire"
)

// strayDeposit sends 7 USDT to an address of the stock, which no payment has, and gives the key of the deposit once it
// is in suspense.
func strayDeposit(t testing.TB, s *stack.Stack, operator *api.Client) (key string) {
	t.Helper()
	address := value[string](t, s, "payments", `DELETE FROM address_stock WHERE id = (SELECT id FROM address_stock
		WHERE mode = 'test' AND family = 'tron' AND lease_owner IS NULL ORDER BY id DESC LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING address`)
	sendStray(t, s, address)
	api.Eventually(t, settle, "the money to be in suspense", func() bool {
		page := operator.Call(t, http.MethodGet, "/v1/admin/deposits/unattributed?limit=100", nil).Want(t, http.StatusOK)
		for i := range page.Len(t, "deposits") {
			if booked, _ := page.At(item("deposits", i, "inSuspense")); page.Text(t, item("deposits", i, "address")) == address && booked == true {
				key = page.Text(t, item("deposits", i, "key"))
			}
		}
		return key != ""
	})
	return key
}

// sendStray has the simulated chain of tron send 7 USDT to an address.
func sendStray(t testing.TB, s *stack.Stack, address string) {
	t.Helper()
	value[int](t, s, "payments", `INSERT INTO outbox (name, message_id, headers, body)
		VALUES ($1, $2, '{}', convert_to(json_build_object('requestId', $2::text, 'address', $3::text, 'network', 'tron', 'asset', 'USDT',
			'amount', '7000000', 'confirmations', 100)::text, 'UTF8')) RETURNING 1`,
		string(wire.SimulateDepositV1), unique("msg"), address)
}

// adopt gives a stray deposit a payment.
func adopt(t testing.TB, operator *api.Client, deposit string, status int) *api.Answer {
	t.Helper()
	order := api.Object{"mode": "test", "deposit": deposit, "reason": "the payer wrote"}
	return operator.Call(t, http.MethodPost, "/v1/admin/deposits/adopt", order).Want(t, status)
}

// Money on an address without a payment goes back: an operator gives it a payment and refunds it, and the simulated
// chain confirms. Money that comes to the address afterwards goes back in the same way. No merchant finds the payment
// or hears of it.
func TestAdopt(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	order := api.Object{"mode": "test", "deposit": "tron:none:0", "reason": "the payer wrote"}
	refuse(t, c, "/v1/admin/deposits/adopt", order, http.StatusUnauthorized, "")
	refuse(t, operator, "/v1/admin/deposits/adopt", order, http.StatusNotFound, "")
	refuse(t, operator, "/v1/admin/deposits/adopt", api.Object{"mode": "test"}, http.StatusBadRequest, "")
	deposit := strayDeposit(t, s, operator)
	made := adopt(t, operator, deposit, http.StatusCreated)
	id, address := made.Text(t, "paymentId"), made.Text(t, item("deposits", 0, "address"))
	if again := adopt(t, operator, deposit, http.StatusOK).Text(t, "paymentId"); again != id {
		t.Errorf("adopt %s again: got payment %s, want %s", deposit, again, id)
	}
	if list := operator.Call(t, http.MethodGet, "/v1/admin/payments?type=stray&limit=100", nil).Want(t, http.StatusOK); !strings.Contains(string(list.Body), id) {
		t.Errorf("list the stray payments in review: got %s, want %s among them", list.Body, id)
	}
	for _, path := range []string{"/v1/payments/" + id, "/v1/payments/" + id + "/refunds", "/v1/checkout/" + id, "/pay/" + id} {
		c.Call(t, http.MethodGet, path, nil).Want(t, http.StatusNotFound)
	}
	confirm := "/v1/admin/payments/" + id + "/refund-address/confirm"
	refuse(t, operator, confirm, api.Object{"address": address, "reason": "a mistake"}, http.StatusBadRequest, "")
	shown := operator.Call(t, http.MethodPost, confirm, api.Object{"address": payersTron, "reason": "signed by the sender"}).Want(t, http.StatusOK)
	if shown.Text(t, "payment.type") != "stray" || shown.Text(t, "payment.status") != "needs_review" || !shown.Null("payment.reference") {
		t.Errorf("confirm a refund address of the stray payment: got %s, want type stray in review without a reference", shown.Body)
	}
	for round := range 2 {
		if round > 0 {
			sendStray(t, s, address)
			api.Eventually(t, settle, "the further money to be owed", func() bool {
				return count(t, s, "payments", `SELECT count(*) FROM owed WHERE payment_id = $1 AND amount = 7`, id) == 1
			})
		}
		refund := operator.Call(t, http.MethodPost, "/v1/admin/payments/"+id+"/refunds", api.Object{"reason": "the payer wrote"}).
			Want(t, http.StatusCreated).Text(t, "refund.id")
		api.Eventually(t, refundWithin, "the refund to be confirmed", func() bool {
			return value[string](t, s, "payments", `SELECT state FROM refunds WHERE id = $1 AND payment_id = $2 AND amount = 7`, refund, id) == "confirmed"
		})
		api.Eventually(t, settle, "nothing to be owed any more", func() bool {
			return count(t, s, "payments", `SELECT count(*) FROM owed WHERE payment_id = $1 OR deposit = $2`, id, deposit) == 0
		})
	}
	if got := value[string](t, s, "payments", `SELECT status FROM payments WHERE id = $1`, id); got != "refunded" {
		t.Errorf("read the stray payment after its refunds: got %s, want refunded", got)
	}
	if n := count(t, s, "callback-dispatcher", `SELECT count(*) FROM event WHERE object_id = $1`, id); n != 0 {
		t.Errorf("count the events of the stray payment: got %d, want none", n)
	}
}
