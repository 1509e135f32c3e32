package proxy_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
)

// seen remembers signatures in memory.
type seen struct {
	mu    sync.Mutex
	sums  map[string]string
	asked int
}

func (s *seen) Once(_ context.Context, sig *identity.Signature, once string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	sum := hex.EncodeToString(sig.Sum[:])
	first, there := s.sums[sum]
	if there && (once == "" || once != first) {
		return fault.New(fault.Unauthenticated, "signature_replayed", "again")
	}
	s.sums[sum] = once
	return nil
}

// counter is a gate that counts the calls that it admits.
type counter struct {
	mu   sync.Mutex
	keys []int64
}

func (c *counter) Admit(_ context.Context, call *proxy.Call) (func(int), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = append(c.keys, call.Caller.Key.ID)
	return nil, nil
}

// signedHeaders sign a request as a client does.
func signedHeaders(public, secret string, at time.Time, method, path, body string) []string {
	stamp := strconv.FormatInt(at.UnixMilli(), 10)
	return []string{"X-Api-Key", public, "X-Timestamp", stamp, "X-Signature", signText(secret, stamp, method, path, body)}
}

func signText(secret, stamp, method, path, body string) string {
	sum := sha256.Sum256([]byte(body))
	mac := hmac.New(sha256.New, apikey.SigningKey(secret))
	mac.Write([]byte(stamp + "|" + method + "|" + path + "|" + hex.EncodeToString(sum[:])))
	return hex.EncodeToString(mac.Sum(nil))
}

// Signed requests reach the service with the key's identity and without credentials, once; forged ones reach neither
// the service nor the limits of the key.
func TestProxy_signed(t *testing.T) {
	public, secret := credential.Generate(credential.Public, tenant.Test), credential.Generate(credential.Secret, tenant.Test)
	known := ring()
	key := apikey.Key{ID: 9, MerchantID: "acme", Mode: tenant.Test, Permissions: []string{"payment:*"}, Signing: apikey.SigningKey(secret)}.Compiled()
	known[public] = &key
	memory, gate := &seen{sums: map[string]string{}}, &counter{}
	w := start(t, http.HandlerFunc(echo), func(o *proxy.Options) {
		o.Callers = identity.NewResolver(known, nil, nil, time.Now)
		o.Replays, o.Gates = memory, []proxy.Gate{gate}
	})
	now := time.Now()
	body := `{"a": 1}`
	post := signedHeaders(public, secret, now, "POST", "/v1/payments", body)

	e := w.do(t, "POST", "/v1/payments", "", body, post...).echoed(t)
	if e.Identity.KeyID != 9 || e.Identity.MerchantID != "acme" || e.Body != body {
		t.Errorf("the service saw %+v", e)
	}
	for name := range e.Headers {
		switch name {
		case "X-Api-Key", "X-Timestamp", "X-Signature":
			t.Errorf("%s reached the service", name)
		}
	}
	w.do(t, "POST", "/v1/payments", "", body, post...).refused(t, 401, "signature_replayed")
	w.do(t, "POST", "/v1/payments", "", body, append(post, "Idempotency-Key", "k")...).refused(t, 401, "signature_replayed")
	if len(gate.keys) != 3 {
		t.Errorf("%d calls of the key were counted, want 3", len(gate.keys))
	}

	for name, tc := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
		code               string
	}{
		"changed body":      {"POST", "/v1/payments", body + " ", post, 401, "signature_invalid"},
		"changed path":      {"POST", "/v1/payments/CW-X/cancel", body, post, 401, "signature_invalid"},
		"old":               {"POST", "/v1/payments", body, signedHeaders(public, secret, now.Add(-6*time.Minute), "POST", "/v1/payments", body), 401, "signature_expired"},
		"another's secret":  {"POST", "/v1/payments", body, signedHeaders(public, testSecret, now, "POST", "/v1/payments", body), 401, "signature_invalid"},
		"an unknown key":    {"POST", "/v1/payments", body, signedHeaders(credential.Generate(credential.Public, tenant.Test), secret, now, "POST", "/v1/payments", body), 401, "api_key_invalid"},
		"a large body":      {"POST", "/v1/payments", strings.Repeat("x", 256<<10+1), post, 413, "body_too_large"},
		"an operator's":     {"GET", "/v1/admin/keys", "", post, 401, "operator_token_missing"},
		"only the public":   {"POST", "/v1/payments", body, []string{"X-Api-Key", public}, 401, "signature_missing"},
		"unsigned headers":  {"POST", "/v1/payments", body, post[2:], 401, "api_key_missing"},
		"not its own mode":  {"POST", "/v1/payments", body, signedHeaders(strings.Replace(public, "test", "live", 1), secret, now, "POST", "/v1/payments", body), 401, "api_key_invalid"},
		"no permission":     {"POST", "/v1/reports", body, signedHeaders(public, secret, now, "POST", "/v1/reports", body), 403, "permission_missing"},
		"spelled otherwise": {"POST", "/v1/payments", body, append(append([]string{}, post[:5]...), strings.ToUpper(post[5])), 401, "signature_invalid"},
	} {
		w.do(t, tc.method, tc.path, "", tc.body, tc.headers...).refused(t, tc.status, tc.code)
		if len(gate.keys) != 3 {
			t.Fatalf("%s was counted against the key's limits", name)
		}
	}

	asked := memory.asked
	get := signedHeaders(public, secret, now, "GET", "/v1/payments", "")
	for range 3 {
		w.do(t, "GET", "/v1/payments?limit=1", "", "", get...).echoed(t)
	}
	w.do(t, "GET", "/v1/payments", "", "", signedHeaders(public, secret, now, "GET", "/v1/payments?limit=2", "{}")...).refused(t, 401, "signature_invalid")
	w.do(t, "GET", "/v1/payments?limit=2", "", "", signedHeaders(public, secret, now, "GET", "/v1/payments?limit=2", "{}")...).echoed(t)
	if memory.asked != asked {
		t.Error("reads are remembered")
	}
	once := append(signedHeaders(public, secret, now, "POST", "/v1/payments", "{}"), "Idempotency-Key", "k")
	for range 3 { // the same key: the service has the stored answer
		w.do(t, "POST", "/v1/payments", "", "{}", once...).echoed(t)
	}
}

// Without a memory of signatures no signed change is admitted.
func TestProxy_signedWithoutMemory(t *testing.T) {
	public, secret := credential.Generate(credential.Public, tenant.Test), credential.Generate(credential.Secret, tenant.Test)
	key := apikey.Key{ID: 9, MerchantID: "acme", Mode: tenant.Test, Permissions: []string{"*"}, Signing: apikey.SigningKey(secret)}.Compiled()
	w := start(t, http.HandlerFunc(echo), func(o *proxy.Options) {
		o.Callers = identity.NewResolver(keys{public: &key}, nil, nil, time.Now)
	})
	w.do(t, "POST", "/v1/payments", "", "{}", signedHeaders(public, secret, time.Now(), "POST", "/v1/payments", "{}")...).refused(t, 500, "internal")
	w.do(t, "GET", "/v1/payments", "", "", signedHeaders(public, secret, time.Now(), "GET", "/v1/payments", "")...).echoed(t)
}
