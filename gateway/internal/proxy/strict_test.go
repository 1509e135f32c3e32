package proxy_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"causeway.internal/gateway/internal/route"
)

// credentialOf is a credential for a route.
func credentialOf(rt route.Route) string {
	switch rt.Access {
	case route.Keyed:
		return testSecret
	case route.Operated:
		return operatorKey
	case route.Open:
	}
	return ""
}

// fields lists the fields that a refusal names.
func (a answer) fields(t *testing.T) (names []string) {
	t.Helper()
	var body struct {
		Error struct{ Fields []struct{ Field string } }
	}
	if err := json.Unmarshal(a.body, &body); err != nil {
		t.Fatalf("read the answer %s: %v", a.body, err)
	}
	for _, f := range body.Error.Fields {
		names = append(names, f.Field)
	}
	return names
}

// needed is the rest of a query that has one of the parameters that a route needs, though not the one named but.
func needed(rt route.Route, but string) string {
	for _, name := range rt.Needs {
		if name != but {
			return "&" + name + "=a"
		}
	}
	return ""
}

// A request that the service refuses anyway, in fixed words, is left to it: GET /v1/reports/lookup without a phone and
// an address.
func TestProxy_neededParameter(t *testing.T) {
	w := start(t, http.HandlerFunc(echo))
	for query, passes := range map[string]bool{
		"": true, "phone=1": true, "limit=1&limit=2": true, "phoneNumber=&x=1": true, "phoneNumber=1": true, "phoneNumber=1&x=1": false, "walletAddress=1&limit=1&limit=2": false,
	} {
		a := w.do(t, "GET", "/v1/reports/lookup?"+query, "", "")
		if got := a.StatusCode != 400; got != passes {
			t.Errorf("GET /v1/reports/lookup?%s: got %d %s, want it passed to the service: %t", query, a.StatusCode, a.body, passes)
		}
	}
}

// A repeated query parameter is refused on every route that has it with one value, and the refusal names it. One value
// passes.
func TestProxy_repeatedParameter(t *testing.T) {
	w := start(t, http.HandlerFunc(echo))
	checked := 0
	for _, rt := range route.Table() {
		if personal(rt) {
			continue
		}
		path := strings.NewReplacer("{", "", "}", "").Replace(rt.Pattern)
		for _, name := range rt.Query {
			checked++
			escaped := "%" + strings.ToUpper(hexOf(name[0])) + name[1:]
			for _, query := range []string{name + "=a&" + name + "=b", name + "=a&" + name + "=a", name + "&&" + name, name + "=a&" + escaped + "=b"} {
				a := w.do(t, rt.Method, path+"?"+query+needed(rt, name), credentialOf(rt), "")
				a.refused(t, 400, "validation_failed")
				if got := a.fields(t); len(got) != 1 || got[0] != name {
					t.Errorf("%s?%s: the refusal names %v", rt.Name(), query, got)
				}
			}
			value := "a"
			if name == route.ShardParameter {
				value = "AA" // there is no other
			}
			if a := w.do(t, rt.Method, path+"?"+name+"="+value, credentialOf(rt), ""); a.StatusCode == 400 {
				t.Errorf("%s with one %s: %d %s", rt.Name(), name, a.StatusCode, a.body)
			}
		}
	}
	if checked < 50 {
		t.Errorf("%d parameters were checked", checked)
	}
	a := w.do(t, "GET", "/v1/payments?status=a&limit=1&status=b&limit=2&cursor=x", testSecret, "")
	a.refused(t, 400, "validation_failed")
	if got := strings.Join(a.fields(t), " "); got != "status limit" {
		t.Errorf("the refusal names %q", got)
	}
	w.do(t, "GET", "/v1/payments?status=a&status=b", "", "").refused(t, 401, "api_key_missing") // who may not call learns no more
}

// A parameter that a route does not have is refused on every route under /v1, and the refusal names it. Otherwise a
// filter with a typing mistake lists everything. Pages and the notices of banks come with parameters of others.
func TestProxy_unknownParameter(t *testing.T) {
	w := start(t, http.HandlerFunc(echo))
	strict, lax := 0, 0
	for _, rt := range route.Table() {
		if personal(rt) {
			continue
		}
		path := strings.NewReplacer("{", "", "}", "").Replace(rt.Pattern)
		for _, query := range []string{"payer=8842", "metadata.o=1", "Limit=1", "x", "%78=1", "limit%20=5"} {
			a := w.do(t, rt.Method, path+"?"+query+needed(rt, ""), credentialOf(rt), "")
			name, _, _ := strings.Cut(strings.NewReplacer("%78", "x", "%20", " ").Replace(query), "=")
			if !strings.HasPrefix(path, "/v1/") || rt.AnyHeaders {
				if lax++; a.StatusCode == 400 {
					t.Errorf("%s?%s: got %d %s, want no refusal", rt.Name(), query, a.StatusCode, a.body)
				}
				continue
			}
			strict++
			a.refused(t, 400, "validation_failed")
			if got := a.fields(t); len(got) != 1 || got[0] != name {
				t.Errorf("%s?%s: the refusal names %q, want %q", rt.Name(), query, got, name)
			}
		}
	}
	if strict < 500 || lax < 30 {
		t.Errorf("checked %d queries of strict routes and %d of others, want all routes", strict, lax)
	}
	for query, want := range map[string]string{
		"limit=1&payer=x&limit=2&payer=y":     "payer limit", // each once
		"status=a;limit=1":                    "status",      // net/http would drop the pair
		"status=%zz":                          "status",
		"%zz=1":                               "%zz",
		"=1":                                  "=",
		"a=&b=&c=&d=&e=&f=&g=&h=&i=&j=&k=&l=": "a b c d e f g h i j",
		strings.Repeat("\u00e9", 200) + "=1":  strings.Repeat("\u00e9", 32) + "\u2026",
	} {
		a := w.do(t, "GET", "/v1/payments?"+query, testSecret, "")
		a.refused(t, 400, "validation_failed")
		if got := strings.Join(a.fields(t), " "); got != want {
			t.Errorf("GET /v1/payments?%s: the refusal names %q, want %q", query, got, want)
		}
	}
	w.do(t, "GET", "/v1/payments?payer=a", "", "").refused(t, 401, "api_key_missing") // who may not call learns no more
	w.do(t, "GET", "/v1/payments?&limit=5&", testSecret, "").echoed(t)
}

func hexOf(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}

// An empty or repeated Idempotency-Key is refused on every route that changes something: its sender relies on a safe
// retry.
func TestProxy_badIdempotencyKey(t *testing.T) {
	w := start(t, http.HandlerFunc(echo))
	checked := 0
	for _, rt := range route.Table() {
		if rt.Method != http.MethodPost || personal(rt) {
			continue
		}
		checked++
		path := strings.NewReplacer("{", "", "}", "").Replace(rt.Pattern)
		for name, sent := range map[string][]string{
			"empty": {""}, "blank": {"  \t"}, "two": {"a", "b"}, "the same twice": {"a", "a"}, "one and an empty one": {"a", ""}, "too long": {strings.Repeat("k", 256)},
			"not printable": {"caf\u00e9"},
		} {
			var headers []string
			for _, v := range sent {
				headers = append(headers, "Idempotency-Key", v)
			}
			a := w.do(t, rt.Method, path, credentialOf(rt), "{}", headers...)
			a.refused(t, 400, "validation_failed")
			if got := a.fields(t); len(got) != 1 || got[0] != "Idempotency-Key" {
				t.Errorf("%s, %s: the refusal names %v", rt.Name(), name, got)
			}
		}
		if a := w.do(t, rt.Method, path, credentialOf(rt), "{}", "Idempotency-Key", strings.Repeat("k", 255)); a.StatusCode == 400 {
			t.Errorf("%s with a key of 255 characters: %d %s", rt.Name(), a.StatusCode, a.body)
		}
	}
	if checked < 30 {
		t.Errorf("%d routes were checked", checked)
	}
	e := w.do(t, "GET", "/v1/payments?status=%61&limit=1", testSecret, "").echoed(t)
	if u, err := url.Parse(e.URI); err != nil || u.RawQuery != "status=%61&limit=1" {
		t.Errorf("the query came as %q", e.URI)
	}
}
