package httpapi_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/bank"
	"causeway.internal/services/payments/internal/httpapi"
	"causeway.internal/services/payments/internal/payouts"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/flutterwave"
	"causeway.internal/services/payments/internal/rail/paystack"
	"causeway.internal/services/payments/internal/rail/self"
)

var identityKey = []byte("payments identity key, 32 bytes!")

// hinted records the payouts that webhooks named.
type hinted struct{ refs []string }

func (h *hinted) Hint(_ context.Context, rail, reference string) error {
	h.refs = append(h.refs, rail+" "+reference)
	return nil
}

// railsServer serves the routes of payments over the two rails, neither of which is ever called.
func railsServer(t testing.TB) (http.Handler, *hinted) {
	t.Helper()
	ps, err := paystack.New(paystack.Options{Base: paystack.Base, Keys: map[money.Currency]config.Secret{money.NGN: bank.PaystackKey}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	fw, err := flutterwave.New(flutterwave.Options{Base: flutterwave.Base, Key: bank.FlutterwaveKey, Hash: bank.FlutterwaveHash, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	hints := &hinted{}
	server := httpkit.NewServer(slog.New(slog.DiscardHandler), prometheus.NewRegistry(),
		httpkit.Verifier{Audience: "payments", Keys: [][]byte{identityKey}, Now: time.Now})
	httpapi.Routes(server, httpapi.UseCases{Hints: &payouts.Hints{
		Providers: map[tenant.Mode]provider.Set{tenant.Live: {Rail: ps, Others: []rail.Provider{fw, self.Rail{}}}}, Hint: hints.Hint,
	}})
	return server, hints
}

// webhook posts a body as a rail would, through the gateway.
func webhook(t testing.TB, server http.Handler, name string, header http.Header, body []byte) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/rails/"+name+"/webhook", bytes.NewReader(body))
	for key, values := range header {
		r.Header[key] = values
	}
	identity, err := httpkit.Identity{
		Subject: httpkit.Public, RequestID: "req_1", Method: r.Method, Path: r.URL.RequestURI(), Audience: "payments", IssuedAt: time.Now().UnixMilli(),
	}.Sign(identityKey)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(httpkit.IdentityHeader, identity)
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w.Code
}

// signed are headers that verify at both rails.
func signed(body []byte) http.Header {
	mac := hmac.New(sha512.New, []byte(bank.PaystackKey))
	mac.Write(body)
	return http.Header{"X-Paystack-Signature": {hex.EncodeToString(mac.Sum(nil))}, "Verif-Hash": {bank.FlutterwaveHash}, "Content-Type": {"application/json"}}
}

func TestRailWebhook(t *testing.T) {
	server, hints := railsServer(t)
	good := []byte(`{"event":"transfer.success", "data":{"reference":"cw-abcdefghjkmn-1","status":"success"}}`)
	for name, c := range map[string]struct {
		rail   string
		header http.Header
		body   []byte
		want   int
	}{
		"paystack":               {"paystack", signed(good), good, http.StatusOK},
		"flutterwave":            {"flutterwave", signed(good), good, http.StatusOK},
		"changed by a blank":     {"paystack", signed(good), bytes.Replace(good, []byte(" "), nil, 1), http.StatusUnauthorized},
		"without a signature":    {"paystack", nil, good, http.StatusUnauthorized},
		"without a hash":         {"flutterwave", nil, good, http.StatusUnauthorized},
		"a rail without any":     {"self", signed(good), good, http.StatusNotFound},
		"a rail that nobody has": {"swift", signed(good), good, http.StatusNotFound},
		"about something else":   {"paystack", signed([]byte(`{"event":"charge.success"}`)), []byte(`{"event":"charge.success"}`), http.StatusOK},
		"no JSON":                {"paystack", signed([]byte("x")), []byte("x"), http.StatusBadRequest},
		"too large":              {"paystack", nil, bytes.Repeat([]byte(" "), httpkit.BodyMax+1), http.StatusRequestEntityTooLarge},
	} {
		if got := webhook(t, server, c.rail, c.header, c.body); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if len(hints.refs) != 2 {
		t.Errorf("hints %v", hints.refs)
	}
}

// FuzzRailWebhook: no body, signed or not, causes a 500, and only a signed body that names a payout is a hint.
func FuzzRailWebhook(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `null`, `[]`, `{"event":"transfer.success","data":{"reference":"cw-abcdefghjkmn-1"}}`, `{"event":"transfer.success","data":{"reference":"../x"}}`,
		`{"event":"transfer.success","data":null}`, `{"event":5}`, `{"data":{"reference":{"a":1}}}`, `{"event":"transfer.","data":{"reference":"CW-ABC"}}`,
		`{"event":"transfer.x","event":"y"}`, "{\"event\":\"\x00\"}", `{"event":"transfer.x","data":{"reference":"cw-a-1'; DROP TABLE payouts;--"}}`,
	} {
		f.Add([]byte(body), true, "paystack")
		f.Add([]byte(body), false, "flutterwave")
		f.Add([]byte(body), true, "flutterwave")
	}
	server, hints := railsServer(f)
	f.Fuzz(func(t *testing.T, body []byte, sign bool, name string) {
		if name != "paystack" && name != "flutterwave" && name != "self" {
			name = "other"
		}
		header := http.Header{"X-Paystack-Signature": {string(bytes.ToValidUTF8(body, nil))}}
		if sign {
			header = signed(body)
		}
		hints.refs = nil
		got := webhook(t, server, name, header, body)
		if got >= http.StatusInternalServerError {
			t.Fatalf("webhook of %s = %d, want no failure of the server", name, got)
		}
		if len(hints.refs) > 0 && (!sign || got != http.StatusOK || !rail.IsReference(hints.refs[0][len(name)+1:])) {
			t.Fatalf("%d with hints %v", got, hints.refs)
		}
	})
}
