package route_test

import (
	"net/http"
	"strings"
	"testing"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/route"
)

func router(t *testing.T, table []route.Route) *route.Router {
	t.Helper()
	r, err := route.NewRouter(table)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRouter_finds(t *testing.T) {
	r := router(t, route.Table())
	for target, want := range map[string]string{
		"POST /v1/payments":                                  "POST /v1/payments",
		"GET /v1/payments/CW-ABCDEFGHJKMN":                   "GET /v1/payments/{reference}",
		"HEAD /v1/payments/CW-ABCDEFGHJKMN":                  "GET /v1/payments/{reference}",
		"POST /v1/payments/verify-receiver":                  "POST /v1/payments/verify-receiver",
		"GET /v1/reports/lookup":                             "GET /v1/reports/lookup",
		"GET /v1/reports/RPT-000000":                         "GET /v1/reports/{reportId}",
		"GET /v1/reports/a%2Fb":                              "GET /v1/reports/{reportId}",
		"POST /v1/payments/requests/CW-X/fulfill":            "POST /v1/payments/requests/{reference}/fulfill",
		"POST /v1/payments/requests/cancel":                  "POST /v1/payments/{reference}/cancel",
		"POST /v1/payments/gifts/CW-X/claim/confirm":         "POST /v1/payments/gifts/{reference}/claim/confirm",
		"POST /v1/sandbox/payments/CW-ABCDEFGHJKMN/deposits": "POST /v1/sandbox/payments/{reference}/deposits",
		"DELETE /v1/admin/keys/7":                            "DELETE /v1/admin/keys/{id}",
		"GET /openapi.yaml":                                  "GET /openapi.yaml",
		"POST /v1/webhooks/deliveries/dlv_1/retry":           "POST /v1/webhooks/deliveries/{id}/retry",
		"GET /v1/webhooks/endpoints/..whe/secret":            "GET /v1/webhooks/endpoints/{id}/secret",
		"GET /":                                 "GET /",
		"GET //":                                "",
		"GET ":                                  "",
		"GET *":                                 "",
		"GET /v1":                               "",
		"GET /v1/":                              "",
		"GET /v1/payments/":                     "",
		"POST /v1//payments":                    "",
		"POST //v1/payments":                    "",
		"GET /v1/payments/..":                   "",
		"GET /v1/payments/%2e%2E":               "",
		"GET /v1/payments/.":                    "",
		"POST /v1/sandbox/payments/../deposits": "",
		"POST /V1/payments":                     "",
		"GET /v1/payments/" + strings.Repeat("x", 513):         "",
		"GET /v1/payments/CW-ABCDEFGHJKMN/extra":               "",
		"POST /v1/payments/requests/CW-X/fulfill/../../cancel": "",
	} {
		method, path, _ := strings.Cut(target, " ")
		got := ""
		if p := r.Match(path); p != nil {
			if rt := p.Route(method); rt != nil {
				got = rt.Name()
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", target, got, want)
		}
	}
}

func TestPlace_allow(t *testing.T) {
	p := router(t, route.Table()).Match("/v1/admin/keys/1")
	if p.Route(http.MethodPut) != nil || p.Allow != "DELETE, GET, HEAD, OPTIONS, PATCH" {
		t.Errorf("allow %q", p.Allow)
	}
}

func TestNewRouter_refuses(t *testing.T) {
	good := route.Route{Method: "GET", Pattern: "/a/{x}", Upstream: route.Self, Access: route.Open}
	for name, table := range map[string][]route.Route{
		"twice":                   {good, {Method: "GET", Pattern: "/a/{y}", Upstream: route.Self, Access: route.Open}},
		"no access":               {{Method: "GET", Pattern: "/a", Upstream: route.Self}},
		"no upstream":             {{Method: "GET", Pattern: "/a", Access: route.Open}},
		"empty segment":           {{Method: "GET", Pattern: "/a//b", Upstream: route.Self, Access: route.Open}},
		"relative":                {{Method: "GET", Pattern: "a", Upstream: route.Self, Access: route.Open}},
		"public with permission":  {{Method: "GET", Pattern: "/a", Upstream: route.Self, Access: route.Open, Permission: apikey.PaymentRead}},
		"keyed that knows keys":   {{Method: "GET", Pattern: "/a", Upstream: route.Self, Access: route.Keyed, Knows: true}},
		"operator route for test": {{Method: "GET", Pattern: "/a", Upstream: route.Self, Access: route.Operated, TestOnly: true}},
	} {
		if _, err := route.NewRouter(table); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Every keyed route but those of docs/api-contract.md#permissions "any key" names a permission, and every sandbox route
// is for test keys.
func TestTable_rules(t *testing.T) {
	router(t, route.Table())
	for _, r := range route.Table() {
		if r.Access == route.Keyed && r.Permission == "" && r.Pattern != "/v1/me" && r.Pattern != "/v1/merchant" {
			t.Errorf("%s takes any key", r.Name())
		}
		if r.Creates && (r.Access != route.Keyed || r.Method != "POST" || r.TestOnly) {
			t.Errorf("%s is refused to suspended merchants, and makes nothing new of one", r.Name())
		}
		if strings.HasPrefix(r.Pattern, "/v1/sandbox/") != r.TestOnly {
			t.Errorf("%s: sandbox and TestOnly differ", r.Name())
		}
		if strings.HasPrefix(r.Pattern, "/v1/admin/") != (r.Access == route.Operated) {
			t.Errorf("%s: admin and operator differ", r.Name())
		}
	}
}

func BenchmarkRouter(b *testing.B) {
	r, err := route.NewRouter(route.Table())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Match("/v1/payments/CW-ABCDEFGHJKMN").Route("GET")
	}
}

// A route names the object of its path as the service reads it, wherever its segment is.
func TestRoute_object(t *testing.T) {
	r := router(t, route.Table())
	for target, want := range map[string]string{
		"GET /v1/payments/CW-AAABCDEFGHJKMN":                   "CW-AAABCDEFGHJKMN",
		"GET /v1/payments/CW%2DAAABCDEFGHJKMN":                 "CW-AAABCDEFGHJKMN",
		"POST /v1/payments/gifts/CW-GX/claim/confirm":          "CW-GX",
		"POST /v1/admin/payments/pay_1/refund-address/confirm": "pay_1",
		"GET /v1/wallets/wal_1/deposits":                       "wal_1",
		"GET /pay/CW-X":                                        "CW-X",
		"POST /claim/CW-X/confirm":                             "CW-X",
		"GET /v1/payments/a%2Fb":                               "a/b",
		"GET /v1/payments/%ff":                                 "\xff",
		"POST /v1/payments":                                    "",
		"POST /v1/payments/verify-receiver":                    "",
		"GET /v1/reports/RPT-000000":                           "",
		"POST /v1/rails/paystack/webhook":                      "",
	} {
		method, path, _ := strings.Cut(target, " ")
		if got := r.Match(path).Route(method).Object(path); got != want {
			t.Errorf("name the object of %s: got %q, want %q", target, got, want)
		}
	}
	for _, rt := range route.Table() {
		path := strings.NewReplacer("{reference}", "NAME", "{id}", "NAME").Replace(rt.Pattern)
		want := ""
		if path != rt.Pattern {
			want = "NAME"
		}
		if got := r.Match(path).Route(rt.Method).Object(path); got != want {
			t.Errorf("name the object of %s %s: got %q, want %q", rt.Method, path, got, want)
		}
	}
}
