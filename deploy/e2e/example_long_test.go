//go:build integration && long

package e2e

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// The plugin takes a webhook by the one secret in its settings, and by either of two with a space between them. If they
// hold no secret, it says so in the log and answers 500, so that Causeway sends the webhook again.
func TestExample_woocommerceSecrets(t *testing.T) {
	t.Parallel()
	document, err := contract.Find("gateway/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const key, other = "bmV3ZXN0IHNlY3JldA==", "ZWFybGllciBzZWNyZXQ="
	for settings, want := range map[string]int{
		"whsec_" + key: http.StatusNoContent, "whsec_" + other + " whsec_" + key: http.StatusNoContent, " whsec_" + key + "\n": http.StatusNoContent,
		"whsec_" + other: http.StatusBadRequest, "": http.StatusInternalServerError, "secret": http.StatusInternalServerError,
	} {
		at := port.Free(t)
		shop := exec.CommandContext(t.Context(), cmp.Or(os.Getenv("CAUSEWAY_PHP"), "php"), "-S", at, "shop.php")
		shop.Dir = filepath.Join(filepath.Dir(document), "..", "docs", "examples", "woocommerce")
		shop.Env = append(os.Environ(), "WEBHOOK_SECRET="+settings, "ORDERS="+filepath.Join(t.TempDir(), "orders.json"))
		var log strings.Builder
		shop.Stderr = &log
		if err := shop.Start(); err != nil {
			t.Fatal(err)
		}
		const body = `{"data":{}}`
		now := strconv.FormatInt(time.Now().Unix(), 10)
		raw, err := base64.StdEncoding.DecodeString(key)
		if err != nil {
			t.Fatal(err)
		}
		mac := hmac.New(sha256.New, raw)
		mac.Write([]byte("evt_1." + now + "." + body))
		var got int
		api.Eventually(t, settle, "the shop to answer", func() bool {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at+"/?wc-api=causeway", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Close = true
			r.Header.Set("webhook-id", "evt_1")
			r.Header.Set("webhook-timestamp", now)
			r.Header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				return false
			}
			got = answer.StatusCode
			return answer.Body.Close() == nil
		})
		_ = shop.Process.Kill()
		_ = shop.Wait() // it was killed
		if logged := strings.Contains(log.String(), "the webhook secret in the settings is wrong"); got != want || logged != (want == http.StatusInternalServerError) {
			t.Errorf("a webhook with %q in the settings: got %d, want %d; the log:\n%s", settings, got, want, log.String())
		}
	}
}
