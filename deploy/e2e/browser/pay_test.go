//go:build integration

package browser

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"causeway.internal/deploy/e2e/internal/api"
)

// play presses one of the buttons of test mode.
func (b *tab) play(scenario string) {
	b.t.Helper()
	b.submit(`.play [value="` + scenario + `"]`)
}

// TestPayFull: a payer sees what to send, where and by when without scrolling, pays, and watches the payment settle.
func TestPayFull(t *testing.T) {
	both(t, func(t *testing.T, b *tab) {
		ref := b.create(nil)
		made := b.read(ref)
		b.visit("/pay/" + ref)
		b.stage("send")
		b.shows("Pay NGN 25,000", "15.9375 USDT", "TRON (TRC20)", made.Text(t, "payment.depositAddress"),
			"Send only USDT on TRON (TRC20)", "left", "What happens next")
		if strings.Count(b.text(), "TRON (TRC20)") < 2 {
			t.Error("the network is not said twice")
		}
		b.firstScreen(".count", "#amount", ".network", "#address", `[data-copy="address"]`)
		b.sound()
		b.play("full")
		b.stage("settled")
		b.shows("NGN 25,000 has been paid out")
		b.sound()
	})
}

// TestPayCopy: the buttons put exactly the amount and the address where they are pasted from.
func TestPayCopy(t *testing.T) {
	both(t, func(t *testing.T, b *tab) {
		ref := b.create(nil)
		b.visit("/pay/" + ref)
		js[bool](b, `navigator.clipboard.writeText = async (text) => { window.copied = text }, true`)
		for button, want := range map[string]string{"amount": "15.9375", "address": b.read(ref).Text(t, "payment.depositAddress")} {
			// The button says so for a moment only, which a slow test would miss: the page itself waits for it.
			selector := `[data-copy="` + button + `"]`
			js[bool](b, `{ const seen = document.querySelector('`+selector+`'), shown = Promise.withResolvers();
				new MutationObserver(() => seen.classList.contains("done") && shown.resolve(true)).observe(seen, { attributes: true });
				window.shown = shown.promise }; true`)
			b.click(selector)
			js[bool](b, `window.shown`)
			if got := js[string](b, `window.copied`); got != want {
				t.Errorf("copied %q, want %q", got, want)
			}
		}
	})
}

// TestPayPartial: half a payment asks for the rest, and the rest completes it.
func TestPayPartial(t *testing.T) {
	both(t, func(t *testing.T, b *tab) {
		ref := b.create(nil)
		b.visit("/pay/" + ref)
		b.play("partial")
		b.stage("topup")
		b.shows("7.9688 USDT of 15.9375 USDT received", "Send the rest", "7.9687 USDT")
		b.firstScreen(".got", "#amount", ".network", ".count", "#address")
		b.sound()
		b.play("full")
		b.stage("settled")
		if e, _ := b.read(ref).At("payment.exception"); e != nil {
			t.Errorf("exception %v", e)
		}
	})
}

// TestPayOver: too much goes on at once, and the page says so.
func TestPayOver(t *testing.T) {
	both(t, func(_ *testing.T, b *tab) {
		b.visit("/pay/" + b.create(nil))
		b.play("over")
		b.stage("settled")
		b.shows("You sent more than the requested amount", "NGN 30,100 has been paid out")
	})
}

// TestPayLate: money after the window is found and goes on.
func TestPayLate(t *testing.T) {
	both(t, func(_ *testing.T, b *tab) {
		b.visit("/pay/" + b.create(nil))
		b.play("late")
		b.stage("settled")
		b.shows("arrived after the time was up")
	})
}

// TestPayExpired: nothing came; the page tells the payer to send nothing, and still finds what does come.
func TestPayExpired(t *testing.T) {
	both(t, func(t *testing.T, b *tab) {
		ref := b.create(nil)
		b.visit("/pay/" + ref)
		b.stage("send")
		b.api.Call(t, http.MethodPost, "/v1/sandbox/payments/"+ref+"/expire", nil).Want(t, http.StatusOK)
		b.stage("expired")
		b.shows("Please send nothing")
		b.sound()
		if shown := b.text(); strings.Contains(shown, b.read(ref).Text(t, "payment.depositAddress")) {
			t.Error("an expired payment still shows where to send")
		}
		b.play("late")
		b.stage("settled")
	})
}

// TestPayConfirming: a payment on its way shows how deep it is and that nothing more is to be done.
func TestPayConfirming(t *testing.T) {
	both(t, func(t *testing.T, b *tab) {
		// 128 confirmations, which the simulated chain takes thirteen seconds for. A machine that is slower than that misses
		// them, so the page is caught at it again.
		for tries := 1; ; tries++ {
			ref := b.create(api.Object{"network": "polygon"})
			b.api.Call(t, http.MethodPost, "/v1/sandbox/payments/"+ref+"/deposits", api.Object{"confirmations": 1}).Want(t, http.StatusOK)
			b.visit("/pay/" + ref)
			b.see(`[data-stage="confirming"], [data-stage="confirmed"], [data-stage="settling"], [data-stage="settled"]`)
			if shown := strings.Join(strings.Fields(b.text()), " "); strings.Contains(shown, "We see your payment") {
				b.contains(shown, "once the network calls it final, after 128 confirmations at the latest", "may close this page")
				break
			}
			if tries == 10 {
				t.Fatal("the page was never seen to confirm")
			}
		}
		b.shoot("confirming")
		b.sound()
		b.stage("settled")
	})
}

// TestPayCoin: a network's own coin has a code that wallets read, one with the address alone, and a link to the wallet.
func TestPayCoin(t *testing.T) {
	both(t, func(t *testing.T, b *tab) {
		ref := b.create(api.Object{"crypto": "ETH", "network": "base"})
		b.visit("/pay/" + ref)
		b.stage("send")
		link := js[string](b, `document.querySelector(".phone a").getAttribute("href")`)
		if link != b.read(ref).Text(t, "payment.paymentUri") || !strings.HasPrefix(link, "ethereum:") {
			t.Errorf("the wallet link is %q", link)
		}
		b.click(`label[for="qr-address"]`)
		b.see(`.tab-address .qr`)
		b.gone(`.tab-uri .qr`)
		b.shoot("address-only")
		b.sound()
	})
}

// TestPayRequest: a request shows its prices; the payer chooses, sees the price fixed, and pays.
func TestPayRequest(t *testing.T) {
	both(t, func(t *testing.T, b *tab) {
		ref := b.create(api.Object{"type": "request", "crypto": nil, "network": nil, "chargeFrom": nil, "payer": nil})
		b.visit("/pay/" + ref)
		b.stage("choose")
		b.shows("Pay NGN 25,000", "USDT", "15.9375", "TRON (TRC20)")
		b.sound()
		b.click(`#coin-TRX summary`)
		b.click(`input[value="TRX/tron"]`)
		b.shoot("chosen")
		b.submit(`.choose .button`)
		b.stage("send")
		b.shows("53.125 TRX", "TRON (TRC20)")
		b.play("full")
		b.stage("settled")
	})
}

// TestPayRequestLast: a payer's last choice is the default of the next payment, unless the payee has a wish.
func TestPayRequestLast(t *testing.T) {
	t.Parallel()
	b := open(t, phone)
	request := api.Object{"type": "request", "crypto": nil, "network": nil, "chargeFrom": nil, "payer": nil}
	b.visit("/pay/" + b.create(request))
	b.click(`#coin-SOL summary`)
	b.click(`input[value="SOL/solana"]`)
	b.submit(`.choose .button`)
	b.stage("send")
	b.visit("/pay/" + b.create(request))
	b.stage("choose")
	b.see(`#coin-SOL[open] input[value="SOL/solana"]:checked`)
	request["crypto"], request["network"] = "usdc", "polygon"
	b.visit("/pay/" + b.create(request))
	b.stage("choose")
	b.see(`input[value="USDC/polygon"]:checked`)
	if n := js[int](b, `document.querySelectorAll("[name=pair]:checked").length`); n != 1 {
		t.Errorf("show a request with a wish: %d choices are checked, want 1", n)
	}
}

// TestPayRequestPreferred: what the payee would like best is chosen already; the keyboard alone is enough.
func TestPayRequestPreferred(t *testing.T) {
	both(t, func(_ *testing.T, b *tab) {
		ref := b.create(api.Object{"type": "request", "crypto": "usdc", "network": "polygon", "chargeFrom": nil, "payer": nil})
		b.visit("/pay/" + ref)
		b.stage("choose")
		b.see(`input[value="USDC/polygon"]:checked`)
		b.tabTo(`.choose .button`)
		b.do(chromedp.KeyEvent("\r"))
		b.stage("send")
		b.shows("USDC", "Send only USDC on Polygon")
	})
}

// TestPayWithoutScript: choosing, paying and reading work without JavaScript; the page loads itself again.
func TestPayWithoutScript(t *testing.T) {
	both(t, func(t *testing.T, b *tab) {
		b.scriptless()
		ref := b.create(api.Object{"type": "request", "crypto": nil, "network": nil, "chargeFrom": nil, "payer": nil})
		b.visit("/pay/" + ref)
		b.stage("choose")
		b.click(`input[value="USDT/tron"]`)
		b.submit(`.choose .button`)
		b.stage("send")
		b.shows("Pay before", "UTC", "15.9375 USDT", b.read(ref).Text(t, "payment.depositAddress"))
		b.play("full")
		b.again("settled")
	})
}

// TestPayUnknown: a link that leads nowhere says so, to a person as a page and to a program as an error.
func TestPayUnknown(t *testing.T) {
	both(t, func(t *testing.T, b *tab) {
		b.expect("404")
		for _, path := range []string{"/pay/CW-AAAAAAAAAAAA", "/claim/CW-AAAAAAAAAAAA", "/pay/nonsense"} {
			b.visit(path)
			b.shows("This link leads nowhere")
			if a := b.api.Call(t, http.MethodGet, path, nil).Want(t, http.StatusNotFound); a.Text(t, "error.code") != "payment_not_found" {
				t.Errorf("look an unknown payment up: got %s, want payment_not_found", a.Body)
			}
		}
		b.shoot("unknown")
		b.sound()
	})
}
