package page

import (
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"causeway.internal/gateway/internal/proxy"
)

// Each sentence about less or more money than was asked for is true of where the payment is and where the money goes.
func TestPay_amounts(t *testing.T) {
	refunds := []map[string]any{{"id": "rfd_1", "status": "sent", "crypto": "USDT", "network": "tron", "amount": 1, "createdAt": noon}}
	const less, more = "Less arrived than the requested amount.", "You sent more than the requested amount."
	for name, c := range map[string]struct {
		changes map[string]any
		says    string
		lacks   []string
	}{
		"less, a person decides": {
			map[string]any{"type": "merchant", "status": "needs_review", "exception": "underpaid"},
			less + " A person decides",
			[]string{"goes on with what arrived", "payment continued"},
		},
		"less, on its way": {
			map[string]any{"status": "confirming", "exception": "underpaid"}, less + " The payment goes on with what arrived.", nil,
		},
		"less, paid out": {
			map[string]any{"status": "settled", "exception": "underpaid", "payoutAmount": 12000}, less + " The payout is NGN 12,000.", nil,
		},
		"less, sent back": {
			map[string]any{"status": "refunded", "exception": "underpaid"}, less, []string{"goes on", "payment continued", "The payout is"},
		},
		"more, paid out": {
			map[string]any{"status": "settled", "exception": "overpaid", "payoutAmount": 30100},
			more + " The payout is NGN 30,100.",
			[]string{"recorded the surplus", "surplus"},
		},
		"more, on its way": {
			map[string]any{"status": "confirming", "exception": "overpaid"}, more, []string{"recorded the surplus", "The payout is"},
		},
		"more, to a merchant": {
			map[string]any{"type": "merchant", "status": "settling", "exception": "overpaid"},
			more + " The surplus is not part of this payment.",
			[]string{"recorded the surplus", "The payout is"},
		},
		"more, and owed": {
			map[string]any{"type": "request", "status": "settled", "exception": "overpaid", "takesRefundAddress": true},
			more + " The surplus is yours: see below.", nil,
		},
		"more after the payout of a transfer": {
			map[string]any{"status": "settled", "exception": "overpaid", "refunds": refunds}, more + " The surplus is yours: see below.", nil,
		},
		"more, a person decides": {
			map[string]any{"status": "needs_review", "exception": "overpaid", "takesRefundAddress": true}, more, []string{"recorded the surplus", "The payout is"},
		},
	} {
		_, h := pages(t, map[string]proxy.Reply{checkout: checkoutOf(c.changes)})
		page := html.UnescapeString(get(h, "/pay/"+reference).Body.String())
		if !strings.Contains(page, c.says) {
			t.Errorf("show a payment with %s: the page lacks %q", name, c.says)
		}
		for _, never := range c.lacks {
			if strings.Contains(page, never) {
				t.Errorf("show a payment with %s: the page says %q", name, never)
			}
		}
	}
}

// A confirmed payment does not wait for the network any more.
func TestPay_next(t *testing.T) {
	const waits = "After the network has confirmed"
	for _, kind := range []string{"transfer", "request", "merchant", "bank_confirmation"} {
		s, h := pages(t, map[string]proxy.Reply{checkout: checkoutOf(map[string]any{"type": kind, "status": "confirmed"})})
		if page := get(h, "/pay/"+reference).Body.String(); strings.Contains(page, waits) || !strings.Contains(page, "What happens next") {
			t.Errorf("show a confirmed %s: the page says that the network has yet to confirm it, or nothing", kind)
		}
		s.answers[checkout] = checkoutOf(map[string]any{"type": kind, "status": "confirming"})
		if page := get(h, "/pay/"+reference).Body.String(); !strings.Contains(page, waits) {
			t.Errorf("show a %s that is being confirmed: the page does not say what follows", kind)
		}
	}
}

// Where a block is final before the number of confirmations, the page counts up to no number that is never reached.
func TestPay_depth(t *testing.T) {
	for network, early := range map[string]bool{"polygon": true, "bsc": true, "tron": false, "bitcoin": false, "base": false} {
		_, h := pages(t, map[string]proxy.Reply{checkout: checkoutOf(map[string]any{
			"status": "confirming", "network": network, "confirmations": 5, "requiredConfirmations": 128,
		})})
		page := get(h, "/pay/"+reference).Body.String()
		counts := strings.Contains(page, "5 of 128") && strings.Contains(page, "<progress")
		final := strings.Contains(page, "once the network calls it final, after 128 confirmations at the latest")
		if counts == early || final != early {
			t.Errorf("show 5 confirmations on %s: it counts up to 128: %t, and says that final blocks count: %t; want %t and %t",
				network, counts, final, !early, early)
		}
	}
}

// The claim page reads a number as people write it, and says which mistake was made.
func TestClaim_accountNumbers(t *testing.T) {
	const verify = "POST /v1/payments/verify-receiver"
	refuse := func(message string) proxy.Reply {
		return proxy.Reply{Status: 400, Body: []byte(`{"message":"x","error":{"code":"validation_failed","fields":[{"field":"accountNumber","message":"` + message + `"}]}}`)}
	}
	s, h := pages(t, map[string]proxy.Reply{checkout: gift(nil), "GET /v1/banks": banks, verify: refuse("must be 10 digits")})
	for _, typed := range []string{"0123 456 789", "0123-456-789", " 0123\u00a0456\u202f789 ", "0123.456.789", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹"} {
		s.asked = nil
		post(h, "/claim/"+reference, url.Values{"bank": {"057"}, "account": {typed}})
		if !slices.ContainsFunc(s.asked, func(call string) bool { return strings.Contains(call, `"accountNumber":"0123456789"`) }) {
			t.Errorf("type %q: payments was asked %q, want 0123456789", typed, s.asked)
		}
	}
	for message, says := range map[string]string{
		"must be 10 digits":              "An account number has 10 digits",
		"no such account at this bank":   "does not know this account number",
		"must have at most 4 characters": "An account number has 10 digits",
	} {
		s.answers[verify] = refuse(message)
		w := post(h, "/claim/"+reference, url.Values{"bank": {"057"}, "account": {"123"}})
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), says) {
			t.Errorf("type a number that %s: got %d %s, want 400 and %q", message, w.Code, w.Body, says)
		}
		if n := strings.Count(w.Body.String(), `id="account-wrong"`); n != 1 {
			t.Errorf("type a number that %s: %d reasons, want one", message, n)
		}
	}
	s.answers[checkout] = gift(map[string]any{"fiatCurrency": "KES"})
	s.answers[verify] = refuse("must be 5 to 16 letters or digits")
	if w := post(h, "/claim/"+reference, url.Values{"bank": {"01"}, "account": {"1"}}); !strings.Contains(w.Body.String(), "does not look like an account number") {
		t.Errorf("type a number that is too short in Kenya: got %s, want a word about its form", w.Body)
	}
}

// After a mistake the chosen bank is the first of the list, which shows its beginning.
func TestClaim_chosenBankShows(t *testing.T) {
	_, h := pages(t, map[string]proxy.Reply{checkout: gift(nil), "GET /v1/banks": banks})
	page := post(h, "/claim/"+reference, url.Values{"bank": {"057"}}).Body.String()
	chosen, other := strings.Index(page, `value="057" id="bank-057" required checked`), strings.Index(page, `value="044"`)
	if chosen < 0 || other < chosen {
		t.Errorf("leave the number out: the chosen bank is at %d and another at %d, want it checked and first", chosen, other)
	}
}

// A payment that is done has a receipt: a person's payout is on it, a merchant's is not. Before, the page shows what is
// paid and what is left.
func TestPay_breakdown(t *testing.T) {
	_, h := pages(t, map[string]proxy.Reply{checkout: checkoutOf(map[string]any{
		"receivedAmount": 5.5, "remainingAmount": 10.4375, "rate": 1600, "charge": map[string]any{"fiat": 375, "crypto": 0.2, "usd": 0.2},
	})})
	page := html.UnescapeString(get(h, "/pay/"+reference).Body.String())
	for _, want := range []string{"NGN 375<", "1 USDT = NGN 1,600", ">15.9375 USDT<", ">5.5 USDT<", ">10.4375 USDT<"} {
		if !strings.Contains(page, want) {
			t.Errorf("show a payment that is paid in part: the page lacks %q", want)
		}
	}
	for kind, paid := range map[string]bool{"transfer": true, "merchant": false} {
		_, h := pages(t, map[string]proxy.Reply{checkout: checkoutOf(map[string]any{
			"type": kind, "status": "settled", "settledAt": noon, "receivedAmount": 15.9375, "payoutAmount": 24625, "txHash": "ab12", "network": "tron",
			"charge": map[string]any{"fiat": 375},
		})})
		page := get(h, "/pay/"+reference).Body.String()
		for _, want := range []string{"Receipt", "1 April 2026, 12:00 UTC", "NGN 25,000.50", "15.9375 USDT", `href="https://tronscan.org/#/transaction/ab12"`} {
			if !strings.Contains(page, want) {
				t.Errorf("show a settled %s: the page lacks %q", kind, want)
			}
		}
		if strings.Contains(page, "NGN 24,625") != paid || strings.Contains(page, "NGN 375") {
			t.Errorf("show a settled %s: it names the payout: %t, want %t, and no fee", kind, !paid, paid)
		}
	}
}
