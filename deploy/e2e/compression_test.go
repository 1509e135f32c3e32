//go:build integration

package e2e

import (
	"io"
	"net/http"
	"regexp"
	"testing"
)

// asBrowser gets a path as a browser does, and returns the body as it comes over the wire.
func asBrowser(t *testing.T, address string) (res *http.Response, body []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
	r.Header.Set("Accept", "text/html")
	res, err = http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("get %s: %d, %v", address, res.StatusCode, err)
	}
	return res, body
}

var asset = regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`)

// TestCompression: pages, the reference with all that it loads, and JSON come compressed to those who accept it.
func TestCompression(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	_, page := asBrowser(t, s.BaseURL+"/docs")
	total := len(page) // below a kilobyte it comes as it is
	for _, m := range asset.FindAllStringSubmatch(string(page), -1) {
		_, body := asBrowser(t, s.BaseURL+m[1])
		total += len(body)
	}
	_, document := asBrowser(t, s.BaseURL+"/openapi.yaml")
	total += len(document)
	if total > 600_000 || total < 100_000 {
		t.Errorf("open /docs: %d bytes on the wire, want at most 600 000, and its scripts among them", total)
	}
	ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
	for _, path := range []string{"/pay/" + ref, "/v1/networks"} {
		if res, _ := asBrowser(t, s.BaseURL+path); res.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("get %s: Content-Encoding %q, want gzip", path, res.Header.Get("Content-Encoding"))
		}
	}
}
