//go:build integration

package browser

import (
	"testing"

	"github.com/chromedp/chromedp"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestClaim: a gift is paid, its link handed on, and claimed: the bank found by a word, the name shown and confirmed,
// the payout watched to its end.
func TestClaim(t *testing.T) {
	both(t, func(_ *testing.T, b *tab) {
		ref := b.gift(nil)
		b.bank(ref, "timeout") // else a page that loads slowly shows the end alone
		b.visit("/pay/" + ref)
		b.shows("this page gives you a link")
		b.play("full")
		b.stage("gift-ready")
		b.shows("The gift is ready", b.stack.BaseURL+"/claim/"+ref)
		b.sound()
		b.click(`a.quiet[href^="/claim/"]`)
		b.stage("claim-form")
		b.sound()
		for typed, code := range map[string]string{"GTBank": "058", "gt": "058", "UBA": "033", "first bank": "011"} {
			js[bool](b, `document.querySelector("#bank").value = "", true`)
			b.enter("#bank", typed)
			b.see("#bank-" + code)
			b.gone("#bank-057")
		}
		js[bool](b, `document.querySelector("#bank").value = "", true`)
		b.enter("#bank", "first bank")
		b.gone("#bank-058")
		b.shoot("searched")
		b.click("#bank-011")
		b.enter("#account", "0123 456 789")
		b.submit(".account .button")
		b.stage("claim-confirm")
		b.shows("Is this you?", "First Bank of Nigeria", "0123456789", "Yes, pay NGN 25,000 to this account")
		b.sound()
		b.submit("#yes")
		b.stage("claim-progress")
		b.bank(ref, "succeed")
		b.stage("claim-done")
		b.shows("The money is in your account", "NGN 25,000")
		b.sound()
	})
}

// TestClaimEarly: a claimant before the sender has paid sees that, and is paid when the money arrives.
func TestClaimEarly(t *testing.T) {
	both(t, func(_ *testing.T, b *tab) {
		ref := b.gift(api.Object{"fiatCurrency": "GHS", "fiatAmount": 500.5})
		b.visit("/claim/" + ref)
		b.stage("claim-form")
		b.shows("GHS 500.50", "The sender's payment has not arrived yet")
		b.click("#bank-140100")
		b.enter("#account", "0012345678")
		b.submit(".account .button")
		b.stage("claim-confirm")
		b.submit("#yes")
		b.stage("claim-progress-waiting")
		b.shows("Your account is noted")
		b.visit("/pay/" + ref)
		b.stage("send")
		b.play("full")
		b.stage("settled")
		b.visit("/claim/" + ref)
		b.stage("claim-done")
	})
}

// TestClaimWrong: what is missing or unknown is said beside its field, and nothing that was typed is lost.
func TestClaimWrong(t *testing.T) {
	both(t, func(t *testing.T, b *tab) {
		b.expect("status of") // a form that is refused answers 400 or 503
		ref := b.gift(nil)
		b.visit("/claim/" + ref)
		b.submit(".account .button")
		b.see("#bank-wrong")
		b.see("#account-wrong")
		b.shoot("empty")
		b.sound()
		b.click("#bank-058")
		b.enter("#account", "01234")
		b.submit(".account .button")
		b.see("#account-wrong")
		b.shows("An account number has 10 digits")
		if inView := js[bool](b, `(() => { const list = document.querySelector("#banks").getBoundingClientRect(),
			chosen = document.querySelector("#bank-058:checked").getBoundingClientRect();
			return chosen.top >= list.top && chosen.bottom <= list.bottom; })()`); !inView {
			t.Error("after a mistake the chosen bank is out of view")
		}
		b.shoot("short")
		b.do(chromedp.SetValue(chromedp.CSS("#account"), "0000000001")) // no such account
		b.submit(".account .button")
		b.see("#account-wrong")
		b.shows("The bank does not know this account number")
		b.shoot("unknown")
		if typed := js[string](b, `document.getElementById("account").value`); typed != "0000000001" {
			t.Errorf("the account number became %q", typed)
		}
		b.do(chromedp.SetValue(chromedp.CSS("#account"), "0000000002")) // the name service is down
		b.submit(".account .button")
		b.see("main > .problem")
		b.shows("Nothing has happened yet")
		b.shoot("down")
		if status := b.read(ref).Text(t, "payment.status"); status != "pending" {
			t.Errorf("the gift is %s", status)
		}
	})
}

// TestClaimWithoutScript: the whole claim works without JavaScript; the search is a form then.
func TestClaimWithoutScript(t *testing.T) {
	both(t, func(_ *testing.T, b *tab) {
		b.scriptless()
		ref := b.gift(nil)
		b.visit("/pay/" + ref)
		b.play("full")
		b.again("gift-ready")
		b.visit("/claim/" + ref)
		b.enter("#bank", "zenith")
		b.submit(".search button")
		b.do(chromedp.WaitNotPresent(chromedp.CSS("#bank-058")))
		b.stage("claim-form")
		b.enter("#account", "0123456789")
		b.submit(".account .button")
		b.stage("claim-confirm")
		b.shows("Zenith Bank")
		b.submit("#yes")
		b.again("claim-done")
	})
}
