//go:build integration && long

package browser

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// states are the payments that make every page, by name: what differs from a transfer that waits for its payer.
func states() map[string]api.Object {
	address := "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"
	option := func(crypto, network string) api.Object {
		return api.Object{"crypto": crypto, "network": network, "cryptoAmount": 15.9375, "rate": 1600}
	}
	refund := func(status string) api.Object {
		return api.Object{
			"id": "rfd_1", "status": status, "crypto": "USDT", "network": "tron", "amount": 12.5, "address": address, "txHash": strings.Repeat("ab", 32),
			"createdAt": time.Now(), "confirmedAt": nil,
		}
	}
	coin := api.Object{
		"crypto": "ETH", "network": "base", "cryptoAmount": 0.004981, "remainingAmount": 0.004981, "takesTransactionHash": true,
		"depositAddress": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "paymentUri": "ethereum:0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed@8453?value=4981000000000000",
	}
	over := time.Now().Add(-time.Hour)
	return map[string]api.Object{
		"choose":           {"type": "request", "status": "created", "options": []api.Object{option("USDT", "tron"), option("USDT", "bsc"), option("BTC", "bitcoin")}},
		"choose-nothing":   {"type": "request", "status": "created"},
		"request-expired":  {"type": "request", "status": "created", "expiresAt": over},
		"send":             {},
		"send-coin":        coin,
		"send-gift":        {"type": "gift"},
		"send-merchant":    {"type": "merchant"},
		"topup":            {"receivedAmount": 5.5, "remainingAmount": 10.4375, "exception": "underpaid"},
		"closing":          {"expiresAt": over},
		"confirming":       {"status": "confirming", "confirmations": 5},
		"confirming-early": {"status": "confirming", "confirmations": 5, "network": "polygon", "requiredConfirmations": 128, "exception": "underpaid"},
		"confirming-final": {"status": "confirming", "network": "solana", "requiredConfirmations": 0, "exception": "reorged"},
		"confirmed":        {"status": "confirmed", "exception": "overpaid", "payoutAmount": 30100},
		"confirmed-shop":   {"type": "merchant", "status": "confirmed", "exception": "overpaid"},
		"held":             {"status": "confirmed", "exception": "screening_hold"},
		"gift-ready":       {"type": "gift", "status": "confirmed"},
		"settling":         {"status": "settling", "exception": "paid_late"},
		"settled":          {"status": "settled", "settledAt": over, "receivedAmount": 15.9375},
		"settled-order": {
			"status": "settled", "settledAt": over, "receivedAmount": 15.9375, "txHash": strings.Repeat("ab", 32), "merchantReference": "2026/order-000000000000000017",
			"description": "Two books about the history of the cowrie, and a lamp to read them by", "returnUrl": "https://shop.example/thanks",
		},
		"send-order":   {"merchantReference": "17", "description": "A lamp", "returnUrl": "https://shop.example/thanks"},
		"settled-shop": {"type": "merchant", "status": "settled", "settledAt": over, "exception": "overpaid", "takesRefundAddress": true},
		"expired":      {"status": "expired"},
		"cancelled":    {"status": "cancelled"},
		"refunded":     {"status": "refunded", "exception": "underpaid", "refunds": []api.Object{refund("confirmed"), refund("failed")}},
		"refunding": {
			"status": "needs_review", "exception": "wrong_asset", "takesRefundAddress": true, "refundAddress": address,
			"refundAddressHeldUntil": time.Now().Add(time.Hour), "refundAddressProposed": address,
			"refunds": []api.Object{refund("requested"), refund("approved"), refund("signing"), refund("sent")},
		},
		"review":        {"status": "needs_review", "exception": "underpaid", "takesRefundAddress": true},
		"claim-form":    {"type": "gift", "claimed": false},
		"claim-waiting": {"type": "gift", "status": "settling", "exception": "unfunded", "claimed": true},
		"claim-running": {"type": "gift", "status": "settling", "claimed": true},
		"claim-done":    {"type": "gift", "status": "settled", "claimed": true},
		"claim-review":  {"type": "gift", "status": "needs_review", "claimed": true},
		"claim-gone":    {"type": "gift", "status": "expired", "claimed": false},
	}
}

// showing answers as payments would for these states, each under a reference of its own.
func showing(t *testing.T, states map[string]api.Object) (url string, references map[string]string) {
	t.Helper()
	references = map[string]string{}
	payments := map[string]api.Object{}
	for name, changes := range states {
		n := len(references)
		ref := fmt.Sprintf("CW-AAAAAAAAAAAA%c%c", 'A'+n/8, 'A'+n%8)
		references[name] = ref
		p := api.Object{
			"reference": ref, "type": "transfer", "status": "pending", "exception": nil, "mode": "test", "fiatAmount": 1234567.5, "fiatCurrency": "NGN",
			"depositAddress": "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH", "cryptoAmount": 15.9375, "crypto": "USDT", "network": "trc20", "rate": 1600,
			"remainingAmount": 15.9375, "receivedAmount": 0, "payoutAmount": 1234567.5, "confirmations": 0, "requiredConfirmations": 19, "txHash": "",
			"charge": api.Object{"fiat": 375}, "expiresAt": time.Now().Add(time.Hour), "settledAt": nil,
		}
		maps.Copy(p, changes)
		payments[ref] = p
	}
	answer := func(w http.ResponseWriter, body any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/checkout/{reference}", func(w http.ResponseWriter, r *http.Request) {
		p, ok := payments[r.PathValue("reference")]
		if !ok {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		answer(w, api.Object{"success": true, "payment": p})
	})
	mux.HandleFunc("GET /v1/banks", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, api.Object{"success": true, "banks": []api.Object{
			{"code": "044", "name": "Access Bank", "currency": "NGN"}, {"code": "058", "name": "Guaranty Trust Bank", "currency": "NGN"},
		}})
	})
	mux.HandleFunc("POST /v1/payments/verify-receiver", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, api.Object{"receiver": api.Object{"accountName": "", "accountNumber": "0123456789", "bankCode": "058", "bankName": "Guaranty Trust Bank"}})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL, references
}

// TestLanguageMatrix: every page in every language fits a narrow screen and large texts, axe finds nothing, and no text
// has a gap left open. The gateway is the real one; the states come from a server that answers as payments would.
func TestLanguageMatrix(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{})
	all := states()
	url, references := showing(t, all)
	s.Kill(t, "gateway")
	if err := s.StartWith(t, "gateway", map[string]string{"PAYMENTS_URL": url}); err != nil {
		t.Fatal(err)
	}
	t.Run("languages", func(t *testing.T) { // the stack stays until all of them are done
		for _, code := range []string{"en", "fr", "sw", "ha", "yo", "pt", "ar"} {
			t.Run(code, func(t *testing.T) {
				t.Parallel()
				tabs <- struct{}{}
				defer func() { <-tabs }()
				b := openOn(t, narrow, s, s.APIKey)
				b.expect("status of") // pages of errors
				for name := range all {
					path := "/pay/" + references[name]
					if strings.HasPrefix(name, "claim-") {
						path = "/claim/" + references[name]
					}
					b.visit(path + "?lang=" + code)
					b.whole(name)
				}
				form := "/claim/" + references["claim-form"]
				b.visit(form + "?lang=" + code)
				b.submit(".account .button")
				b.whole("claim-empty")
				b.click("#bank-058")
				b.enter("#account", "0123456789")
				b.submit(".account .button")
				b.whole("claim-confirm")
				b.visit("/pay/nonsense?lang=" + code)
				b.whole("missing")
				b.visit("/pay/CW-BBBBBBBBBBBB?lang=" + code)
				b.whole("passing")
			})
		}
	})
}

// whole holds one page of the matrix to what all of them owe.
func (b *tab) whole(name string) {
	b.t.Helper()
	if shown := b.text(); strings.ContainsAny(shown, "{}") || strings.Contains(shown, "stage.") {
		b.t.Errorf("%s: a text has an open gap, or is missing:\n%s", name, shown)
	}
	b.fits(name)
	b.resize(b.size.width)
	b.shoot(name)
	b.accessible(name)
}
