//go:build integration

package browser

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// owner opens the console as an owner of the stack's merchant.
func owner(t *testing.T, s size) *tab {
	t.Helper()
	b := openConsole(t, s)
	b.follow(consoleLink(t, "console", "create-owner", "--merchant", "local", "--email", "owner"+once()+"@local.example"))
	return b
}

// begin fills in the form of a payment and sends it; it returns the payment's reference.
func (b *tab) begin(payer string) string {
	b.t.Helper()
	b.visit("/console/payments/new")
	b.enter("#f-fiatAmount", "25000")
	b.choose("#f-pair", "USDT/tron")
	b.enter("#f-payer", payer)
	b.choose("#f-bank", "NGN:058")
	b.enter("#f-account", "0123456789")
	b.shoot("create")
	b.submit("main form .button")
	b.shows("NGN 25,000", "Waiting for money", "The payment is created")
	return js[string](b, `document.querySelector("#c-reference").dataset.text`)
}

// TestConsoleMoney: a payment is created, paid and settled by clicking, and the page follows it by itself; another one
// is cancelled, paid nevertheless, and refunded.
func TestConsoleMoney(t *testing.T) {
	t.Parallel()
	for _, s := range []size{phone, desktop} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := owner(t, s)
			paid := b.begin("clicking")
			page, err := url.Parse(js[string](b, `document.querySelector("[data-part=pay] a[target]").href`))
			if err != nil {
				t.Fatal(err)
			}
			b.visit(page.Path)
			b.play("full")
			b.visit("/console/payments/" + paid)
			b.see(`.timeline li.good`) // nobody loads the page again from here
			api.Eventually(t, within, "the page to show the settled payment", func() bool {
				return js[bool](b, `document.querySelector("[data-part=head] .badge").textContent === "Settled"`)
			})
			b.shows("15.9375 USDT received", "Payout of NGN 25,000")
			b.shoot("settled")

			b.visit("/console/payments?search=" + strings.ToLower(paid))
			b.shows("Timeline", paid)
			address := js[string](b, `document.querySelector("#c-address").dataset.text`)
			b.visit("/console/payments?search=" + address)
			b.shows(paid)
			b.shoot("found")
			b.visit("/console/payments?search=CW-AAAAAAAAAAAAAA")
			b.shows("There is no payment with the reference")

			late := b.begin("late")
			b.submit(`a[href$="/cancel"]`)
			b.shoot("cancel")
			b.submit("main form .button")
			b.shows("The payment is cancelled", "Cancelled")
			b.api.Call(t, http.MethodPost, "/v1/sandbox/payments/"+late+"/deposits", api.Object{}).Want(t, http.StatusOK)
			b.see(`a[href$="/refund"]`)
			api.Eventually(t, within, "the money to be deep enough to go back", func() bool {
				takes, _ := b.api.Call(t, http.MethodGet, "/v1/checkout/"+late, nil).Want(t, http.StatusOK).At("payment.takesRefundAddress")
				return takes == true
			})
			b.submit(`a[href$="/refund"]`)
			b.enter("#f-address", wrongAddress)
			b.enter("#f-reason", "the order was cancelled")
			b.expect("422")
			b.submit("main form .button")
			b.see(".wrong, .problem")
			b.shoot("refused")
			js[bool](b, `document.querySelector("#f-address").value = "", true`)
			b.enter("#f-address", payersAddress)
			b.submit("main form .button")
			b.shows("The refund is on its way", "Refund of 15.9375 USDT")
			b.shoot("refund")
			api.Eventually(t, within, "the page to show the refunded payment", func() bool {
				return js[bool](b, `document.querySelector("[data-part=head] .badge").textContent === "Refunded"`)
			})

			b.visit("/console/overview")
			b.shows("Settled volume", "Success rate", "Time to settle")
			b.click("#table summary")
			b.shoot("overview")
			b.accessible("overview with its table")
		})
	}
}

// TestConsoleLinks: a payment link is made, a payer uses its page, and the link counts it.
func TestConsoleLinks(t *testing.T) {
	t.Parallel()
	b := owner(t, desktop)
	b.visit("/console/links/new")
	b.enter("#f-title", "Course fee")
	b.enter("#f-fiatAmount", "50000")
	b.enter("#f-usageLimit", "1")
	b.submit("main form .button")
	b.shows("Course fee", "NGN 50,000", "0 of 1")
	b.see("svg.qr")
	b.shoot("link")
	b.accessible("link")
	link := js[string](b, `location.pathname`)
	page, err := url.Parse(js[string](b, `document.querySelector("#c-url").dataset.text`))
	if err != nil {
		t.Fatal(err)
	}
	b.visit(page.Path)
	b.stage("link-active")
	b.accessible("page of a link")
	b.fits("page of a link")
	b.resize(desktop.width)
	js[bool](b, `document.querySelector('[name=pair][value="USDT/tron"]').checked = true`)
	b.submit("form .button")
	b.stage("send")
	b.visit(link)
	b.shows("1 of 1", "Used up")
	b.submit(".head form button")
	b.shows("The link takes no more payments", "Ended")
	b.visit(page.Path)
	b.shows("takes no more payments")
}

// TestConsoleWebhooks: an endpoint is added, tested, its secret shown once and replaced, and past events are sent again
// while a bar shows how far the replay is.
func TestConsoleWebhooks(t *testing.T) {
	t.Parallel()
	b := owner(t, desktop)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	b.visit("/console/webhooks/new")
	b.enter("#f-url", receiver.URL+"/hook")
	b.enter("#f-description", "Takes everything")
	b.submit("main form .button")
	b.shows(receiver.URL+"/hook", "The endpoint is added")
	ref := b.create(nil)
	endpoint := js[string](b, `location.pathname`)
	b.submit(`form[action$="/test"] button`)
	b.shows("webhook.test", "Attempt 1")
	b.shoot("delivery")
	b.accessible("delivery")

	b.visit(endpoint + "/secret")
	b.submit(`[value="show"]`)
	b.shows("whsec_", "It is shown once")
	if strings.Contains(js[string](b, `location.href`), "whsec") {
		t.Error("the secret is in the address")
	}
	b.visit(endpoint)
	if strings.Contains(b.text(), "whsec_") {
		t.Error("the secret is shown twice")
	}
	b.visit(endpoint + "/secret")
	b.submit(`[value="rotate"]`)
	b.shows("whsec_")

	b.api.Call(t, http.MethodPost, "/v1/payments/"+ref+"/cancel", nil).Want(t, http.StatusOK)
	b.visit("/console/payments/" + ref)
	api.Eventually(t, within, "the deliveries of the payment", func() bool {
		b.visit("/console/payments/" + ref)
		return js[bool](b, `!!document.querySelector("[data-part=deliveries] .badge.good")`)
	})
	b.submit(`form[action$="/retry"] button`)
	b.shows("It is being sent again")

	b.visit("/console/replays/new")
	b.choose("#f-status", "all")
	b.choose("#f-endpoint", strings.TrimPrefix(endpoint, "/console/webhooks/"))
	b.submit(`[value="look"]`)
	b.shows("would be sent again")
	b.shoot("replay")
	b.submit(`[value="send"]`)
	b.see("progress")
	b.shows("sent,")
	b.shoot("progress")
	b.accessible("replay")
	api.Eventually(t, within, "the bar to reach its end by itself", func() bool {
		return js[bool](b, `document.querySelector("[data-part=progress] .badge").textContent === "Finished"`)
	})
	b.shows("100 %")
}

// TestConsoleAccounts: a settlement account is confirmed by clicking.
func TestConsoleAccounts(t *testing.T) {
	t.Parallel()
	b := owner(t, phone)
	number := "1" + once()[10:]
	account := b.api.Call(t, http.MethodPost, "/v1/settlement-accounts", api.Object{
		"currency": "NGN", "receiver": api.Object{"bankCode": "058", "accountNumber": number},
	}).Want(t, http.StatusCreated).Text(t, "settlementAccount.id")
	b.visit("/console/accounts/" + account + "/confirm")
	b.enter("#f-account", number)
	b.submit("main form .button")
	b.shows("The account is confirmed")
}
