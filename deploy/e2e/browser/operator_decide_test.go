//go:build integration

package browser

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestConsoleHits: a hit leads from the list to each decision about its money. Nothing is decided without a reason and
// a passkey, the money that an operator accepts is paid, and nothing is left to decide then.
func TestConsoleHits(t *testing.T) {
	t.Parallel()
	const hits = "/operators/screenings?mode=test&stage=deposit"
	b := openConsole(t, desktop)
	name := "hit.n" + once()
	b.operate(name, "operator")
	ref := b.create(nil)
	b.api.Call(t, http.MethodPost, "/v1/sandbox/payments/"+ref+"/deposits", api.Object{"outcome": "screening_hold"}).Want(t, http.StatusOK)
	api.Eventually(t, within, "the money to be held, and deep enough to be accepted", func() bool {
		takes, _ := b.api.Call(t, http.MethodGet, "/v1/checkout/"+ref, nil).Want(t, http.StatusOK).At("payment.takesRefundAddress")
		return takes == true && b.read(ref).Text(t, "payment.status") == "needs_review"
	})
	payment := "/operators/payments/" + b.read(ref).Text(t, "payment.id")
	for _, list := range []string{hits, "/operators/holds"} {
		b.visit(list)
		for _, act := range []string{"accept", "retry-payout", "mark-refunded", "refund"} {
			b.see(`a[href="` + payment + "/" + act + `"]`)
		}
		b.accessible(list)
		b.shoot("decisions")
		b.fits(list)
		b.resize(desktop.width)
	}

	b.visit(hits)
	b.submit(`a[href="` + payment + `/accept"]`)
	b.expect("422")
	js[bool](b, `document.querySelector("main form").noValidate = true`)
	b.submit("main form .button")
	b.shows("Fill this in")
	b.order("looked at by " + name)
	if got := b.read(ref).Text(t, "payment.status"); got != "needs_review" {
		t.Fatalf("read the payment before the passkey: got %s, want needs_review", got)
	}
	b.submit("[data-passkey]")
	b.shows("Done")
	api.Eventually(t, within, "the payment to settle", func() bool { return b.read(ref).Text(t, "payment.status") == "settled" })
	b.visit(hits)
	if js[bool](b, `document.querySelector('a[href^="`+payment+`/"]') !== null`) {
		t.Error("a hit of a payment that is settled still has decisions")
	}
}
