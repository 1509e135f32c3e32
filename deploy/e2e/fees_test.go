//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestFees: an operator publishes fees for one merchant. From then on they price that merchant's payments, and neither
// those of another merchant nor what was priced before.
func TestFees(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	merchant := unique("fees")
	own := key(t, s, c, "test", merchant, "*")
	priced := create(t, own, transfer(nil))
	old := priced.Text(t, "payment.reference")
	request := create(t, own, request(nil)).Text(t, "payment.reference")
	price := func() string {
		return c.With("").Call(t, http.MethodGet, "/v1/checkout/"+request, nil).Want(t, http.StatusOK).Number(t, "payment.options.0.cryptoAmount").FloatString(8)
	}
	before := price()

	const schedules = "/v1/admin/fee-schedules"
	body := api.Object{
		"fiatCurrency": "NGN", "mode": "test", "merchantId": merchant, "note": "contract 17",
		"tiers": []api.Object{{"upTo": 30000, "flat": 123.45}, {"flat": 100, "basisPoints": 50, "minimum": 400, "maximum": 2000}},
	}
	refuse(t, own, schedules, body, http.StatusUnauthorized, "")
	bad := api.Object{"fiatCurrency": "NGN", "mode": "test", "merchantId": merchant, "note": "x", "tiers": []api.Object{{"upTo": 1000, "flat": 101}, {}}}
	refuse(t, operator, schedules, bad, http.StatusBadRequest, "tiers[0]: has a fee of more than a tenth of its largest amount")
	mine := schedules + "?mode=test&fiatCurrency=NGN&merchantId=" + merchant
	if n := operator.Call(t, http.MethodGet, mine, nil).Want(t, http.StatusOK).Len(t, "feeSchedules"); n != 0 {
		t.Errorf("%d schedules after a refusal, want none", n)
	}
	var id string
	for range 2 {
		id = operator.Call(t, http.MethodPost, schedules, body, api.Header("Idempotency-Key", merchant)).Want(t, http.StatusCreated).Text(t, "feeSchedule.id")
	}
	if list := operator.Call(t, http.MethodGet, mine, nil).Want(t, http.StatusOK); list.Len(t, "feeSchedules") != 1 || list.Text(t, "feeSchedules.0.id") != id {
		t.Errorf("the list is %s, want the schedule %s alone", list.Body, id)
	}
	shown := operator.Call(t, http.MethodGet, schedules+"/"+id, nil).Want(t, http.StatusOK)
	if got := shown.Number(t, "feeSchedule.tiers.0.flat").FloatString(2); got != "123.45" || !shown.Null("feeSchedule.tiers.1.upTo") {
		t.Errorf("the schedule is %s, want the tiers that were published", shown.Body)
	}
	operator.Call(t, http.MethodGet, schedules+"/fee_none1", nil).Want(t, http.StatusNotFound)

	api.Eventually(t, soon, "the page of a request to show the price by the new fees", func() bool { return price() != before })
	charged := func(who string, made *api.Answer, c *api.Client, fee, schedule string) {
		t.Helper()
		shown := c.Call(t, http.MethodGet, "/v1/payments/"+made.Text(t, "payment.reference"), nil).Want(t, http.StatusOK)
		if got := shown.Number(t, "payment.charge.fiat").FloatString(2); got != fee || shown.Text(t, "payment.feeScheduleId") != schedule {
			t.Errorf("%s: %s, want a fee of %s by %s", who, shown.Body, fee, schedule)
		}
	}
	charged("the merchant's next payment", create(t, own, transfer(nil)), own, "123.45", id)
	charged("another merchant's payment", create(t, c, transfer(nil)), c, "500.00", "fee_ngn_1")
	charged("the payment that was priced before", priced, own, "500.00", "fee_ngn_1")

	// Twice the amount converts by the fees of the quote too.
	deposit(t, own, old, api.Object{"amount": "31.875"})
	settled := awaitStatus(t, own, old, "settled")
	if got := settled.Number(t, "payment.charge.fiat").FloatString(2); got != "500.00" || settled.Number(t, "payment.payoutAmount").FloatString(2) != "50500.00" {
		t.Errorf("after twice the amount: %s, want a payout of 50500 and a fee of 500", settled.Body)
	}
}
