//go:build integration

package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// TestOperatorDecides: a failed payout is listed, retried to another account and settled; a cancelled payment that was
// paid is refunded once an address is known.
func TestOperatorDecides(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	body := transfer(api.Object{"receiver": api.Object{"bankCode": "058", "accountNumber": "0000000003"}})
	ref := create(t, c, body).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "needs_review")
	resolve := "/v1/admin/payments/" + ref + "/resolve"
	if !inReview(t, operator, ref) {
		t.Error("the payment is not in the operators' list")
	}
	c.Call(t, http.MethodGet, "/v1/admin/payments", nil).Want(t, http.StatusUnauthorized)
	refuse(t, c, resolve, api.Object{"action": "accept"}, http.StatusUnauthorized, "")
	refuse(t, operator, resolve, api.Object{"action": "burn"}, http.StatusBadRequest, "")
	refuse(t, operator, resolve, api.Object{"action": "accept"}, http.StatusConflict, "")
	refuse(t, operator, "/v1/admin/payments/CW-AAAAAAAAAAAA/resolve", api.Object{"action": "accept"}, http.StatusNotFound, "")
	again := api.Object{"action": "retry_payout", "receiver": api.Object{"bankCode": "044", "accountNumber": "1111111111"}, "reason": "account closed"}
	operator.Call(t, http.MethodPost, resolve, again).Want(t, http.StatusOK)
	settled := awaitStatus(t, c, ref, "settled")
	if settled.Text(t, "payment.receiver.accountNumber") != "******1111" {
		t.Errorf("settled: %s", settled.Body)
	}

	other := create(t, c, transfer(api.Object{"network": "tron"}))
	made := create(t, c, transfer(api.Object{"network": "tron"}))
	ref = made.Text(t, "payment.reference")
	cancel(t, c, ref)
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "needs_review")
	resolve = "/v1/admin/payments/" + ref + "/resolve"
	refund := api.Object{"action": "mark_refunded", "txHash": strings.Repeat("f0", 32), "reason": "paid after it was cancelled"}
	for _, hash := range []string{"f00d", "0x" + strings.Repeat("f0", 32)} { // the payment is of tron
		refuse(t, operator, resolve, api.Object{"action": "mark_refunded", "txHash": hash, "reason": "none of tron"}, http.StatusBadRequest, "")
	}
	refuse(t, operator, resolve, refund, http.StatusConflict, "The payer's refund address has to be given first")
	refuse(t, c, "/v1/payments/"+ref+"/refund-address", api.Object{"address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}, http.StatusBadRequest, "")
	for _, ours := range []string{made.Text(t, "payment.depositAddress"), other.Text(t, "payment.depositAddress")} {
		refuse(t, c, "/v1/payments/"+ref+"/refund-address", api.Object{"address": ours}, http.StatusBadRequest, "")
	}
	standalone := makeWallet(t, c, api.Object{"network": "tron", "crypto": "USDT"}).Text(t, "wallet.address")
	api.Eventually(t, settle, "wallets to tell payments of a wallet's address", func() bool {
		body := api.Object{"address": standalone}
		return c.Call(t, http.MethodPost, "/v1/payments/"+ref+"/refund-address", body).Want(t, http.StatusOK, http.StatusBadRequest).Status == http.StatusBadRequest
	})
	// An address of this test alone: while the transaction is looked up, other refunds to it are refused.
	payers := api.Object{"address": "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"}
	c.Call(t, http.MethodPost, "/v1/payments/"+ref+"/refund-address", payers).Want(t, http.StatusOK)
	// the deposit has to be deep before it can be given back; until then it is not booked
	api.Eventually(t, settle, "the refund", func() bool {
		return operator.Call(t, http.MethodPost, resolve, refund).Want(t, http.StatusOK, http.StatusConflict).Status == http.StatusOK
	})
	awaitStatus(t, c, ref, "refunded")
}

func inReview(t testing.TB, operator *api.Client, ref string) bool {
	t.Helper()
	cursor := ""
	for range 50 {
		page := operator.Call(t, http.MethodGet, "/v1/admin/payments?status=needs_review&limit=100"+cursor, nil).Want(t, http.StatusOK)
		for i := range page.Len(t, "payments") {
			if page.Text(t, item("payments", i, "reference")) == ref {
				return true
			}
		}
		if page.Null("pagination.nextCursor") {
			return false
		}
		cursor = "&cursor=" + page.Text(t, "pagination.nextCursor")
	}
	return false
}

// TestOverLimitAndAccept: a small quote is paid far beyond the currency's maximum. It waits, an operator sees what
// accepting pays, and it pays that and no more.
func TestOverLimitAndAccept(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	hook, path := hooks(t, s.WebhookSecret)
	ref := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path), "chargeFrom": "fiat", "fiatAmount": 5000})).Text(t, "payment.reference")
	deposit(t, c, ref, api.Object{"amount": 50_000_000})
	held := awaitStatus(t, c, ref, "needs_review")
	if exception(held) != "over_limit" {
		t.Fatalf("held: %s", held.Body)
	}
	resolve := "/v1/admin/payments/" + ref + "/resolve"
	differs := operator.Call(t, http.MethodPost, resolve, api.Object{"action": "accept", "payoutAmount": 72_000_000_000})
	differs.Want(t, http.StatusConflict)
	if differs.Text(t, "error.code") != "payout_amount_differs" || differs.Text(t, "message") != "Accepting would pay 4500.00 NGN now" {
		t.Errorf("another amount: %s", differs.Body)
	}
	refuse(t, operator, resolve, api.Object{"action": "mark_refunded", "txHash": strings.Repeat("f0", 32), "payoutAmount": 4500}, http.StatusBadRequest, "")
	accepted := operator.Call(t, http.MethodPost, resolve, api.Object{"action": "accept", "payoutAmount": 4500})
	accepted.Want(t, http.StatusOK)
	settled := awaitStatus(t, c, ref, "settled")
	if settled.Number(t, "payment.payout.amount").Cmp(api.Rat("4500")) != 0 || exception(settled) != "overpaid" {
		t.Errorf("settled: %s", settled.Body)
	}
	awaitCallbacks(t, hook, path, "payment.overpaid", "payment.needs_review", "payment.settled")
	clean(t, hook)
}

// TestProduction: with the settings of production one operator alone decides and concludes nothing that needs two, and
// the public sees reports of live mode alone.
func TestProduction(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Env: map[string]map[string]string{
		"payments": {"SECOND_OPERATOR_ABOVE": "NGN=1000"}, "gateway": {"SECOND_OPERATOR": "true"},
		"reports": {"REPORTS_PUBLIC_MODES": "live", "LIMITS_SKIP_LOOPBACK": "false", "FLOOD_PER_HOUR": "3"},
	}})
	for name, test := range map[string]func(*testing.T, *stack.Stack){
		"two decide": twoDecide, "two conclude a payout": twoConclude, "the public sees live reports": publicReports,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// twoDecide: one operator redirects no money, accepts no payment above the amount, makes no live key, changes no limit
// of one, frees no accused address and publishes no live fees. Two do, and only with the same words.
func twoDecide(t *testing.T, s *stack.Stack) {
	c := client(t, s)
	first, second := c.With(s.AdminToken), c.With(s.SecondToken)
	const again = "You have asked for this already. Another operator has to confirm it."

	ref := create(t, c, transfer(api.Object{"receiver": api.Object{"bankCode": "058", "accountNumber": "0000000003"}})).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "needs_review")
	resolve := "/v1/admin/payments/" + ref + "/resolve"
	mine := api.Object{"action": "retry_payout", "receiver": api.Object{"bankCode": "044", "accountNumber": "1111111111"}, "reason": "closed"}
	other := api.Object{"action": "retry_payout", "receiver": api.Object{"bankCode": "044", "accountNumber": "2222222222"}, "reason": "closed"}
	if a := first.Call(t, http.MethodPost, resolve, mine).Want(t, http.StatusOK); a.Text(t, "approval.requestedBy") != "local" {
		t.Errorf("redirected by one: %s", a.Body)
	}
	refuse(t, first, resolve, mine, http.StatusConflict, again)
	if a := second.Call(t, http.MethodPost, resolve, other).Want(t, http.StatusOK); a.Text(t, "approval.requestedBy") != "second" {
		t.Errorf("redirected with other words: %s", a.Body)
	}
	if a := c.Call(t, http.MethodGet, "/v1/payments/"+ref, nil).Want(t, http.StatusOK); a.Text(t, "payment.status") != "needs_review" {
		t.Errorf("moved by one operator: %s", a.Body)
	}
	if _, waits := first.Call(t, http.MethodPost, resolve, other).Want(t, http.StatusOK).At("approval"); waits {
		t.Error("two operators were not enough")
	}
	if a := awaitStatus(t, c, ref, "settled"); a.Text(t, "payment.receiver.accountNumber") != "******2222" {
		t.Errorf("settled: %s", a.Body)
	}

	ref = create(t, c, transfer(nil)).Text(t, "payment.reference")
	cancel(t, c, ref)
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "needs_review")
	resolve, accept := "/v1/admin/payments/"+ref+"/resolve", api.Object{"action": "accept", "reason": "the payer calls"}
	api.Eventually(t, settle, "money that can be accepted", func() bool {
		a := first.Call(t, http.MethodPost, resolve, accept).Want(t, http.StatusOK, http.StatusConflict)
		if a.Status == http.StatusOK && a.Text(t, "approval.action") != "accept" {
			t.Errorf("accepted by one: %s", a.Body)
		}
		return a.Status == http.StatusOK
	})
	refuse(t, first, resolve, accept, http.StatusConflict, again)
	second.Call(t, http.MethodPost, resolve, accept).Want(t, http.StatusOK)
	awaitStatus(t, c, ref, "settled")

	live := api.Object{"merchantId": unique("m"), "name": "till", "mode": "live", "permissions": []string{"*"}}
	refusedAs(t, first, "/v1/admin/keys", live, http.StatusConflict, "merchant_unknown")
	merchant := api.Object{"merchantId": live["merchantId"], "name": "Till", "country": "NG"}
	first.Call(t, http.MethodPost, "/v1/admin/merchants", merchant).Want(t, http.StatusCreated)
	approve := "/v1/admin/merchants/" + live["merchantId"].(string) + "/approve"
	first.Call(t, http.MethodPost, approve, nil).Want(t, http.StatusAccepted)
	second.Call(t, http.MethodPost, approve, nil).Want(t, http.StatusOK)
	first.Call(t, http.MethodPost, "/v1/admin/keys", live).Want(t, http.StatusAccepted)
	refuse(t, first, "/v1/admin/keys", live, http.StatusConflict, again)
	made := second.Call(t, http.MethodPost, "/v1/admin/keys", live).Want(t, http.StatusCreated)
	key, limit := "/v1/admin/keys/"+made.Number(t, "key.id").RatString(), api.Object{"tier": "unlimited"}
	first.Call(t, http.MethodPatch, key, limit).Want(t, http.StatusAccepted)
	first.Call(t, http.MethodPatch, key, limit).Want(t, http.StatusConflict)
	if a := first.Call(t, http.MethodGet, key, nil).Want(t, http.StatusOK); a.Text(t, "key.tier") != "standard" {
		t.Errorf("one operator changed a limit: %s", a.Body)
	}
	if a := second.Call(t, http.MethodPatch, key, limit).Want(t, http.StatusOK); a.Text(t, "key.tier") != "unlimited" {
		t.Errorf("two operators did not: %s", a.Body)
	}

	// One operator blocks a live address, and two free it.
	accused := unique("0x")
	convict(t, c.With(made.Text(t, "key.secret")), accused)
	judge := func(action string) api.Object {
		return api.Object{"mode": "live", "walletAddress": accused, "action": action, "reason": "looked into it"}
	}
	const confirmations = "/v1/admin/reports/confirmations"
	first.Call(t, http.MethodPost, confirmations, judge("confirm")).Want(t, http.StatusOK)
	waits := first.Call(t, http.MethodPost, confirmations, judge("withdraw")).Want(t, http.StatusOK)
	if on, _ := waits.At("data.subject.confirmed"); on != true || waits.Text(t, "data.approval.requestedBy") != "local" {
		t.Errorf("freed by one: %s", waits.Body)
	}
	refuse(t, first, confirmations, judge("withdraw"), http.StatusConflict, again)
	freed := second.Call(t, http.MethodPost, confirmations, judge("withdraw")).Want(t, http.StatusOK)
	if on, _ := freed.At("data.subject.confirmed"); on != false {
		t.Errorf("two operators did not free the address: %s", freed.Body)
	}

	// A live fee schedule takes two, and one for test mode does not.
	const schedules = "/v1/admin/fee-schedules"
	fees := func(mode string) api.Object {
		return api.Object{"fiatCurrency": "GHS", "mode": mode, "tiers": []api.Object{{"basisPoints": 40}}, "note": "the new list"}
	}
	first.Call(t, http.MethodPost, schedules, fees("test")).Want(t, http.StatusCreated)
	asked := first.Call(t, http.MethodPost, schedules, fees("live")).Want(t, http.StatusAccepted)
	if asked.Text(t, "approval.action") != "publish_fees" {
		t.Errorf("asked for a live schedule: %s", asked.Body)
	}
	refuse(t, first, schedules, fees("live"), http.StatusConflict, again)
	if n := first.Call(t, http.MethodGet, schedules+"?fiatCurrency=GHS&mode=live", nil).Want(t, http.StatusOK).Len(t, "feeSchedules"); n != 1 {
		t.Errorf("%d schedules hold in live mode after one operator's request, want the first one", n)
	}
	second.Call(t, http.MethodPost, schedules, fees("live")).Want(t, http.StatusCreated)

	// A second token of the same person is the same person. The two who make it see its digest alone.
	var own struct{ Token, Digest string }
	if err := json.Unmarshal([]byte(output(t, tool(t, s, "", "operator-token", "--json"))), &own); err != nil {
		t.Fatal(err)
	}
	person := api.Object{"name": "local", "days": 1, "digest": own.Digest}
	first.Call(t, http.MethodPost, "/v1/admin/operators", person).Want(t, http.StatusAccepted)
	if a := second.Call(t, http.MethodPost, "/v1/admin/operators", person).Want(t, http.StatusCreated); strings.Contains(string(a.Body), "op_") {
		t.Errorf("make a token by its digest: got %s, want no token", a.Body)
	}
	twin := c.With(own.Token)
	first.Call(t, http.MethodPost, key+"/rotate", nil).Want(t, http.StatusAccepted)
	refuse(t, twin, key+"/rotate", nil, http.StatusConflict, again)
}
