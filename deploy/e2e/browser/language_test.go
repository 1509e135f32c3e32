//go:build integration

package browser

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"causeway.internal/deploy/e2e/internal/api"
)

// narrow is the narrowest screen that pages must fit.
var narrow = size{"narrow", 320, 640, nil}

// resize makes the screen this wide.
func (b *tab) resize(width int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, b.size.height, b.size.options...))
}

// inLanguages reads a page at a stage in some languages, by code with a text of each: it fits a narrow screen and large
// texts, and axe finds nothing.
func (b *tab) inLanguages(path, stage string, shows map[string]string) {
	b.t.Helper()
	for code, text := range shows {
		b.visit(path + "?lang=" + code)
		b.see(`[data-stage="` + stage + `"]`)
		b.shows(text)
		if lang := js[string](b, `document.documentElement.lang`); lang != code {
			b.t.Errorf("the page in %s says that it is in %s", code, lang)
		}
		if direction := js[string](b, `getComputedStyle(document.querySelector("h1")).direction`); (direction == "rtl") != (code == "ar") {
			b.t.Errorf("the page in %s runs %s", code, direction)
		}
		name := stage + "-" + code
		b.fits(name)
		b.resize(b.size.width)
		b.shoot(name)
		b.accessible(name)
	}
}

// TestLanguages: a payer's way in English, a language with long words, and one from right to left.
func TestLanguages(t *testing.T) {
	t.Parallel()
	b := open(t, narrow)
	ref := b.create(api.Object{"type": "request", "crypto": nil, "network": nil, "chargeFrom": nil, "payer": nil})
	path := "/pay/" + ref
	b.inLanguages(path, "choose", map[string]string{"en": "How would you like to pay?", "sw": "Ungependa kulipa vipi?", "ar": "كيف تريد أن تدفع؟"})
	b.api.Call(t, http.MethodPost, "/v1/payments/requests/"+ref+"/fulfill", api.Object{
		"payer": api.Object{"chatId": "payer-1"}, "crypto": "USDT", "network": "tron",
	}).Want(t, http.StatusOK)
	b.inLanguages(path, "send", map[string]string{"en": "Send exactly", "sw": "Tuma kiasi hiki hasa", "ar": "أرسل هذا المبلغ بالضبط"})
	b.api.Call(t, http.MethodPost, "/v1/checkout/"+ref+"/simulate", api.Object{"scenario": "partial"}).Want(t, http.StatusOK)
	b.visit(path)
	b.see(`[data-stage="topup"]`)
	b.inLanguages(path, "topup", map[string]string{"en": "Send the rest", "sw": "Tuma kilichobaki", "ar": "أرسل الباقي"})
	b.api.Call(t, http.MethodPost, "/v1/checkout/"+ref+"/simulate", api.Object{"scenario": "full"}).Want(t, http.StatusOK)
	b.visit(path)
	b.see(`[data-stage="settled"]`)
	b.inLanguages(path, "settled", map[string]string{"en": "NGN 25,000 has been paid out", "sw": "zimelipwa kwenye akaunti", "ar": "إلى الحساب البنكي"})
}

// TestLanguageSwitch: a reader chooses a language without JavaScript, and it stays while he pays and claims.
func TestLanguageSwitch(t *testing.T) {
	t.Parallel()
	b := open(t, phone)
	b.expect("400") // a number that is too short
	b.scriptless()
	ref := b.create(api.Object{"type": "request", "crypto": nil, "network": nil, "chargeFrom": nil, "payer": nil})
	b.visit("/pay/" + ref)
	b.click(`.languages summary`)
	b.shoot("switch")
	b.submit(`.languages a[hreflang="fr"]`)
	b.shows("Comment voulez-vous payer ?", "Payer 25 000 NGN")
	b.click(`input[value="USDT/tron"]`)
	b.submit(`.choose .button`)
	b.stage("send")
	b.shows("Envoyez exactement", "15.9375 USDT")
	b.play("full")
	b.again("settled")
	b.shows("Tout est fait", "25 000 NGN")

	gift := b.gift(nil)
	b.visit("/claim/" + gift + "?lang=ha")
	b.enter("#bank", "gtbank")
	b.submit(".search button")
	b.enter("#account", "0123")
	b.submit(".account .button")
	b.shows("Lambar asusu tana da lambobi 10")
	b.do(chromedp.SetValue(chromedp.CSS("#account"), "0123 456 789"))
	b.submit(".account .button")
	b.stage("claim-confirm")
	b.shows("Kai ne wannan?", "Guaranty Trust Bank")
	b.submit("#yes")
	b.again("claim-progress-waiting")
	b.shows("An rubuta asusunka")
	if at := js[string](b, `location.search`); !strings.Contains(at, "lang=ha") {
		t.Errorf("after the claim the page is at %q, without its language", at)
	}
}
