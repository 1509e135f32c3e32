//go:build integration

package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/testkit/pg"
)

// A gateway with a table of two shards sends each merchant, each reference and each page to its own, whichever of two
// replicas is asked; and a merchant stays where its first key was made.
func TestGateway_twoShards(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	second := func(audience string) string {
		secret := sha256.Sum256([]byte(audience)) // each service has a key of its own
		verifier := httpkit.Verifier{Audience: audience, Keys: [][]byte{secret[:]}, BoundOnly: true, Now: time.Now}
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			who, err := verifier.Verify(r)
			if err != nil {
				httpkit.WriteError(w, "", err)
				return
			}
			mu.Lock()
			seen = append(seen, r.URL.Path)
			mu.Unlock()
			if strings.Contains(r.URL.Path, "CW-") {
				httpkit.WriteError(w, r.Header.Get(httpkit.RequestIDHeader), fault.New(fault.NotFound, "payment_not_found", "Payment not found"))
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "identity": who, "shard": "K2 " + audience})
		}))
		t.Cleanup(service.Close)
		return fmt.Sprintf(`"%s":{"url":"%s","keys":"%s"}`, audience, service.URL, base64.StdEncoding.EncodeToString(secret[:]))
	}
	table := `{"K2":{` + second("payments") + `,` + second("wallets") + `,` + second("callback-dispatcher") + `}}`
	database := pg.URL(t, migrations.FS)
	old, young := startOn(t, database, "SHARDS", table), startOn(t, database, "SHARDS", table, "SHARD", "K2")
	key := func(w *fixture, merchant string) string {
		made := w.call(t, "POST", "/v1/admin/keys", operatorToken,
			`{"merchantId":"`+merchant+`","name":"shop","mode":"test","permissions":["*"]}`).want(t, 201, "")
		secret, _ := made.key(t)["secret"].(string)
		return secret
	}
	acme, beta := key(old, "acme"), key(young, "beta")
	acmeToo, betaToo := key(young, "acme"), key(old, "beta")
	for name, w := range map[string]*fixture{"the first gateway": old, "the second": young} {
		for path, service := range map[string]string{"/v1/payments": "payments", "/v1/wallets": "wallets", "/v1/webhooks/endpoints": "callback-dispatcher"} {
			for _, merchant := range []struct {
				secret string
				shard  any
			}{{beta, "K2 " + service}, {betaToo, "K2 " + service}} {
				if got := w.call(t, "GET", path, merchant.secret, "").want(t, 200, "").body["shard"]; got != merchant.shard {
					t.Errorf("ask %s for %s: got the answer of %v, want %v", name, path, got, merchant.shard)
				}
			}
		}
		for _, secret := range []string{acme, acmeToo} {
			got := w.call(t, "POST", "/v1/payments", secret, "{}").want(t, 200, "")
			if who, _ := got.body["identity"].(map[string]any); got.body["shard"] != nil || who["mer"] != "acme" {
				t.Errorf("ask %s for a payment of acme: got %s, want the answer of the first shard", name, got.raw)
			}
		}
		w.call(t, "GET", "/v1/checkout/CW-K27KQ2M9XHTB4N", "", "").want(t, 404, "payment_not_found")
		w.call(t, "GET", "/v1/checkout/CW-AA7KQ2M9XHTB4N", "", "").want(t, 200, "")
		w.call(t, "GET", "/v1/checkout/CW-7KQ2M9XHTB4N", "", "").want(t, 200, "")
		w.call(t, "GET", "/pay/CW-GK28KQ2M9XHTB4N", "", "").want(t, 404, "payment_not_found")
		mu.Lock()
		if !slices.Contains(seen, "/v1/checkout/CW-K27KQ2M9XHTB4N") || !slices.Contains(seen, "/v1/checkout/CW-GK28KQ2M9XHTB4N") ||
			slices.ContainsFunc(seen, func(path string) bool { return strings.Contains(path, "CW-AA") || strings.Contains(path, "CW-7K") }) {
			t.Errorf("ask %s for references: the second shard was asked for %v, want its two alone", name, seen)
		}
		seen = nil
		mu.Unlock()
	}
}
