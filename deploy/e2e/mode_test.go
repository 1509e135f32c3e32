//go:build integration

package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestCallbackURLOfTestMode: any http(s) URL and port is accepted at create and never refused for its address.
func TestCallbackURLOfTestMode(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	for _, url := range []string{
		"http://127.0.0.1:1/hook", "http://10.0.0.1:8080/a?b=c", "http://169.254.169.254/latest", "https://example.com", "http://[::1]:9/x",
		"http://localhost:3000/callbacks", "http://internal/x",
	} {
		create(t, c, transfer(api.Object{"callbackUrl": url}))
	}
}

// TestCallbackURLOfLiveMode: https only, no userinfo, no IP literal. The request is checked before live mode is found
// closed, so this needs no live stack.
func TestCallbackURLOfLiveMode(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	live := key(t, s, c, "live", unique("live"), "*")
	for _, url := range []string{
		"http://example.com/hook", "https://user:secret@example.com/", "https://93.184.216.34/", "https://[2606:2800:220:1::]/", "https://127.0.0.1/",
		"https://2130706433/", "https://0x7f.1/",
	} {
		a := live.Call(t, http.MethodPost, "/v1/payments", transfer(api.Object{"callbackUrl": url}), bad).Want(t, http.StatusBadRequest)
		if !slices.Contains(a.FieldErrors(), "callbackUrl") {
			t.Errorf("%s: the error names %v", url, a.FieldErrors())
		}
	}
	live.Call(t, http.MethodPost, "/v1/payments", transfer(api.Object{"callbackUrl": "https://example.com/hook"}), api.Once).Want(t, http.StatusServiceUnavailable)
}

// strangeBanks are receivers whose bank nobody knows, or knows in another country.
func strangeBanks() map[string]api.Object {
	return map[string]api.Object{
		"unknown":            transfer(api.Object{"receiver": api.Object{"bankCode": "ZZZ9", "accountNumber": "0123456789"}}),
		"of another country": transfer(api.Object{"receiver": api.Object{"bankCode": "058", "accountNumber": "1234567890"}, "fiatCurrency": "KES"}),
	}
}

// TestBanks: every bank code of the right form is accepted with every currency in test mode and has a name; only live
// mode refuses, before it is found closed.
func TestBanks(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	live := key(t, s, c, "live", unique("live"), "*")
	for name, body := range strangeBanks() {
		made := create(t, c, body)
		if got := get(t, c, made.Text(t, "payment.reference")).Text(t, "payment.receiver.bankName"); got == "" {
			t.Errorf("a bank %s has no name in test mode", name)
		}
		a := live.Call(t, http.MethodPost, "/v1/payments", body, bad).Want(t, http.StatusBadRequest)
		if !slices.Contains(a.FieldErrors(), "receiver.bankCode") {
			t.Errorf("a bank %s: the error names %v", name, a.FieldErrors())
		}
	}
}

// TestPublicLists_showTheModeOfTheKey: while live mode is closed, callers with a test key or none see test mode, and
// those with a live key get the answer of a closed mode.
func TestPublicLists_showTheModeOfTheKey(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	live, test := key(t, s, c, "live", unique("lists"), "*"), key(t, s, c, "test", unique("lists"), "*")
	for _, path := range []string{"/v1/rates", "/v1/banks"} {
		for _, caller := range []*api.Client{test, c.With("")} {
			caller.Call(t, http.MethodGet, path, nil).Want(t, http.StatusOK)
		}
		a := live.Call(t, http.MethodGet, path, nil, api.Once).Want(t, http.StatusServiceUnavailable)
		if a.Text(t, "error.code") != "live_disabled" {
			t.Errorf("%s with a live key: %s", path, a.Body)
		}
		live.Call(t, http.MethodGet, path+"?mode=test", nil).Want(t, http.StatusOK)
	}
	networks := string(live.Call(t, http.MethodGet, "/v1/networks", nil).Want(t, http.StatusOK).Body)
	if !strings.Contains(networks, `"live":{"open":false,"reason":"mode_disabled"}`) {
		t.Errorf("networks with a live key: %s", networks)
	}
}
