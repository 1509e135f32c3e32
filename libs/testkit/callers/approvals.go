package callers

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/passkey"
	"causeway.internal/libs/person"
	"causeway.internal/libs/testkit/authenticator"
)

// checkApproval sends a change through the operators' console, without an approval of that change by a passkey of that
// operator, with wrong ones, and with one. It passes with the last alone.
func checkApproval(t *testing.T, s *httpkit.Server, key []byte, audience, method, path string) {
	t.Helper()
	site := passkey.Site{RPID: "ops.example.com", Origin: "https://ops.example.com"}
	adas, bens := authenticator.New(t, site), authenticator.New(t, site)
	change := passkey.Change{Operator: "ada", Method: method, Path: path, Body: sent(method), At: time.Now()}
	other := change
	other.Path += "/other"
	for _, tc := range []struct{ name, approval, code string }{
		{"without an approval", "", "approval_required"},
		{"with the approval of another operator", bens.Approve(t, change).Header(), "approval_invalid"},
		{"with the approval of another change", adas.Approve(t, other).Header(), "approval_invalid"},
		{"with its approval", adas.Approve(t, change).Header(), ""},
	} {
		r := httptest.NewRequest(method, path, strings.NewReader("{}"))
		who := httpkit.Identity{
			Subject: httpkit.Operator, Operator: "ada", Door: person.Operator, User: "usr_ada", Person: "ada", RequestID: "req_1", Audience: audience,
			IssuedAt: time.Now().UnixMilli(), Approver: &httpkit.Approver{Site: site, Keys: []passkey.Key{adas.Key(t)}},
		}
		header, err := who.Bind(r, sent(method)).Sign(key)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(httpkit.IdentityHeader, header)
		if tc.approval != "" {
			r.Header.Set(passkey.Header, tc.approval)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		var answer struct{ Error struct{ Code string } }
		_ = json.Unmarshal(w.Body.Bytes(), &answer)
		refused := w.Code == http.StatusForbidden && strings.HasPrefix(answer.Error.Code, "approval_")
		if refused != (tc.code != "") || refused && answer.Error.Code != tc.code {
			t.Errorf("%s %s through the console %s: got %d %s, want %q", method, path, tc.name, w.Code, w.Body, tc.code)
		}
	}
}
