package proxy_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/route"
)

// Every route of the table refuses each caller that may not call it, with one status and one code, and passes the
// others on.
func TestProxy_callersOfEveryRoute(t *testing.T) {
	w := start(t, http.HandlerFunc(echo))
	type refusal struct {
		status int
		code   string
	}
	merchantsAlone := map[string]refusal{
		"": {401, "api_key_missing"}, operatorKey: {401, "api_key_invalid"}, bareSecret: {403, "permission_missing"}, testSecret: {},
	}
	operatorsAlone := map[string]refusal{
		"": {401, "operator_token_missing"}, testSecret: {401, "operator_token_invalid"}, bareSecret: {401, "operator_token_invalid"}, operatorKey: {},
	}
	everybody := map[string]refusal{"": {}, operatorKey: {}, bareSecret: {}, testSecret: {}}
	names := map[string]string{"": "nobody", operatorKey: "an operator", bareSecret: "a key without permissions", testSecret: "a merchant"}
	for _, r := range route.Table() {
		wants := map[route.Access]map[string]refusal{route.Keyed: merchantsAlone, route.Operated: operatorsAlone, route.Open: everybody}[r.Access]
		path := strings.NewReplacer("{", "", "}", "").Replace(r.Pattern)
		for credential, want := range wants {
			if personal(r) && credential == testSecret {
				want = refusal{403, "permission_missing"} // a person alone may call it
			}
			if r.Permission == "" && want.code == "permission_missing" {
				want = refusal{} // any key may call it
			}
			t.Run(r.Name()+" as "+names[credential], func(t *testing.T) {
				a := w.do(t, r.Method, path, credential, "")
				if want != (refusal{}) {
					a.refused(t, want.status, want.code)
				} else if a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden {
					t.Errorf("%s = %d %s, want it to pass", r.Name(), a.StatusCode, a.body)
				}
			})
		}
		if r.TestOnly {
			w.do(t, r.Method, path, liveSecret, "").refused(t, http.StatusNotFound, "route_not_found")
		}
	}
}

// personal reports whether people alone may call a route, and no key.
func personal(rt route.Route) bool {
	return rt.Permission != "" && !slices.Contains(apikey.Grantable(), string(rt.Permission))
}
