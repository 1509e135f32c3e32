//go:build integration

package browser

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"causeway.internal/deploy/e2e/internal/api"
)

// Texts of somebody who wants another person's browser to run a script; short is for fields with little room. A dialog,
// a script that the policy stops, and a request to elsewhere fail the test by themselves.
const (
	hostile = `"'><img src=x onerror=alert(1)><script>alert(1)</script>{{7*7}}`
	short   = `"><img src=x onerror=alert(1)>`
)

// unharmed fails the test when a text became a part of the page, and reports whether the page shows one.
func (b *tab) unharmed() bool {
	b.t.Helper()
	const planted = `img[src=x], main script, [onerror], [onload], a[href^="javascript:" i], form[action^="javascript:" i]`
	if found := js[[]string](b, `[...document.querySelectorAll('`+planted+`')].map((e) => e.outerHTML)`); len(found) > 0 {
		b.t.Errorf("on %s a text became a part of the page: %v", js[string](b, `location.pathname`), found)
	}
	if strings.Contains(b.text(), "</script>49") {
		b.t.Errorf("on %s a text was read as a template", js[string](b, `location.pathname`))
	}
	return js[bool](b, `document.querySelector("main").textContent.includes("onerror=alert(1)")
		|| [...document.querySelectorAll("main input, main textarea")].some((e) => e.value.includes("onerror=alert(1)"))`)
}

// crawl visits what the pages of a door link to, and returns the pages that show a hostile text.
func (b *tab) crawl(door string, most int) map[string]bool {
	b.t.Helper()
	shown, seen := map[string]bool{}, map[string]bool{}
	next := js[[]string](b, links(door))
	for len(next) > 0 && len(seen) < most {
		path := next[0]
		next = next[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		b.visit(path)
		if b.unharmed() {
			shown[path] = true
		}
		next = append(next, js[[]string](b, links(door))...)
	}
	b.t.Logf("%d pages of %s were walked, %d show a hostile text", len(seen), door, len(shown))
	return shown
}

// links are the addresses of the pages of a door to which a page leads, without those that are files.
func links(door string) string {
	return `[...document.querySelectorAll(".menu a, .who a, main a")].map((a) => a.getAttribute("href"))
		.filter((h) => h && h.startsWith("` + door + `/") && !h.includes("?") && !/(export|csv)$/.test(h))`
}

// newcomer registers a business of a hostile name by somebody of a hostile name. The tab's client gets a key of it.
func newcomer(t *testing.T) *tab {
	t.Helper()
	b := openConsole(t, desktop)
	b.authenticator()
	agent := js[string](b, `navigator.userAgent`) + " " + hostile
	call(b, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: agent})
	b.visit("/console/register")
	b.enter("#f-email", "eve"+once()+"@acme.example")
	b.submit("main form .button")
	b.submit("main a.button")
	b.submit("main form .button")
	b.enter("#f-name", hostile)
	b.submit("[data-passkey]")
	b.see("#f-country")
	b.enter("#f-name", hostile)
	b.choose("#f-country", "NG")
	b.submit("main form .button")
	b.visit("/console/keys/new")
	b.enter("#f-name", short)
	js[bool](b, `document.querySelectorAll("main input[type=checkbox]").forEach((c) => c.checked = true), true`)
	b.submit("main form .button")
	b.api.Key = regexp.MustCompile(`sk_test_[A-Za-z0-9_]+`).FindString(b.text())
	if b.api.Key == "" {
		t.Fatalf("the page shows no secret:\n%s", b.text())
	}
	b.visit("/console/settings/branding")
	b.enter("#f-support", hostile)
	b.submit("main form .button")
	b.visit("/console/team/invite")
	b.enter("#f-login", "guest"+once()+"@acme.example")
	b.choose("#f-role", "support")
	b.submit("main form .button")
	return b
}

// plant fills every field of a merchant and of a payer with hostile texts, and returns the reference of a payment.
func (b *tab) plant(t *testing.T, receiver string) string {
	t.Helper()
	post := func(path string, body api.Object) *api.Answer {
		return b.api.Call(t, http.MethodPost, path, body).Want(t, http.StatusCreated, http.StatusOK)
	}
	post("/v1/webhooks/endpoints", api.Object{"url": receiver + "/hook?x=" + url.QueryEscape(hostile), "description": hostile})
	ref := b.create(api.Object{
		"merchantReference": short, "description": hostile, "metadata": api.Object{hostile: hostile, "list": []string{hostile}},
		"payer": api.Object{"chatId": hostile}, "returnUrl": "https://shop.example/back?x=" + url.QueryEscape(hostile),
	})
	b.create(api.Object{
		"type": "bank_confirmation", "bankRef": hostile, "receiver": nil, "chargeFrom": nil, "payer": api.Object{"chatId": hostile},
		"metadata": api.Object{"note": "</pre></main>" + hostile},
	})
	b.gift(api.Object{"payer": api.Object{"chatId": hostile}, "description": hostile})
	post("/v1/payment-links", api.Object{"type": "merchant", "title": hostile, "description": hostile, "fiatCurrency": "NGN", "fiatAmount": 50000})
	post("/v1/reports", api.Object{
		"complaintType": "fraud", "name": hostile, "walletAddress": "T" + once(), "description": hostile, "fraudsterWalletAddress": short,
	})
	post("/v1/wallets", api.Object{"network": "tron", "crypto": "USDT", "metadata": api.Object{"note": hostile, hostile: short}})
	post("/v1/wallets/address-book", api.Object{"network": "tron", "address": payersAddress, "label": short})
	post("/v1/settlement-accounts", api.Object{"currency": "NGN", "receiver": api.Object{"bankCode": "058", "accountNumber": "0123456789"}})
	b.api.Call(t, http.MethodPost, "/v1/payments/"+ref+"/cancel", nil).Want(t, http.StatusOK)
	return ref
}

// TestConsoleHostile: texts of merchants, payers and webhook receivers are shown as they are and run nowhere, on any
// page of merchants, operators and payers.
func TestConsoleHostile(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Server", hostile)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(hostile)) // the dispatcher may be gone
	}))
	t.Cleanup(receiver.Close)
	b := newcomer(t)
	ref := b.plant(t, receiver.URL)
	api.Eventually(t, within, "a delivery that was answered", func() bool {
		list := b.api.Call(t, http.MethodGet, "/v1/webhooks/deliveries", nil).Want(t, http.StatusOK)
		return list.Len(t, "deliveries") > 0 && list.Len(t, "deliveries.0.attempts") > 0
	})
	b.visit("/console/settings")
	merchant := js[string](b, `document.querySelector("#c-merchant").dataset.text`)
	shown := b.crawl("/console", 120)
	for _, path := range []string{"/console/payments/" + ref, "/console/reports", "/console/links", "/console/webhooks", "/console/settings", "/console/team", "/console/account"} {
		if !shown[path] {
			t.Errorf("%s was not walked, or shows no hostile text", path)
		}
	}
	delivered := false
	for path := range shown {
		delivered = delivered || strings.HasPrefix(path, "/console/deliveries/")
	}
	if !delivered {
		t.Error("no delivery shows what the receiver answered")
	}
	b.visit("/console/payments?search=" + url.QueryEscape(hostile))
	b.unharmed()
	b.visit("/pay/" + ref)
	if !b.unharmed() {
		t.Error("the pay page does not show its merchant")
	}

	o := as(t, desktop, "operator")
	for _, path := range js[[]string](o, links("/operators")) {
		o.visit(path)
		o.unharmed()
	}
	for _, path := range []string{"/merchants/" + merchant, "/payments/" + ref} {
		o.visit("/operators" + path)
		if !o.unharmed() {
			t.Errorf("%s shows no hostile text", path)
		}
	}
	for _, wanted := range []string{hostile, merchant, ref} {
		o.visit("/operators/search?q=" + url.QueryEscape(wanted))
		o.unharmed()
	}
}
