package page

import (
	"html"
	"net/http"
	"strings"
	"testing"

	"causeway.internal/gateway/internal/proxy"
)

// A person finds a first page in a language of the offer, and a program an error in the one shape.
func TestHome(t *testing.T) {
	_, h := pages(t, nil)
	a := get(h, "/")
	if body := a.Body.String(); a.Code != http.StatusOK || !strings.Contains(body, `href="/docs"`) || !strings.Contains(body, "open the link that you were sent") {
		t.Errorf("GET /: got %d %s, want the first page", a.Code, body)
	}
	if a := get(h, "/", "Accept", "application/json"); a.Code != http.StatusNotFound || !strings.Contains(a.Body.String(), `"route_not_found"`) {
		t.Errorf("GET / by a program: got %d %s, want 404 route_not_found", a.Code, a.Body)
	}
}

// The page of a payment names what is paid, and leads back to the shop when there is nothing left to send.
func TestPay_shop(t *testing.T) {
	shop := map[string]any{"merchantReference": "17/b", "description": "Two <b>books", "returnUrl": "https://shop.example/thanks?order=17#top"}
	with := func(changes map[string]any) string {
		all := map[string]any{}
		for _, m := range []map[string]any{shop, changes} {
			for k, v := range m {
				all[k] = v
			}
		}
		_, h := pages(t, map[string]proxy.Reply{checkout: checkoutOf(all)})
		return html.UnescapeString(get(h, "/pay/"+reference).Body.String())
	}
	const back = `href="https://shop.example/thanks?order=17`
	for name, c := range map[string]struct {
		changes map[string]any
		back    string
	}{
		"sending":   {nil, ""},
		"settled":   {map[string]any{"status": "settled", "settledAt": noon, "txHash": "ab12"}, back + "&reference=" + reference + `#top"`},
		"expired":   {map[string]any{"status": "expired"}, back + "&reference=" + reference + `#top"`},
		"of a gift": {map[string]any{"type": "gift", "status": "settled", "settledAt": noon}, back + `#top"`},
	} {
		page := with(c.changes)
		if !strings.Contains(page, "Two <b>books") || !strings.Contains(page, "Order 17/b") {
			t.Errorf("%s: the page lacks what is paid", name)
		}
		if c.back == "" && strings.Contains(page, "shop.example") || !strings.Contains(page, c.back) {
			t.Errorf("%s: got %s, want the link back %s", name, page, c.back)
		}
	}
	if page := with(map[string]any{"returnUrl": "", "status": "settled", "settledAt": noon, "txHash": "ab12", "mode": "live"}); strings.Contains(page, `id="return"`) ||
		!strings.Contains(page, `<dd dir="ltr"><a href="https://tronscan.org/#/transaction/ab12"`) {
		t.Errorf("a receipt without a shop: got %s, want the transaction at its explorer and no link back", page)
	}
}
