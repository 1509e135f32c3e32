package api_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"causeway.internal/libs/person"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/console/internal/api"
)

// A visit reads each address once, so that a page and the version of what it shows agree, until the visit changes
// something. Another visit reads anew.
func TestPerson_readsOnce(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"error":{"code":"not_found"}}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"n":%d}`, asked)
	}))
	t.Cleanup(server.Close)
	gateway := api.New(server.URL, ed25519.NewKeyFromSeed(bytes.Repeat([]byte("d"), ed25519.SeedSize)), time.Now)
	ada := person.Assertion{Door: person.Merchant, User: "usr_ada", Name: "ada@acme.example", MerchantID: "acme", Mode: tenant.Test}
	visit := gateway.As(ada)
	read := func(p api.Person, path string, query url.Values, want string) {
		t.Helper()
		var got struct{ N json.Number }
		if err := p.Get(t.Context(), path, query, &got); err != nil || got.N.String() != want {
			t.Errorf("get %s?%s: got %s, %v, want answer %s", path, query.Encode(), got.N, err, want)
		}
	}
	read(visit, "/list", nil, "1")
	read(visit, "/list", nil, "1")
	read(visit, "/list", url.Values{"cursor": {"a"}}, "2")
	read(visit, "/list", nil, "1")
	for range 2 {
		err := visit.Get(t.Context(), "/missing", nil, nil)
		if refused, ok := errors.AsType[*api.Error](err); !ok || refused.Code != "not_found" || refused.Status != http.StatusNotFound || asked != 3 {
			t.Errorf("get what is missing: got %v after %d requests, want not_found after 3", err, asked)
		}
	}
	if err := visit.Post(t.Context(), "/list", "key", map[string]string{}, nil); err != nil {
		t.Fatal(err)
	}
	read(visit, "/list", nil, "5")
	read(gateway.As(ada), "/list", nil, "6")
}
