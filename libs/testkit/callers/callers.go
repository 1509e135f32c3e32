// Package callers proves that every route of a service refuses the callers that gateway/openapi.yaml does not allow,
// each with the one status and code of the document.
package callers

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/tenant"
)

// access says whom a route serves.
type access string

const (
	merchants access = "merchants"
	operators access = "operators"
	all       access = "all"
)

// A caller is the identity that the gateway gives to a request. A nil identity is a request past the gateway.
type caller struct {
	name string
	who  *httpkit.Identity
	may  []access
}

var known = []caller{
	{"no caller", nil, nil},
	{"the public", &httpkit.Identity{Subject: httpkit.Public}, []access{all}},
	{"a caller without merchant", &httpkit.Identity{Subject: httpkit.Merchant, KeyID: 7, Mode: tenant.Test}, []access{all}},
	{"a merchant without mode", &httpkit.Identity{Subject: httpkit.Merchant, MerchantID: "acme", KeyID: 7}, []access{all}},
	{"a merchant", &httpkit.Identity{Subject: httpkit.Merchant, MerchantID: "acme", KeyID: 7, Mode: tenant.Test}, []access{all, merchants}},
	{"an operator", &httpkit.Identity{Subject: httpkit.Operator, Operator: "ada"}, []access{all, operators}},
	{"an operator without name", &httpkit.Identity{Subject: httpkit.Operator, MerchantID: "acme", KeyID: 7, Mode: tenant.Test}, []access{all}},
}

// code is the documented refusal of a caller, "" for none. Every one is a 401.
func (c caller) code(route access) string {
	if c.who == nil {
		return "identity_invalid"
	}
	for _, a := range c.may {
		if a == route {
			return ""
		}
	}
	return map[access]string{merchants: "key_required", operators: "operator_required"}[route]
}

// Check calls every route that add adds to the server of a service, as every kind of caller. The use cases may be
// missing: a call that reaches one counts as admitted. Every change of operators needs their approval.
func Check(t *testing.T, audience string, add func(*httpkit.Server)) {
	t.Helper()
	key := []byte("identity key of callers, 32 bytes")
	s := httpkit.NewServer(slog.New(slog.DiscardHandler), prometheus.NewRegistry(), httpkit.Verifier{Audience: audience, Keys: [][]byte{key}, Now: time.Now})
	add(s)
	if len(s.Routes()) == 0 {
		t.Fatal("list the routes of the service: got none")
	}
	documented := document(t)
	for _, route := range s.Routes() {
		serves, ok := documented[unnamed(route)]
		if !ok {
			serves = operators // commands of the gateway call routes that no document names
		}
		method, pattern, _ := strings.Cut(route, " ")
		path := names.ReplaceAllString(pattern, "x")
		if serves == operators && method != http.MethodGet {
			checkApproval(t, s, key, audience, method, path)
		}
		for _, c := range known {
			r := httptest.NewRequest(method, path, strings.NewReader("{}"))
			if c.who != nil {
				who := *c.who
				who.RequestID, who.Audience, who.IssuedAt = "req_1", audience, time.Now().UnixMilli()
				header, err := who.Bind(r, sent(method)).Sign(key)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set(httpkit.IdentityHeader, header)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			var answer struct{ Error struct{ Code string } }
			_ = json.Unmarshal(w.Body.Bytes(), &answer) // an admitted call may answer with a page
			want := c.code(serves)
			refused := w.Code == http.StatusUnauthorized
			if refused != (want != "") || refused && answer.Error.Code != want {
				t.Errorf("%s as %s = %d %s, want %s (the document allows %s)", route, c.name, w.Code, w.Body, wanted(want), serves)
			}
		}
	}
}

func wanted(code string) string {
	if code == "" {
		return "no 401"
	}
	return "401 " + code
}

// sent is the body that a service reads.
func sent(method string) []byte {
	if method == http.MethodGet {
		return nil
	}
	return []byte("{}")
}

var (
	names     = regexp.MustCompile(`\{[^}]*\}`)
	pathLine  = regexp.MustCompile(`^  (/[^:]*):$`)
	verbLine  = regexp.MustCompile(`^    (get|post|put|patch|delete):$`)
	endOfPath = regexp.MustCompile(`^[a-z]`)
)

func unnamed(route string) string { return names.ReplaceAllString(route, "{}") }

// document reads whom each route serves out of gateway/openapi.yaml, and checks the statuses of the refusals there.
func document(t *testing.T) map[string]access {
	t.Helper()
	text := read(t)
	for _, code := range []string{"identity_invalid", "key_required", "operator_required"} {
		if !strings.Contains(text, fmt.Sprintf("| `%s` | 401 |", code)) {
			t.Errorf("look for the status of %s in openapi.yaml: got none, want 401", code)
		}
	}
	found := map[string]access{}
	path, route := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case pathLine.MatchString(line):
			path, route = pathLine.FindStringSubmatch(line)[1], ""
		case endOfPath.MatchString(line):
			path, route = "", ""
		case path != "" && verbLine.MatchString(line):
			route = unnamed(strings.ToUpper(verbLine.FindStringSubmatch(line)[1]) + " " + path)
			found[route] = merchants // the document's own requirement
		case route == "":
		case line == "      security: []", line == "        - {}":
			found[route] = all
		case line == "        - operatorToken: []":
			found[route] = operators
		}
	}
	if len(found) < 50 {
		t.Fatalf("read the routes of openapi.yaml: got %d, want at least 50", len(found))
	}
	return found
}

func read(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if raw, err := os.ReadFile(filepath.Join(dir, "gateway", "openapi.yaml")); err == nil {
			return string(raw)
		}
	}
	t.Fatal("look for gateway/openapi.yaml above the test: got none")
	return ""
}
