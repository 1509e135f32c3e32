//go:build integration

package browser

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// owing makes a payment that was paid after its cancellation, so that its money may go back.
func (b *tab) owing() string {
	b.t.Helper()
	ref := b.create(nil)
	b.api.Call(b.t, http.MethodPost, "/v1/payments/"+ref+"/cancel", nil).Want(b.t, http.StatusOK)
	b.api.Call(b.t, http.MethodPost, "/v1/sandbox/payments/"+ref+"/deposits", api.Object{}).Want(b.t, http.StatusOK)
	api.Eventually(b.t, within, "the money to be deep enough to go back", func() bool {
		takes, _ := b.api.Call(b.t, http.MethodGet, "/v1/checkout/"+ref, nil).Want(b.t, http.StatusOK).At("payment.takesRefundAddress")
		return takes == true
	})
	return ref
}

const (
	wrongAddress  = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" // of another network
	payersAddress = "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"
)

// proposes walks through the form: a wrong address is refused with its reason, a good one waits for the merchant, and
// the page shows it once it is confirmed. check judges each page on the way.
func (b *tab) proposes(check func()) {
	b.t.Helper()
	ref := b.owing()
	b.visit("/pay/" + ref)
	b.stage("review")
	b.see("#refund-address")
	b.shows("Some money of this payment may go back to you", "Your address on TRON (TRC20)")
	check()
	b.expect("400")
	b.enter("#refund-address", wrongAddress)
	b.submit(".back .button")
	b.shows("This address cannot be used")
	check()
	js[bool](b, `document.querySelector("#refund-address").value = "", true`)
	b.enter("#refund-address", payersAddress)
	b.submit(".back .button")
	b.shows("Your proposal", payersAddress, "has to confirm this address")
	b.shoot("proposed")
	check()
	b.api.Call(b.t, http.MethodPost, "/v1/payments/"+ref+"/refund-address/confirm", api.Object{"address": payersAddress}).Want(b.t, http.StatusOK)
	b.visit("/pay/" + ref)
	b.shows("Money goes back to", payersAddress)
	check()
}

// TestPayRefundAddress: a payer whose money may go back says where to.
func TestPayRefundAddress(t *testing.T) {
	both(t, func(_ *testing.T, b *tab) { b.proposes(b.sound) })
}

// TestPayRefundAddressWithoutScript: the same works without JavaScript.
func TestPayRefundAddressWithoutScript(t *testing.T) {
	both(t, func(_ *testing.T, b *tab) {
		b.scriptless()
		b.proposes(func() {})
	})
}
