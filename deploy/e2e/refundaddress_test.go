//go:build integration

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// Addresses on tron that belong to nobody here.
const (
	payersTron  = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
	anotherTron = "TXLAQ63Xg1NAzckPwKHvzw7CSEmLMEqcdj"
)

// owe pays a payment after its cancellation, and waits until the money is deep enough to go back.
func owe(t testing.TB, c *api.Client, ref string) {
	t.Helper()
	cancel(t, c, ref)
	deposit(t, c, ref, nil)
	api.Eventually(t, settle, "the page to ask for a refund address", func() bool {
		takes, _ := c.Call(t, http.MethodGet, "/v1/checkout/"+ref, nil).Want(t, http.StatusOK).At("payment.takesRefundAddress")
		return takes == true
	})
}

// proposedRefund makes a payment that owes money to its payer, who proposes a refund address.
func proposedRefund(t testing.TB, c *api.Client) (ref string) {
	t.Helper()
	ref = create(t, c, transfer(api.Object{"network": "tron"})).Text(t, "payment.reference")
	owe(t, c, ref)
	c.With("").Call(t, http.MethodPost, "/v1/checkout/"+ref+"/refund-address", api.Object{"address": payersTron}).Want(t, http.StatusOK)
	return ref
}

// TestRefundAddress: a payer proposes an address, and it is that of refunds once a key with refund:create repeats it.
// The merchant hears of both.
func TestRefundAddress(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	hook, path := hooks(t, s.WebhookSecret)
	payer := c.With("")
	ref := create(t, c, transfer(api.Object{"network": "tron", "callbackUrl": hook.URL(path)})).Text(t, "payment.reference")
	propose := "/v1/checkout/" + ref + "/refund-address"
	refuse(t, payer, propose, api.Object{"address": payersTron}, http.StatusConflict, "")
	owe(t, c, ref)

	refuse(t, payer, propose, api.Object{"address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}, http.StatusBadRequest, "")
	refuse(t, payer, "/v1/checkout/CW-AAAAAAAAAAAA/refund-address", api.Object{"address": payersTron}, http.StatusNotFound, "")
	payer.Call(t, http.MethodPost, propose, api.Object{"address": payersTron}).Want(t, http.StatusOK)
	shown := c.Call(t, http.MethodGet, "/v1/payments/"+ref, nil).Want(t, http.StatusOK)
	if _, set := shown.At("payment.refundAddress"); set || shown.Text(t, "payment.refundAddressProposed") != payersTron {
		t.Errorf("after the proposal GET shows %s", shown.Body)
	}

	confirm := "/v1/payments/" + ref + "/refund-address/confirm"
	refuse(t, payer, confirm, api.Object{"address": payersTron}, http.StatusUnauthorized, "")
	refuse(t, key(t, s, c, "test", "local", "payment:*"), confirm, api.Object{"address": payersTron}, http.StatusForbidden, "")
	refuse(t, key(t, s, c, "test", unique("stranger"), "*"), confirm, api.Object{"address": payersTron}, http.StatusNotFound, "")
	refuse(t, c, confirm, api.Object{"address": anotherTron}, http.StatusConflict, "")
	for range 2 {
		c.Call(t, http.MethodPost, confirm, api.Object{"address": payersTron}, api.Header("Idempotency-Key", path)).Want(t, http.StatusOK)
	}
	shown = c.Call(t, http.MethodGet, "/v1/payments/"+ref, nil).Want(t, http.StatusOK)
	if shown.Text(t, "payment.refundAddress") != payersTron || strings.Contains(string(shown.Body), "refundAddressHeldUntil") {
		t.Errorf("after the confirmation GET shows %s, want the address and no hold in test mode", shown.Body)
	}
	awaitCallbacks(t, hook, path, "payment.refund_address_proposed", "payment.refund_address_changed")
}

// TestRefundAddress_ofPrograms: on solana neither a merchant nor a payer names an address for which no key signs, such
// as a token account. The owner's own address is taken.
func TestRefundAddress_ofPrograms(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	ref := create(t, c, transfer(api.Object{"network": "solana", "crypto": "USDC"})).Text(t, "payment.reference")
	owe(t, c, ref)
	const owner = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	for _, of := range []struct {
		who  *api.Client
		path string
	}{{c, "/v1/payments/" + ref + "/refund-address"}, {c.With(""), "/v1/checkout/" + ref + "/refund-address"}} {
		for _, to := range []string{"FcaAcjcy9kw63CHtTgKFtdesZ1zBXpPpSVTPqBj8ZeTf", "11111111111111111111111111111111"} {
			a := refuse(t, of.who, of.path, api.Object{"address": to}, http.StatusBadRequest, "")
			if a.Text(t, "error.code") != "validation_failed" || !strings.Contains(string(a.Body), "belongs to a program") {
				t.Errorf("name %s by %s: got %s, want its field refused as a program's", to, of.path, a.Body)
			}
		}
	}
	shown := c.Call(t, http.MethodGet, "/v1/payments/"+ref, nil).Want(t, http.StatusOK)
	if _, set := shown.At("payment.refundAddress"); set {
		t.Errorf("read the payment after the refusals: got %s, want no refund address", shown.Body)
	}
	c.Call(t, http.MethodPost, "/v1/payments/"+ref+"/refund-address", api.Object{"address": owner}).Want(t, http.StatusOK)
}

// TestRefundAddress_operator: an operator confirms by the payment's id.
func TestRefundAddress_operator(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	ref := proposedRefund(t, c)
	id := value[string](t, s, "payments", `SELECT id FROM payments WHERE reference = $1`, ref)
	confirm := "/v1/admin/payments/" + id + "/refund-address/confirm"
	body := api.Object{"address": payersTron, "reason": "the payer called"}
	refuse(t, c, confirm, body, http.StatusUnauthorized, "")
	operator := c.With(s.AdminToken)
	refuse(t, operator, confirm, api.Object{"address": payersTron}, http.StatusBadRequest, "")
	refuse(t, operator, confirm, api.Object{"address": anotherTron, "reason": "a guess"}, http.StatusConflict, "")
	done := operator.Call(t, http.MethodPost, confirm, body).Want(t, http.StatusOK)
	if done.Text(t, "payment.refundAddress") != payersTron || done.Text(t, "payment.id") != id {
		t.Errorf("the operator sees %s", done.Body)
	}
	if n := count(t, s, "payments", `SELECT count(*) FROM audit WHERE action = 'confirm_refund_address' AND detail->>'paymentId' = $1`, id); n != 1 {
		t.Errorf("the audit has %d confirmations, want 1", n)
	}
}
