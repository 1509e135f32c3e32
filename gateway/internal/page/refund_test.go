package page

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"causeway.internal/gateway/internal/proxy"
)

const (
	payersAddress = "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"
	another       = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
)

// held is a payment that a person has to decide on, with money that may go back.
func held(changes map[string]any) proxy.Reply {
	all := map[string]any{"status": "needs_review", "exception": "paid_late", "takesRefundAddress": true}
	for name, value := range changes {
		all[name] = value
	}
	return checkoutOf(all)
}

// The page asks for the payer's address while money may go back, in a plain form.
func TestPay_refundAddress(t *testing.T) {
	propose := "POST /v1/checkout/" + reference + "/refund-address"
	s, h := pages(t, map[string]proxy.Reply{checkout: held(nil), propose: {Status: 200, Body: []byte(`{}`)}})
	page := get(h, "/pay/"+reference).Body.String()
	for _, want := range []string{
		"Some money of this payment may go back to you", `action="/pay/` + reference + `/refund-address"`, `name="address"`, "Your address on TRON (TRC20)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(page, "http-equiv") {
		t.Error("the page reloads under the payer's fingers")
	}
	w := post(h, "/pay/"+reference+"/refund-address", url.Values{"address": {" " + payersAddress + " "}})
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/pay/"+reference ||
		!slices.Contains(s.asked, propose+` {"address":"`+payersAddress+`"}`) {
		t.Errorf("propose an address: got %d to %s and calls %q, want 303 to the page and the address", w.Code, w.Header().Get("Location"), s.asked)
	}
	for _, c := range []struct {
		status     int
		code, says string
	}{
		{400, "validation_failed", "This address cannot be used"},
		{409, "too_many_proposals", "takes no more addresses"},
		{429, "rate_limited", "Just a moment"},
		{503, "screening_unavailable", "Just a moment"},
		{404, "payment_not_found", "leads nowhere"},
	} {
		s.answers[propose] = refusedAs(c.status, c.code)
		w := post(h, "/pay/"+reference+"/refund-address", url.Values{"address": {`"><b>`}})
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) || strings.Contains(w.Body.String(), `"><b>`) {
			t.Errorf("propose an address that is refused as %s: got %d %s, want %d and %q", c.code, w.Code, w.Body, c.status, c.says)
		}
	}
	s.answers[propose] = refusedAs(409, "refund_address_not_needed")
	if w := post(h, "/pay/"+reference+"/refund-address", url.Values{"address": {payersAddress}}); w.Code != http.StatusSeeOther {
		t.Errorf("propose an address too late: got %d, want the page", w.Code)
	}
	s.answers[checkout] = checkoutOf(nil)
	if strings.Contains(get(h, "/pay/"+reference).Body.String(), `name="address"`) {
		t.Error("a payment that owes nothing asks for an address")
	}
}

// The page says which address counts, which one waits, and how long nothing is sent.
func TestPay_refundAddressShown(t *testing.T) {
	for name, c := range map[string]struct {
		changes    map[string]any
		says, lack []string
	}{
		"proposed": {
			map[string]any{"refundAddressProposed": another},
			[]string{another, "has to confirm this address", "You may propose another address"},
			[]string{"Money goes back to<"},
		},
		"held": {
			map[string]any{"refundAddress": payersAddress, "refundAddressHeldUntil": noon.AddDate(0, 0, 1)},
			[]string{payersAddress, "Money goes back to<", "nothing is sent to this address before"},
			[]string{"has to confirm this address"},
		},
		"held no more": {
			map[string]any{"refundAddress": payersAddress, "refundAddressHeldUntil": noon, "takesRefundAddress": false},
			[]string{payersAddress},
			[]string{"nothing is sent to this address before", "<form"},
		},
	} {
		_, h := pages(t, map[string]proxy.Reply{checkout: held(c.changes)})
		page := get(h, "/pay/"+reference).Body.String()
		for _, want := range c.says {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page lacks %q", name, want)
			}
		}
		for _, never := range c.lack {
			if strings.Contains(page, never) {
				t.Errorf("%s: the page holds %q", name, never)
			}
		}
	}
}

// Each refund shows its amount, its address and its state; the link to an explorer is there in live mode alone.
func TestPay_refunds(t *testing.T) {
	refunds := func(status, hash string) []map[string]any {
		return []map[string]any{{
			"id": "rfd_1", "status": status, "crypto": "USDT", "network": "tron", "amount": 12.5, "address": payersAddress, "txHash": hash,
			"createdAt": noon, "confirmedAt": nil,
		}}
	}
	for status, says := range map[string]string{
		"requested": "waits for an approval", "approved": "is sent soon", "signing": "is being sent", "sent": "The network has to confirm it",
		"confirmed": "has arrived", "failed": "The money is still yours", "of tomorrow": "is sent soon",
	} {
		_, h := pages(t, map[string]proxy.Reply{checkout: checkoutOf(map[string]any{"status": "refunded", "refunds": refunds(status, "")})})
		page := get(h, "/pay/"+reference).Body.String()
		for _, want := range []string{"12.5 USDT", "on TRON (TRC20)", payersAddress, says} {
			if !strings.Contains(page, want) {
				t.Errorf("a refund that is %s: the page lacks %q", status, want)
			}
		}
	}
	const link = `href="https://tronscan.org/#/transaction/ab12"`
	for mode, linked := range map[string]bool{"live": true, "test": false} {
		_, h := pages(t, map[string]proxy.Reply{
			checkout: checkoutOf(map[string]any{"mode": mode, "status": "refunded", "refunds": refunds("sent", "ab12")}),
		})
		page := get(h, "/pay/"+reference).Body.String()
		if strings.Contains(page, link) != linked || !strings.Contains(page, ">ab12<") {
			t.Errorf("a refund in %s mode: the page links the explorer: %t, want %t, and its hash", mode, !linked, linked)
		}
	}
}
