//go:build integration && long

package e2e

import (
	"cmp"
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
	"causeway.internal/libs/testkit/port"
)

// TestExample_woocommerce buys in docs/examples/woocommerce as its README says: an order, its payment, the webhook, the
// order paid, and the surplus sent back. The webhook secret is being replaced meanwhile.
func TestExample_woocommerce(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	merchant := key(t, s, c, "test", unique("woo"), "*")
	document, err := contract.Find("gateway/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rotateSecret(t, merchant, false)
	at := port.Free(t)
	shop := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(document), "..", "docs", "examples", "woocommerce", "start"))
	shop.Env = append(os.Environ(), "CAUSEWAY_PHP="+cmp.Or(os.Getenv("CAUSEWAY_PHP"), "php"), "CAUSEWAY_URL="+s.BaseURL, "CAUSEWAY_API_KEY="+merchant.Key,
		"PORT="+at[strings.LastIndex(at, ":")+1:], "ORDERS="+filepath.Join(t.TempDir(), "orders.json"))
	if err := shop.Start(); err != nil {
		t.Fatal(err)
	}
	b := browser{base: "http://" + at, http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	t.Cleanup(func() {
		b.http.CloseIdleConnections()
		_ = shop.Process.Kill()
		_ = shop.Wait() // it was killed
	})
	api.Eventually(t, settle, "the shop to start", func() bool {
		answer, err := b.http.Get(b.base + "/")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	rotateSecret(t, merchant, false)

	status, checkout, body := b.open(t, http.MethodPost, "/order", nil)
	if status != http.StatusSeeOther || !strings.Contains(checkout, "/pay/") {
		t.Fatalf("buy a lamp: got %d, the location %q, %s; want the payment page", status, checkout, body)
	}
	reference := checkout[strings.LastIndex(checkout, "/")+1:]
	if _, again, _ := b.open(t, http.MethodPost, "/order/1/pay", nil); again != checkout {
		t.Errorf("pay the order again: got the page %q, want the same payment at %q", again, checkout)
	}
	if status, _, _ := b.open(t, http.MethodPost, "/?wc-api=causeway", url.Values{"forged": {"yes"}}); status != http.StatusBadRequest {
		t.Errorf("post a forged webhook: got %d, want 400", status)
	}
	if status, _, _ := b.open(t, http.MethodPost, "/order/1/refund", nil); status != http.StatusConflict {
		t.Errorf("refund before anything was paid: got %d, want 409", status)
	}
	merchant.Call(t, http.MethodPost, "/v1/sandbox/payments/"+reference+"/expire", nil).Want(t, http.StatusOK)
	awaitStatus(t, merchant, reference, "expired")
	if _, checkout, _ = b.open(t, http.MethodPost, "/order/1/pay", nil); strings.HasSuffix(checkout, reference) {
		t.Fatalf("pay an order whose payment has expired: got the page of the same payment, %s", checkout)
	}
	reference = checkout[strings.LastIndex(checkout, "/")+1:]

	orderPage := func() string {
		_, _, body := b.open(t, http.MethodGet, "/order/1", nil)
		return body
	}
	c.With("").Call(t, http.MethodPost, fulfilPath(reference), fulfilment()).Want(t, http.StatusOK)
	c.With("").Call(t, http.MethodPost, "/v1/checkout/"+reference+"/simulate", api.Object{"scenario": "over"}).Want(t, http.StatusOK)
	api.Eventually(t, settle, "the order to be paid", func() bool { return strings.Contains(orderPage(), "Status: processing") })
	c.With("").Call(t, http.MethodPost, "/v1/checkout/"+reference+"/refund-address", api.Object{"address": payersTron}).Want(t, http.StatusOK)
	if status, _, body := b.open(t, http.MethodPost, "/order/1/refund", nil); status != http.StatusSeeOther {
		t.Fatalf("send the surplus back: got %d %s", status, body)
	}
	api.Eventually(t, time.Minute, "the refund to be confirmed", func() bool { return strings.Contains(orderPage(), "USDT: confirmed") })
}
