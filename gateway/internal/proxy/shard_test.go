package proxy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
)

// Names of two shards that have an object, one that is free in both, and the codes of shards that nobody has.
const (
	oldPayment, oldGift     = "CW-7KQ2M9XHTB4N", "CW-G7KQ2M9XHTB4N"
	firstPayment, firstGift = "CW-AA7KQ2M9XHTB4N", "CW-GAA7KQ2M9XHTB4N"
	otherPayment, otherGift = "CW-K27KQ2M9XHTB4N", "CW-GK27KQ2M9XHTB4N"
	nobodys, nobodysShard   = "CW-AAZZZZZZZZZZZZ", "CW-ZZ7KQ2M9XHTB4N"
	made                    = "0123456789abcdefghjkmnpqrs"
)

var (
	otherSecret   = apikey.Generate(apikey.Secret, tenant.Test) // of a merchant in K2
	missingSecret = apikey.Generate(apikey.Secret, tenant.Test) // of a merchant in a shard that is not in the table
)

// serving is a service of a shard, at an address and under a key of its own. It has the objects that its names name,
// and says which one it is.
func serving(t *testing.T, name, audience string, names ...string) *proxy.Target {
	t.Helper()
	key := sha256.Sum256([]byte(name + audience))
	verifier := httpkit.Verifier{Audience: audience, Keys: [][]byte{key[:]}, BoundOnly: true, Now: time.Now}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := verifier.Verify(r); err != nil {
			httpkit.WriteError(w, r.Header.Get("X-Request-Id"), fault.New(fault.Unauthenticated, "identity_invalid", "%v", err))
			return
		}
		body, _ := io.ReadAll(r.Body)
		named := strings.Contains(r.URL.Path+string(body), "CW-") || strings.Contains(r.URL.Path+string(body), made)
		for _, own := range names {
			named = named && !strings.Contains(r.URL.Path+`/`+string(body)+`/`, own)
		}
		if named {
			httpkit.WriteError(w, r.Header.Get("X-Request-Id"), fault.New(fault.NotFound, "payment_not_found", "Payment not found"))
			return
		}
		reply(w, name+" "+audience)
	}))
	t.Cleanup(server.Close)
	target, err := proxy.Service(server.URL, key[:])
	if err != nil {
		t.Fatalf("make the target of %s: %v", name, err)
	}
	t.Cleanup(target.Close)
	return target
}

// twoShards makes payments, wallets and the dispatcher of two shards, and merchants of both.
func twoShards(t *testing.T) option {
	t.Helper()
	return func(o *proxy.Options) {
		for _, up := range []route.Upstream{route.Payments, route.Wallets, route.Dispatcher} {
			first := serving(t, "AA", string(up), oldPayment, oldGift, firstPayment, firstGift, made+`"`, made+"/", made+"aa")
			o.Targets[up] = proxy.Sharded(first, map[shard.Code]*proxy.Target{"K2": serving(t, "K2", string(up), otherPayment, otherGift, made+"k2")})
			t.Cleanup(o.Targets[up].Close)
		}
		asked := o.Targets[route.Payments]
		o.Targets[route.Self] = proxy.Local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path := "/v1/balances"
			if _, reference, ok := strings.Cut(r.URL.Path, "/pay/"); ok {
				path = "/v1/checkout/" + reference
			}
			got, err := asked.Ask(r.Context(), http.MethodGet, path, nil)
			if err != nil {
				httpkit.WriteError(w, r.Header.Get("X-Request-Id"), err)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(got.Status)
			_, _ = w.Write(got.Body)
		}), otherKey)
		sum := sha256.Sum256([]byte(operatorKey))
		operators, err := identity.ParseOperators("ops:" + hex.EncodeToString(sum[:]))
		if err != nil {
			t.Fatalf("read the operators: %v", err)
		}
		known := ring()
		for secret, k := range map[string]apikey.Key{
			otherSecret:   {ID: 11, MerchantID: "beta", Shard: "K2", Mode: tenant.Test, Permissions: []string{"*"}},
			missingSecret: {ID: 12, MerchantID: "gone", Shard: "Q9", Mode: tenant.Test, Permissions: []string{"*"}},
		} {
			compiled := k.Compiled()
			known[secret] = &compiled
		}
		o.Callers = identity.NewResolver(known, operators, nil, time.Now)
	}
}

// A request goes to the shard of the object that it names, else of its merchant, else to the first, under that shard's
// own key. An id of a shard that does not exist has the answer of one that nobody has.
func TestProxy_shards(t *testing.T) {
	w := start(t, http.HandlerFunc(echo), twoShards(t))
	for _, tc := range []struct{ method, path, key, body, want string }{
		{"GET", "/v1/checkout/" + oldPayment, "", "", "AA payments"},
		{"GET", "/v1/checkout/" + oldGift, "", "", "AA payments"},
		{"GET", "/v1/checkout/" + firstPayment, "", "", "AA payments"},
		{"GET", "/v1/checkout/" + otherPayment, "", "", "K2 payments"},
		{"GET", "/v1/checkout/CW%2DK27KQ2M9XHTB4N", "", "", "K2 payments"},
		{"GET", "/v1/checkout/" + nobodys, "", "", "404"},
		{"GET", "/v1/checkout/" + nobodysShard, "", "", "404"},
		{"GET", "/v1/checkout/cw-k27kq2m9xhtb4n", "", "", "AA payments"}, // not of the form: the service says what it is
		{"POST", "/v1/payments/gifts/" + otherGift + "/claim/confirm", "", "{}", "K2 payments"},
		{"POST", "/v1/payments/requests/" + firstGift + "/fulfill", "", "{}", "AA payments"},
		{"POST", "/v1/payments/verify-receiver", "", `{"reference":"` + otherGift + `"}`, "K2 payments"},
		{"POST", "/v1/payments/verify-receiver", "", `{"reference":"` + oldGift + `"}`, "AA payments"},
		{"POST", "/v1/payments/verify-receiver", "", `{"reference":7}`, "AA payments"},
		{"POST", "/v1/payments/verify-receiver", otherSecret, `{"bankCode":"1"}`, "K2 payments"},
		{"GET", "/v1/networks", "", "", "AA payments"},

		{"POST", "/v1/payments", testSecret, "{}", "AA payments"},
		{"POST", "/v1/payments", otherSecret, "{}", "K2 payments"},
		{"GET", "/v1/payments", otherSecret, "", "K2 payments"},
		{"GET", "/v1/payments/" + otherPayment, otherSecret, "", "K2 payments"},
		{"GET", "/v1/payments/" + firstPayment, testSecret, "", "AA payments"},
		{"GET", "/v1/payments/" + nobodysShard, otherSecret, "", "404"},
		{"GET", "/v1/payments/" + nobodysShard, testSecret, "", "404"},
		{"GET", "/v1/wallets", otherSecret, "", "K2 wallets"},
		{"POST", "/v1/wallets", testSecret, "{}", "AA wallets"},
		{"GET", "/v1/wallets/wal_" + made + "k2", otherSecret, "", "K2 wallets"},
		{"GET", "/v1/wallets/wal_" + made, testSecret, "", "AA wallets"},
		{"GET", "/v1/withdrawals/wdr_" + made + "zz", otherSecret, "", "404"},
		{"GET", "/v1/webhooks/endpoints", otherSecret, "", "K2 callback-dispatcher"},
		{"GET", "/v1/webhooks/deliveries/dlv_" + made + "aa", testSecret, "", "AA callback-dispatcher"},
		{"GET", "/v1/balances", otherSecret, "", "K2 payments"},
		{"GET", "/v1/balances", testSecret, "", "AA payments"},

		{"POST", "/v1/admin/payments/pay_" + made + "k2/resolve", operatorKey, "{}", "K2 payments"},
		{"POST", "/v1/admin/payouts/pyo_" + made + "/ask", operatorKey, "{}", "AA payments"},
		{"POST", "/v1/admin/unclaimed", operatorKey, `{"paymentId":"pay_` + made + `k2"}`, "K2 payments"},
		{"GET", "/v1/admin/payments", operatorKey, "", "AA payments"},

		{"GET", "/pay/" + otherPayment, "", "", "K2 payments"},
		{"GET", "/pay/" + oldPayment, "", "", "AA payments"},
		{"GET", "/pay/" + nobodysShard, "", "", "404"},
	} {
		t.Run(tc.method+" "+tc.path+" "+tc.body, func(t *testing.T) {
			a := w.do(t, tc.method, tc.path, tc.key, tc.body, "Content-Type", "application/json")
			if tc.want == "404" {
				a.refused(t, http.StatusNotFound, "payment_not_found")
				return
			}
			if got := strings.Trim(strings.TrimSpace(string(a.body)), `"`); a.StatusCode != http.StatusOK || got != tc.want {
				t.Errorf("%s %s: got %d %s, want the answer of %s", tc.method, tc.path, a.StatusCode, a.body, tc.want)
			}
		})
	}
}

// The answer about a shard that does not exist is that about an unknown reference, byte for byte.
func TestProxy_unknownShard(t *testing.T) {
	w := start(t, http.HandlerFunc(echo), twoShards(t))
	for _, path := range []string{"/v1/checkout/%s", "/pay/%s", "/v1/payments/%s"} {
		var answers [2]string
		for i, reference := range []string{nobodys, nobodysShard} {
			a := w.do(t, http.MethodGet, fmt.Sprintf(path, reference), otherSecret, "", "X-Request-Id", "same")
			a.Header.Del("Date")
			a.Header.Del("RateLimit-Remaining")
			answers[i] = fmt.Sprint(a.StatusCode, a.Header, string(a.body))
		}
		if answers[0] != answers[1] || !strings.HasPrefix(answers[0], "404") {
			t.Errorf("GET %s: got %s of an unknown reference and %s of an unknown shard, want the same 404", path, answers[0], answers[1])
		}
	}
}

// A merchant whose shard is missing in the table is never served by another, which would keep its payments.
func TestProxy_missingShard(t *testing.T) {
	w := start(t, http.HandlerFunc(echo), twoShards(t))
	for _, path := range []string{"/v1/payments", "/v1/wallets", "/v1/webhooks/endpoints", "/v1/balances", "/v1/networks", "/v1/payments/" + nobodysShard} {
		w.do(t, http.MethodGet, path, missingSecret, "").refused(t, http.StatusServiceUnavailable, "upstream_unavailable")
	}
	w.do(t, http.MethodPost, "/v1/payments", missingSecret, "{}").refused(t, http.StatusServiceUnavailable, "upstream_unavailable")
	if a := w.do(t, http.MethodGet, "/v1/networks", "", ""); a.StatusCode != http.StatusOK {
		t.Errorf("read a public list without a key: got %d %s, want 200", a.StatusCode, a.body)
	}
}
