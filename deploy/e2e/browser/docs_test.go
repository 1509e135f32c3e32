//go:build integration

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestDocs: the reference is rendered from the served document, by what the program brings with it.
func TestDocs(t *testing.T) {
	both(t, func(t *testing.T, b *tab) {
		b.visit("/docs")
		b.await("#operations-tag-payments")
		b.shows("Causeway", "OAS 3.1", "payments", "webhooks", "pages")
		b.press("#operations-tag-payments")
		b.await("#operations-payments-createPayment")
		b.press("#operations-payments-createPayment button.opblock-summary-control")
		b.await("#operations-payments-createPayment .responses-table")
		b.shoot("docs")
		b.shows("A guide for merchants")
		shown := js[string](b, `document.querySelector("#operations-payments-createPayment").innerText`)
		for _, want := range []string{`"bankCode": "058"`, `"fiatAmount": 50000`, `"depositAddress": "T`} {
			if !strings.Contains(shown, want) {
				t.Errorf("open the create of a payment: got %s, want the example %s", shown, want)
			}
		}
		const most = 600_000
		wire := js[int](b, `["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind)).reduce((sum, one) => sum + one.transferSize, 0)`)
		if wire == 0 || wire > most {
			t.Errorf("load the reference: got %d bytes on the wire, want %d at most", wire, most)
		}
		t.Logf("the reference takes %d bytes on the wire", wire)
		if wide := js[int](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
			t.Errorf("the page is %d pixels wider than the screen", wide)
		}
	})
}

// await waits for an element as the page itself would: a page of this size is slow to mirror.
func (b *tab) await(selector string) {
	b.t.Helper()
	js[bool](b, "new Promise((there) => setInterval(() => document.querySelector(`"+selector+"`) && there(true), 50))")
}

// press clicks as the page itself would.
func (b *tab) press(selector string) {
	b.t.Helper()
	js[bool](b, "document.querySelector(`"+selector+"`).click(), true")
}

// TestDocsWithoutScript: who has no JavaScript is led to the document.
func TestDocsWithoutScript(t *testing.T) {
	both(t, func(_ *testing.T, b *tab) {
		b.scriptless()
		b.visit("/docs")
		b.do(chromedp.WaitVisible(chromedp.CSS(`noscript a[href="/openapi.yaml"]`)))
	})
}

// TestGuide: the guide for merchants is a page beside the reference, on a phone too.
func TestGuide(t *testing.T) {
	both(t, func(t *testing.T, b *tab) {
		b.visit("/guide")
		b.shows("A guide for merchants", "Choose a type", "Idempotency-Key: order-17")
		b.shoot("guide")
		if wide := js[int](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
			t.Errorf("the page is %d pixels wider than the screen", wide)
		}
	})
}
