package page

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/libs/httpkit"
)

const linkID = "plk_06gzxbfcr1k3v5x7z9b2d4f6h8"

func linkOf(changes map[string]any) proxy.Reply {
	l := map[string]any{
		"id": linkID, "type": "merchant", "status": "active", "mode": "test", "title": "Course <b>fee</b>", "description": `"Spring" & more`,
		"fiatCurrency": "NGN", "fiatAmount": 50000, "minimumAmount": nil, "maximumAmount": nil,
		"options": []any{map[string]any{"crypto": "USDT", "network": "tron", "cryptoAmount": 31.25}},
	}
	for name, value := range changes {
		l[name] = value
	}
	raw, err := json.Marshal(map[string]any{"success": true, "link": l})
	if err != nil {
		panic(err)
	}
	return proxy.Reply{Status: http.StatusOK, Body: raw}
}

const (
	readLink = "GET /v1/links/" + linkID
	payLink  = "POST /v1/links/" + linkID + "/payments"
)

var paidLink = proxy.Reply{Status: http.StatusCreated, Body: []byte(`{"success":true,"payment":{"reference":"` + reference + `"}}`)}

func TestLink(t *testing.T) {
	for name, c := range map[string]struct {
		link         map[string]any
		shows, hides []string
	}{
		"a price":        {nil, []string{"Course &lt;b&gt;fee", "NGN 50,000", "31.25", "TRON (TRC20)", "Continue to the payment"}, []string{"<b>fee", `name="amount"`}},
		"an open amount": {map[string]any{"fiatAmount": nil, "minimumAmount": 1000}, []string{`name="amount"`, "From NGN 1,000"}, []string{"50,000"}},
		"a request":      {map[string]any{"type": "request", "options": []any{}}, []string{"Continue to the payment"}, []string{`name="pair"`}},
		"an ended one":   {map[string]any{"status": "ended", "options": []any{}}, []string{"takes no more payments"}, []string{"<form"}},
		"no coin":        {map[string]any{"options": []any{}}, []string{"No coin can be used"}, []string{"<form"}},
	} {
		_, h := pages(t, map[string]proxy.Reply{readLink: linkOf(c.link)})
		w := get(h, "/link/"+linkID)
		body := w.Body.String()
		for _, text := range c.shows {
			if w.Code != http.StatusOK || !strings.Contains(body, text) {
				t.Errorf("%s: %d, without %q:\n%s", name, w.Code, text, body)
			}
		}
		for _, text := range c.hides {
			if strings.Contains(body, text) {
				t.Errorf("%s shows %q:\n%s", name, text, body)
			}
		}
	}
	_, h := pages(t, map[string]proxy.Reply{readLink: refusedAs(http.StatusNotFound, "payment_link_not_found")})
	for _, path := range []string{"/link/" + linkID, "/link/other"} {
		if w := get(h, path); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "<form") {
			t.Errorf("GET %s: got %d, want 404 and no form: %s", path, w.Code, w.Body)
		}
	}
}

// A form of somebody else's may hold any key. The request that is made from it has one that can be sent.
func TestLink_payWithAnyKey(t *testing.T) {
	for _, key := range []string{"", " ", "a\x01b", "a\r\nX-Other: 1", "é", strings.Repeat("k", 256), "k"} {
		s, h := pages(t, map[string]proxy.Reply{readLink: linkOf(nil), payLink: paidLink})
		if w := post(h, "/link/"+linkID, url.Values{"pair": {"USDT/tron"}, "once": {key}}); w.Code != http.StatusSeeOther {
			t.Errorf("a form with the key %.20q: %d %s", key, w.Code, w.Body)
		}
		if got := s.keys[len(s.keys)-1]; !httpkit.IsIdempotencyKey(got) || httpkit.IsIdempotencyKey(key) && got != key {
			t.Errorf("a form with the key %.20q was sent under %.20q", key, got)
		}
	}
}

func TestLink_pay(t *testing.T) {
	s, h := pages(t, map[string]proxy.Reply{readLink: linkOf(nil), payLink: paidLink})
	w := post(h, "/link/"+linkID, url.Values{"pair": {"USDT/tron"}, "once": {"k"}})
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/pay/"+reference {
		t.Errorf("pay: %d to %s: %s", w.Code, w.Header().Get("Location"), w.Body)
	}
	if got := s.asked[len(s.asked)-1]; !strings.Contains(got, `"crypto":"USDT"`) || strings.Contains(got, "fiatAmount") {
		t.Errorf("asked %s", got)
	}
	s, h = pages(t, map[string]proxy.Reply{readLink: linkOf(map[string]any{"fiatAmount": nil}), payLink: paidLink})
	for _, wrong := range []string{"", "1e9", "-1", "0x1", "1.", "12,5", `1,"x":2`} {
		if w := post(h, "/link/"+linkID, url.Values{"pair": {"USDT/tron"}, "amount": {wrong}}); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "Check the amount") {
			t.Errorf("an amount of %q: %d %s", wrong, w.Code, w.Body)
		}
	}
	if w := post(h, "/link/"+linkID, url.Values{"pair": {"USDT/tron"}, "amount": {"25 000.50"}}); w.Code != http.StatusSeeOther ||
		!strings.Contains(s.asked[len(s.asked)-1], `"fiatAmount":25000.50`) {
		t.Errorf("a good amount: %d, %v", w.Code, s.asked)
	}
	if w := post(h, "/link/"+linkID, url.Values{"amount": {"1000"}}); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "Choose a coin") {
		t.Errorf("without a coin: %d %s", w.Code, w.Body)
	}
	_, h = pages(t, map[string]proxy.Reply{readLink: linkOf(nil), payLink: refusedAs(http.StatusConflict, "payment_link_closed")})
	if w := post(h, "/link/"+linkID, url.Values{"pair": {"USDT/tron"}}); w.Code != http.StatusConflict {
		t.Errorf("a closed link: %d %s", w.Code, w.Body)
	}
}
