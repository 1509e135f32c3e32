package proxy_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/credential"
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
	otherSecret   = credential.Generate(credential.Secret, tenant.Test) // of a merchant in K2
	movedSecret   = credential.Generate(credential.Secret, tenant.Test) // of a merchant in the first whose new payments are in K2
	missingSecret = credential.Generate(credential.Secret, tenant.Test) // of a merchant in a shard that is not in the table
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
			movedSecret:   {ID: 13, MerchantID: "moved", Shard: "AA", Moves: []shard.Code{"K2"}, Recent: 1, Mode: tenant.Test, Permissions: []string{"*"}},
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
		{"GET", "/v1/admin/payments?shard=K2", operatorKey, "", "K2 payments"},
		{"GET", "/v1/admin/payments?shard=AA", operatorKey, "", "AA payments"},
		{"POST", "/v1/admin/fee-schedules?shard=K2", operatorKey, "{}", "K2 payments"},
		{"GET", "/v1/admin/sweeps?shard=K2", operatorKey, "", "K2 wallets"},
		{"GET", "/v1/admin/deliveries?shard=K2", operatorKey, "", "K2 callback-dispatcher"},

		{"GET", "/v1/payments/" + otherPayment, movedSecret, "", "K2 payments"},
		{"GET", "/v1/payments/" + firstPayment, movedSecret, "", "AA payments"},
		{"GET", "/v1/statistics?shard=K2", movedSecret, "", "K2 payments"},
		{"GET", "/v1/statistics?shard=AA", movedSecret, "", "AA payments"},
		{"GET", "/v1/settlement-accounts", movedSecret, "", "AA payments"},
		{"GET", "/v1/wallets", movedSecret, "", "AA wallets"},
		{"GET", "/v1/balances", movedSecret, "", "AA payments"},

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

// A caller names a shard of its own that there is, and a merchant with several must, where an answer is of one alone.
func TestProxy_shardNamed(t *testing.T) {
	w := start(t, http.HandlerFunc(echo), twoShards(t))
	for _, tc := range []struct{ method, path, key, code string }{
		{"GET", "/v1/admin/payments?shard=Q9", operatorKey, "shard_unknown"},
		{"GET", "/v1/admin/payments?shard=k2", operatorKey, "shard_unknown"},
		{"GET", "/v1/statistics?shard=K2", testSecret, "shard_unknown"},
		{"GET", "/v1/statistics?shard=Q9", movedSecret, "shard_unknown"},
		{"GET", "/v1/statistics", movedSecret, "shard_missing"},
		{"GET", "/v1/settlements", movedSecret, "shard_missing"},
		{"GET", "/v1/payments/export", movedSecret, "shard_missing"},
		{"GET", "/v1/events", movedSecret, "shard_missing"},
	} {
		w.do(t, tc.method, tc.path, tc.key, "").refused(t, http.StatusBadRequest, tc.code)
	}
	w.do(t, "GET", "/v1/payments?shard=K2", movedSecret, "").refused(t, http.StatusBadRequest, "validation_failed")
	for _, path := range []string{"/v1/webhooks/endpoints", "/v1/settlement-settings"} {
		method := map[bool]string{true: "PATCH", false: "POST"}[path == "/v1/settlement-settings"]
		w.do(t, method, path, movedSecret, "{}").refused(t, http.StatusConflict, "merchant_in_shards")
	}
}

// shop is payments of a shard with the answers of some keys, some merchant's references, and payments by their ids.
type shop struct {
	answers map[string]string // by Idempotency-Key
	taken   string            // a merchant's reference
	ids     []string
	asked   []string // of creates, whether another shard makes the payment
	down    bool
}

func (s *shop) serve(t *testing.T, name string) *proxy.Target {
	t.Helper()
	key := sha256.Sum256([]byte("shop " + name))
	verifier := httpkit.Verifier{Audience: "payments", Keys: [][]byte{key[:]}, BoundOnly: true, Now: time.Now}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := verifier.Verify(r)
		if err != nil || s.down {
			httpkit.WriteError(w, r.Header.Get("X-Request-Id"), fault.New(fault.Unavailable, "away", "away"))
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, s.page(r, who.Elsewhere))
			return
		}
		s.asked = append(s.asked, fmt.Sprint(who.Elsewhere))
		answer, found := s.answers[r.Header.Get("Idempotency-Key")]
		switch {
		case found:
			w.Header().Set("Idempotent-Replayed", "true")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, answer)
		case s.taken != "" && strings.Contains(string(body), s.taken):
			httpkit.WriteError(w, r.Header.Get("X-Request-Id"), fault.New(fault.Conflict, "merchant_reference_used", "used"))
		case who.Elsewhere:
			w.WriteHeader(http.StatusNoContent)
		default:
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `"`+name+`"`)
		}
	}))
	t.Cleanup(server.Close)
	target, err := proxy.Service(server.URL, key[:])
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// page answers a list as payments does.
func (s *shop) page(r *http.Request, named bool) string {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	raw, _ := base64.RawURLEncoding.DecodeString(r.URL.Query().Get("cursor"))
	before := "pay_" + strings.TrimPrefix(string(raw), "p")
	var out, ids []string
	more := false
	for _, id := range slices.Backward(slices.Sorted(slices.Values(s.ids))) {
		if before != "pay_" && id >= before {
			continue
		}
		if more = len(out) == limit; more {
			break
		}
		out, ids = append(out, fmt.Sprintf(`{"reference":"%s","amount":1.10}`, id)), append(ids, `"`+id+`"`)
	}
	if !named {
		ids = nil
	}
	next := "null"
	if more {
		next = `"of this shard alone"`
	}
	return fmt.Sprintf(`{"success":true,"payments":[%s],"pagination":{"limit":%d,"nextCursor":%s,"hasMore":%v},"ids":[%s]}`,
		strings.Join(out, ","), limit, next, more, strings.Join(ids, ","))
}

func moved(t *testing.T, first, second *shop) *fixture {
	t.Helper()
	shards := twoShards(t)
	return start(t, http.HandlerFunc(echo), func(o *proxy.Options) {
		shards(o)
		o.Targets[route.Payments] = proxy.Sharded(first.serve(t, "AA"), map[shard.Code]*proxy.Target{"K2": second.serve(t, "K2")})
		t.Cleanup(o.Targets[route.Payments].Close)
	})
}

// A moved merchant's create goes to the new shard once the one before it has no answer; it is made nowhere else, and
// nowhere at all while the one before is silent.
func TestProxy_movedCreate(t *testing.T) {
	first := &shop{answers: map[string]string{"old": `"made before"`}, taken: "order-1"}
	second := &shop{}
	w := moved(t, first, second)
	for _, tc := range []struct {
		key, body, want string
		asked           int // creates that the first shard was asked about
	}{
		{"old", "{}", `"made before"`, 1},
		{"new", "{}", `"K2"`, 1},
		{"", "{}", `"K2"`, 0},
		{"", `{"merchantReference":"order-2"}`, `"K2"`, 1},
	} {
		first.asked, second.asked = nil, nil
		headers := []string{}
		if tc.key != "" {
			headers = []string{"Idempotency-Key", tc.key}
		}
		a := w.do(t, "POST", "/v1/payments", movedSecret, tc.body, headers...)
		if a.StatusCode != http.StatusCreated || string(a.body) != tc.want || len(first.asked) != tc.asked || slices.Contains(first.asked, "false") || slices.Contains(second.asked, "true") {
			t.Errorf("create with the key %q and the body %s: got %d %s, the first shard asked %v and the second %v; want %s and %d questions",
				tc.key, tc.body, a.StatusCode, a.body, first.asked, second.asked, tc.want, tc.asked)
		}
		if replayed := a.Header.Get("Idempotent-Replayed") == "true"; replayed != (tc.key == "old") {
			t.Errorf("create with the key %q: replayed %v", tc.key, replayed)
		}
	}
	second.asked = nil
	w.do(t, "POST", "/v1/payments", movedSecret, `{"merchantReference":"order-1"}`).refused(t, http.StatusConflict, "merchant_reference_used")
	first.down = true
	w.do(t, "POST", "/v1/payments", movedSecret, "{}", "Idempotency-Key", "k").refused(t, http.StatusServiceUnavailable, "away")
	if len(second.asked) > 0 {
		t.Errorf("create what the first shard refused, and while it was silent: the second was asked %v, want nothing", second.asked)
	}
}

// The pages of a list over two shards have each object once, the newest first, whatever their limit.
func TestProxy_movedList(t *testing.T) {
	first, second := &shop{}, &shop{}
	w := moved(t, first, second)
	rapid.Check(t, func(r *rapid.T) {
		first.ids, second.ids = nil, nil
		var want []string
		for i := range rapid.IntRange(0, 9).Draw(r, "payments") {
			id := fmt.Sprintf("pay_01jqs8m2v4t6x8z0b2d4f6h8%02d", i)
			if rapid.Bool().Draw(r, "in the second") {
				id += "k2"
				second.ids = append(second.ids, id)
			} else {
				first.ids = append(first.ids, id)
			}
			want = append([]string{id}, want...)
		}
		limit := rapid.IntRange(1, 4).Draw(r, "limit")
		var got []string
		for cursor, pages := "", 0; pages < 12; pages++ {
			a := w.do(t, "GET", fmt.Sprintf("/v1/payments?limit=%d&cursor=%s", limit, cursor), movedSecret, "")
			var page struct {
				Payments   []struct{ Reference string }
				Pagination struct {
					Limit      int
					NextCursor *string
					HasMore    bool
				}
			}
			if err := json.Unmarshal(a.body, &page); err != nil || a.StatusCode != 200 || page.Pagination.Limit != limit || len(page.Payments) > limit {
				r.Fatalf("read a page: got %d %s (%v)", a.StatusCode, a.body, err)
			}
			if len(page.Payments) > 0 && !strings.Contains(string(a.body), `"amount":1.10`) {
				r.Fatalf("read a page: got %s, want the amounts as the service wrote them", a.body)
			}
			for _, p := range page.Payments {
				got = append(got, p.Reference)
			}
			if !page.Pagination.HasMore {
				break
			}
			cursor = *page.Pagination.NextCursor
		}
		if !slices.Equal(got, want) {
			r.Fatalf("list over two shards by %d: got %v, want %v", limit, got, want)
		}
	})
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
