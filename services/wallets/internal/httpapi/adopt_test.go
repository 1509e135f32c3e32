package httpapi_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/httpapi"
)

type reassigner struct {
	from tenant.Owner
	to   int64
}

func (r *reassigner) Reassign(_ context.Context, from tenant.Owner, to int64) (int64, error) {
	r.from, r.to = from, to
	return 3, nil
}

// Only the gateway's operator may move wallets, and only with every field present.
func TestAdopt(t *testing.T) {
	key := []byte(strings.Repeat("k", 32))
	s := httpkit.NewServer(slog.New(slog.DiscardHandler), prometheus.NewRegistry(), httpkit.Verifier{Audience: "wallets", Keys: [][]byte{key}, Now: time.Now})
	r := &reassigner{}
	httpapi.Adopt(s, r)
	ask := func(subject httpkit.Subject, body string) (int, string) {
		t.Helper()
		const path = "/v1/admin/wallets/adopt"
		header, err := httpkit.Identity{Subject: subject, Operator: "ada", MerchantID: "acme", KeyID: 7, Mode: "test", Method: "POST", Path: path, Audience: "wallets", IssuedAt: time.Now().UnixMilli()}.Sign(key)
		if err != nil {
			t.Fatal(err)
		}
		q := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		q.Header.Set(httpkit.IdentityHeader, header)
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, q)
		return rec.Code, rec.Body.String()
	}
	const good = `{"merchantId":"acme","mode":"test","fromKeyId":7,"toKeyId":8}`
	for _, subject := range []httpkit.Subject{httpkit.Merchant, httpkit.Public} {
		if code, body := ask(subject, good); code != http.StatusUnauthorized || r.to != 0 {
			t.Errorf("adopt as %s: got %d %s, want 401", subject, code, body)
		}
	}
	for _, bad := range []string{``, `{}`, strings.Replace(good, `"test"`, `"both"`, 1), strings.Replace(good, `8`, `0`, 1), strings.Replace(good, `"acme"`, `""`, 1)} {
		if code, body := ask(httpkit.Operator, bad); code != http.StatusBadRequest || r.to != 0 {
			t.Errorf("adopt with %s: got %d %s, want 400", bad, code, body)
		}
	}
	if code, body := ask(httpkit.Operator, good); code != http.StatusOK || !strings.Contains(body, `"moved":3`) ||
		r.to != 8 || r.from != (tenant.Owner{MerchantID: "acme", KeyID: 7, Mode: "test"}) {
		t.Errorf("adopt as an operator: got %d %s, %+v, want 3 moved from key 7 to key 8", code, body, r)
	}
}
