package compress_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"causeway.internal/gateway/internal/compress"
)

func TestHandler(t *testing.T) {
	long := `{"text":"` + strings.Repeat("abcdefgh ", 1000) + `"}`
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := long
		if r.URL.Query().Has("short") {
			body = `{"text":"short"}`
		}
		kind := r.URL.Query().Get("kind")
		if kind == "" {
			kind = "application/json"
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("ETag", `"v1"`)
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, body)
	})
	handler, err := compress.Handler(next)
	if err != nil {
		t.Fatal(err)
	}
	call := func(method, path, accept, match string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		r.Header.Set("Accept-Encoding", accept)
		r.Header.Set("If-None-Match", match)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	for _, tt := range []struct {
		method, path, accept string
		compressed           bool
	}{
		{"GET", "/v1/payments", "gzip, br", true},
		{"GET", "/pay/CW-A?kind=text/html;+charset%3Dutf-8", "gzip", true},
		{"GET", "/v1/payments", "", false},
		{"GET", "/v1/payments", "gzip;q=0", false},
		{"GET", "/v1/payments?short", "gzip", false},
		{"GET", "/v1/settlements?kind=text/csv", "gzip", false},
		{"GET", "/v1/webhooks/secret", "gzip", false},
		{"GET", "/v1/webhooks/endpoints/whe_1/secret", "gzip", false},
		{"POST", "/v1/payments", "gzip", false},
	} {
		w := call(tt.method, tt.path, tt.accept, "")
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != tt.compressed {
			t.Errorf("%s %s with Accept-Encoding %q: compressed %t, want %t", tt.method, tt.path, tt.accept, got, tt.compressed)
		}
	}

	w := call("GET", "/v1/payments", "gzip", "")
	if w.Body.Len() > len(long)/10 || !strings.Contains(w.Header().Get("Vary"), "Accept-Encoding") {
		t.Errorf("get a compressed answer: %d bytes, Vary %q; want less than a tenth of %d, and Accept-Encoding", w.Body.Len(), w.Header().Get("Vary"), len(long))
	}
	plain, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := io.ReadAll(plain); err != nil || string(raw) != long {
		t.Errorf("inflate a compressed answer: got %d bytes, %v; want the answer", len(raw), err)
	}
	tag := w.Header().Get("ETag")
	if again := call("GET", "/v1/payments", "gzip", tag); tag != `"v1-gzip"` || again.Code != http.StatusNotModified {
		t.Errorf("ask again with the tag %s: got %d, want a tag of its own and 304", tag, again.Code)
	}
}
