package httpkit_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"causeway.internal/libs/httpkit"
)

// A key that is there and names nothing, or two things, is refused; no key at all is not.
func TestServer_idempotencyKey(t *testing.T) {
	for name, tc := range map[string]struct {
		keys   []string
		status int
	}{
		"none": {nil, 201}, "one": {[]string{"a b"}, 201}, "longest": {[]string{strings.Repeat("k", 255)}, 201},
		"too long": {[]string{strings.Repeat("k", 256)}, 400}, "empty": {[]string{""}, 400}, "blank": {[]string{" "}, 400},
		"two": {[]string{"a", "b"}, 400}, "an empty second": {[]string{"a", ""}, 400}, "not printable": {[]string{"a\x7f"}, 400},
	} {
		r := httptest.NewRequest(http.MethodPost, "/v1/things?x=1", strings.NewReader(`{"name":"bob"}`))
		r.Header.Set(httpkit.IdentityHeader, sign(t, identity(), newKey))
		for _, key := range tc.keys {
			r.Header.Add(httpkit.IdempotencyHeader, key)
		}
		w := httptest.NewRecorder()
		newServer().ServeHTTP(w, r)
		if w.Code != tc.status || (tc.status == 400 && !strings.Contains(w.Body.String(), `"field":"Idempotency-Key"`)) {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, tc.status)
		}
	}
}
