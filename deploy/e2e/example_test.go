//go:build integration

package e2e

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/deploy/e2e/internal/contract"
)

// browser calls the pages of an example as a person does.
type browser struct {
	base string
	http *http.Client
}

func (b browser) open(t *testing.T, method, path string, form url.Values) (status int, location, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := b.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Location"), string(raw)
}

// rotateSecret replaces the secret that signs the callbacks of a merchant; the earlier ones end now, or in 24 hours.
func rotateSecret(t *testing.T, merchant *api.Client, revoke bool) {
	t.Helper()
	merchant.Call(t, http.MethodGet, "/v1/webhooks/secret", nil).Want(t, http.StatusOK) // makes the first one
	merchant.Call(t, http.MethodPost, "/v1/webhooks/secret/rotate", api.Object{"revokePrevious": revoke}).Want(t, http.StatusOK)
}

// sellLamp buys in docs/examples/node-shop as its README says: an order, its payment, the webhook, the order paid, and
// the surplus sent back. The webhook secret is replaced before the shop starts, and while it runs.
func sellLamp(t *testing.T) {
	s, c := shared(t)
	merchant := key(t, s, c, "test", unique("shop"), "*")
	document, err := contract.Find("gateway/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rotateSecret(t, merchant, false)
	shop := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(document), "..", "docs", "examples", "node-shop", "start"))
	shop.Env = append(os.Environ(), "CAUSEWAY_URL="+s.BaseURL, "CAUSEWAY_API_KEY="+merchant.Key, "PORT=0", "ORDERS="+filepath.Join(t.TempDir(), "orders.json"))
	shop.Stderr = os.Stderr
	said, err := shop.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shop.Start(); err != nil {
		t.Fatal(err)
	}
	b := browser{http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	t.Cleanup(func() {
		b.http.CloseIdleConnections()
		_ = shop.Process.Kill()
		_ = shop.Wait() // it was killed
	})
	for lines := bufio.NewScanner(said); b.base == "" && lines.Scan(); {
		_, b.base, _ = strings.Cut(lines.Text(), "the shop is at ")
	}
	if b.base == "" {
		t.Fatal("the shop did not start")
	}
	rotateSecret(t, merchant, true)

	status, checkout, body := b.open(t, http.MethodPost, "/orders", nil)
	if status != http.StatusSeeOther || !strings.Contains(checkout, "/pay/") {
		t.Fatalf("buy a lamp: got %d, the location %q, %s; want the payment page", status, checkout, body)
	}
	reference := checkout[strings.LastIndex(checkout, "/")+1:]
	order := merchant.Call(t, http.MethodGet, "/v1/payments/"+reference, nil).Want(t, http.StatusOK).Text(t, "payment.metadata.order")
	orderPage := func() string {
		_, _, body := b.open(t, http.MethodGet, "/orders/"+order, nil)
		return body
	}
	if _, again, _ := b.open(t, http.MethodPost, "/orders/"+order+"/pay", nil); again != checkout {
		t.Errorf("pay the order again: got the page %q, want the same payment at %q", again, checkout)
	}
	if status, _, _ := b.open(t, http.MethodPost, "/webhooks", url.Values{"forged": {"yes"}}); status != http.StatusBadRequest {
		t.Errorf("post a forged webhook: got %d, want 400", status)
	}
	if got := orderPage(); !strings.Contains(got, "Not paid yet") {
		t.Errorf("open the order before anything was paid: got %s", got)
	}

	if status, _, _ := b.open(t, http.MethodPost, "/orders/"+order+"/refund", url.Values{"address": {payersTron}}); status != http.StatusConflict {
		t.Errorf("ask for money back before anything was paid: got %d, want 409", status)
	}
	merchant.Call(t, http.MethodPost, "/v1/sandbox/payments/"+reference+"/expire", api.Object{}).Want(t, http.StatusOK)
	awaitStatus(t, merchant, reference, "expired")
	if _, checkout, _ = b.open(t, http.MethodPost, "/orders/"+order+"/pay", nil); strings.HasSuffix(checkout, reference) {
		t.Fatalf("pay an order whose payment has expired: got the page of the same payment, %s", checkout)
	}
	reference = checkout[strings.LastIndex(checkout, "/")+1:]

	c.With("").Call(t, http.MethodPost, fulfilPath(reference), fulfilment()).Want(t, http.StatusOK)
	c.With("").Call(t, http.MethodPost, "/v1/checkout/"+reference+"/simulate", api.Object{"scenario": "over"}).Want(t, http.StatusOK)
	api.Eventually(t, settle, "the order to be paid", func() bool {
		got := orderPage()
		return strings.Contains(got, "Paid. Your parcel is on its way.") && strings.Contains(got, "You paid too much")
	})
	status, _, body = b.open(t, http.MethodPost, "/orders/"+order+"/refund", url.Values{"address": {payersTron}})
	if status != http.StatusSeeOther {
		t.Fatalf("ask for the surplus back: got %d %s", status, body)
	}
	api.Eventually(t, time.Minute, "the refund to be confirmed", func() bool {
		return strings.Contains(orderPage(), "USDT: confirmed")
	})
}
