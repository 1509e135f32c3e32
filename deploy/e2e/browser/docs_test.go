//go:build integration

package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestDocs: the reference is rendered from the served document, by what the program brings with it.
func TestDocs(t *testing.T) {
	both(t, func(t *testing.T, b *tab) {
		b.visit("/docs")
		b.see("#operations-payments-createPayment")
		b.see("#operations-pages-payPage")
		b.shows("Causeway", "OAS 3.1", "Create a payment")
		b.click("#operations-payments-createPayment button.opblock-summary-control")
		b.see("#operations-payments-createPayment .responses-table")
		b.shoot("docs")
		if wide := js[int](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
			t.Errorf("the page is %d pixels wider than the screen", wide)
		}
	})
}

// TestDocsWithoutScript: who has no JavaScript is led to the document.
func TestDocsWithoutScript(t *testing.T) {
	both(t, func(_ *testing.T, b *tab) {
		b.scriptless()
		b.visit("/docs")
		b.do(chromedp.WaitVisible(chromedp.CSS(`noscript a[href="/openapi.yaml"]`)))
	})
}
