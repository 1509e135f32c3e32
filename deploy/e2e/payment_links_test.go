//go:build integration

package e2e

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

const paymentLinks = "/v1/payment-links"

func paymentLink(t testing.TB, c *api.Client, more api.Object, options ...api.Option) *api.Answer {
	t.Helper()
	body := api.Object{"type": "merchant", "title": "Course fee", "fiatCurrency": "NGN", "fiatAmount": 50000}
	for name, value := range more {
		if body[name] = value; value == nil {
			delete(body, name)
		}
	}
	return c.Call(t, http.MethodPost, paymentLinks, body, options...)
}

// TestPaymentLinks: a merchant makes a link, payers make payments out of it, and each belongs to the merchant.
func TestPaymentLinks(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("links"), "*")
	made := paymentLink(t, mine, nil).Want(t, http.StatusCreated)
	id := made.Text(t, "paymentLink.id")
	if made.Text(t, "paymentLink.status") != "active" || !strings.HasSuffix(made.Text(t, "paymentLink.url"), "/link/"+id) {
		t.Errorf("made: %s", made.Body)
	}
	shown := c.Call(t, http.MethodGet, "/v1/links/"+id, nil).Want(t, http.StatusOK)
	if shown.Text(t, "link.title") != "Course fee" || shown.Len(t, "link.options") == 0 || strings.Contains(string(shown.Body), "merchantId") {
		t.Errorf("a payer sees %s", shown.Body)
	}
	paid := c.Call(t, http.MethodPost, "/v1/links/"+id+"/payments", api.Object{"crypto": "USDT", "network": "tron"}).Want(t, http.StatusCreated)
	ref := paid.Text(t, "payment.reference")
	got := mine.Call(t, http.MethodGet, "/v1/payments/"+ref, nil).Want(t, http.StatusOK)
	if got.Text(t, "payment.metadata.paymentLink") != id || got.Text(t, "payment.type") != "merchant" || paid.Header.Get("Link") == "" {
		t.Errorf("the payment: %s, %v", got.Body, paid.Header)
	}
	if again := mine.Call(t, http.MethodGet, paymentLinks+"/"+id, nil).Want(t, http.StatusOK); again.Number(t, "paymentLink.uses").Num().Int64() != 1 {
		t.Errorf("after one payment: %s", again.Body)
	}
	if list := mine.Call(t, http.MethodGet, paymentLinks+"?limit=1", nil).Want(t, http.StatusOK); list.Len(t, "paymentLinks") != 1 {
		t.Errorf("list: %s", list.Body)
	}

	other := key(t, s, c, "test", unique("links"), "*")
	other.Call(t, http.MethodGet, paymentLinks+"/"+id, nil).Want(t, http.StatusNotFound)
	other.Call(t, http.MethodPatch, paymentLinks+"/"+id, api.Object{"status": "ended"}).Want(t, http.StatusNotFound)
	other.Call(t, http.MethodGet, "/v1/payments/"+ref, nil).Want(t, http.StatusNotFound)
	if list := other.Call(t, http.MethodGet, paymentLinks, nil).Want(t, http.StatusOK); list.Len(t, "paymentLinks") != 0 {
		t.Errorf("another merchant lists %s", list.Body)
	}

	ended := mine.Call(t, http.MethodPatch, paymentLinks+"/"+id, api.Object{"status": "ended", "title": "Closed"}).Want(t, http.StatusOK)
	if ended.Text(t, "paymentLink.status") != "ended" || ended.Text(t, "paymentLink.title") != "Closed" {
		t.Errorf("ended: %s", ended.Body)
	}
	c.Call(t, http.MethodPost, "/v1/links/"+id+"/payments", api.Object{"crypto": "USDT", "network": "tron"}).Want(t, http.StatusConflict)
	c.Call(t, http.MethodGet, "/v1/links/plk_none", nil).Want(t, http.StatusNotFound)
	key(t, s, c, "test", unique("links"), "payment:read").Call(t, http.MethodPost, paymentLinks, api.Object{}, bad).Want(t, http.StatusForbidden)
}

// TestPaymentLinks_bad: links that break a rule, and payments that break a link's.
func TestPaymentLinks_bad(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("links"), "*")
	for _, more := range []api.Object{
		{"type": "gift"},
		{"title": nil},
		{"title": strings.Repeat("x", 101)},
		{"fiatCurrency": "USD"},
		{"fiatAmount": -1},
		{"fiatAmount": 1.234},
		{"minimumAmount": 5},
		{"fiatAmount": nil, "minimumAmount": 5, "maximumAmount": 4},
		{"type": "request"},
		{"settlementAccountId": "sac_x"},
		{"usageLimit": 0},
		{"expiresAt": "2020-01-01T00:00:00.000Z"},
		{"expiresAt": "tomorrow"},
	} {
		paymentLink(t, mine, more, bad).Want(t, http.StatusBadRequest)
	}
	paymentLink(t, mine, api.Object{"type": "request", "settlementAccountId": "sac_06gzxbfcr1k3v5x7z9b2d4f6h8"}).Want(t, http.StatusNotFound)
	open := paymentLink(t, mine, api.Object{"fiatAmount": nil, "minimumAmount": 20000, "maximumAmount": 60000}).Want(t, http.StatusCreated).Text(t, "paymentLink.id")
	pay := func(amount any) *api.Answer {
		return c.Call(t, http.MethodPost, "/v1/links/"+open+"/payments", api.Object{"crypto": "USDT", "network": "tron", "fiatAmount": amount}, bad)
	}
	for _, amount := range []any{nil, 19999, 60001, "30000"} {
		pay(amount).Want(t, http.StatusBadRequest)
	}
	pay(30000).Want(t, http.StatusCreated)
}

// TestPaymentLinks_limit: no two payers share the last place, and a cancelled payment gives its place back.
func TestPaymentLinks_limit(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("links"), "*")
	id := paymentLink(t, mine, api.Object{"usageLimit": 3}).Want(t, http.StatusCreated).Text(t, "paymentLink.id")
	pay := func() *api.Answer {
		return c.Call(t, http.MethodPost, "/v1/links/"+id+"/payments", api.Object{"crypto": "USDT", "network": "tron"})
	}
	var made atomic.Int32
	var last atomic.Value
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if a := pay().Want(t, http.StatusCreated, http.StatusConflict); a.Status == http.StatusCreated {
				made.Add(1)
				last.Store(a.Text(t, "payment.reference"))
			}
		})
	}
	wg.Wait()
	if made.Load() != 3 {
		t.Fatalf("a link for three payments made %d", made.Load())
	}
	if a := mine.Call(t, http.MethodGet, paymentLinks+"/"+id, nil).Want(t, http.StatusOK); a.Text(t, "paymentLink.status") != "used_up" {
		t.Errorf("used up: %s", a.Body)
	}
	mine.Call(t, http.MethodPost, "/v1/payments/"+last.Load().(string)+"/cancel", nil).Want(t, http.StatusOK)
	pay().Want(t, http.StatusCreated)
	pay().Want(t, http.StatusConflict)
}
