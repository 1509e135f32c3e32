//go:build integration

package browser

import (
	"net/http"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// decide asks, as an operator, to accept a payment.
func (b *tab) decide(reference, reason string) {
	b.t.Helper()
	b.visit("/operators/payments/" + reference + "/accept")
	b.order(reason)
}

// order sends the form of a decision with its reason, and comes to the page that wants the passkey. An operator whose
// passkey the services do not know yet has it registered by a command.
func (b *tab) order(reason string) {
	b.t.Helper()
	b.enter("#f-reason", reason)
	b.submit("main form .button")
	if words := js[string](b, `document.querySelector("#c-add-0")?.dataset.text ?? ""`); words != "" {
		command(b.t, "gateway", strings.Fields(words)[1:]...)
		b.visit("/operators/approve")
	}
	b.shows("Your passkey signs exactly this", reason)
}

// operate signs somebody of a role in at the operators' console, with a passkey.
func (b *tab) operate(name, role string) {
	b.t.Helper()
	b.authenticator()
	b.follow(consoleLink(b.t, "console-operators", "create-operator", "--name", name, "--role", role))
	b.visit("/operators/account")
	b.submit("[data-passkey]")
	b.shows("The passkey is added")
}

// TestConsoleTwoPeople: two operators, each in a browser and with a passkey of their own, accept a payment above the
// threshold. The first one alone moves nothing, twice neither; the second one settles it, and the audit names both.
func TestConsoleTwoPeople(t *testing.T) {
	t.Parallel()
	const reason = "the payer called"
	browsers := map[string]*tab{}
	names := []string{"ada.n" + once(), "obi.n" + once()}
	for i, name := range names {
		b := openConsole(t, []size{desktop, phone}[i])
		b.operate(name, []string{"operator", "approver"}[i])
		browsers[name] = b
	}
	ada, obi := browsers[names[0]], browsers[names[1]]
	ref := ada.create(api.Object{"fiatAmount": 2_000_000})
	ada.api.Call(t, http.MethodPost, "/v1/payments/"+ref+"/cancel", api.Object{}).Want(t, http.StatusOK)
	ada.api.Call(t, http.MethodPost, "/v1/sandbox/payments/"+ref+"/deposits", api.Object{}).Want(t, http.StatusOK)
	api.Eventually(t, within, "the money to be deep enough to be accepted", func() bool {
		takes, _ := ada.api.Call(t, http.MethodGet, "/v1/checkout/"+ref, nil).Want(t, http.StatusOK).At("payment.takesRefundAddress")
		return takes == true
	})

	ada.decide(ref, reason)
	ada.submit("[data-passkey]")
	ada.shows("Another operator must decide the same")
	ada.shoot("first")
	if got := ada.read(ref).Text(t, "payment.status"); got != "needs_review" {
		t.Fatalf("one operator alone moved the payment: it is %s", got)
	}

	ada.decide(ref, reason)
	ada.expect("409")
	ada.click("[data-passkey]")
	ada.see("[data-passkey-problem]:not([hidden])")
	ada.shows("Another operator has to confirm it")
	ada.shoot("again")

	obi.decide(ref, reason)
	obi.shoot("second")
	obi.submit("[data-passkey]")
	obi.shows("Done")
	api.Eventually(t, within, "the payment to settle", func() bool { return obi.read(ref).Text(t, "payment.status") == "settled" })
	for _, name := range names {
		obi.visit("/operators/audit?actor=operator:" + name)
		obi.shows("operator:"+name, "/v1/admin/payments/{reference}/resolve")
	}
}
