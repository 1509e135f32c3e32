package draw

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"causeway.internal/deploy/e2e/internal/contract"
)

// TestValid: whatever is drawn as valid, the document allows, in every operation.
func TestValid(t *testing.T) {
	t.Parallel()
	path, err := contract.Find("gateway/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc.Servers = nil
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	source := New(1, time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC))
	const rounds = 6
	broken := 0
	for range rounds {
		for _, o := range Operations(doc) {
			if err := validate(t, router.FindRoute, source.Valid(o, nil)); err != nil {
				t.Errorf("draw a valid request: %v", err)
			}
			if validate(t, router.FindRoute, source.Hostile(o, nil)) != nil {
				broken++
			}
		}
	}
	if broken < rounds*len(Operations(doc))/5 {
		t.Errorf("%d hostile requests break the document, want a fifth of them at least", broken)
	}
}

func validate(t *testing.T, find func(*http.Request) (*routers.Route, map[string]string, error), drawn Request) error {
	t.Helper()
	body, _ := drawn.Body.(string)
	r, err := http.NewRequestWithContext(t.Context(), drawn.Operation.Method, "http://localhost"+drawn.Path, strings.NewReader(body))
	if err != nil {
		t.Fatalf("make a request of %v: %v", drawn, err)
	}
	r.Header = drawn.Header
	route, params, err := find(r)
	if err == nil {
		err = openapi3filter.ValidateRequest(t.Context(), &openapi3filter.RequestValidationInput{
			Request: r, PathParams: params, Route: route,
			Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true},
		})
	}
	if err != nil {
		return fmt.Errorf("%v: %w", drawn, err)
	}
	return nil
}

// TestLearn: what an answer shows comes back in the paths of its objects, and the same seed draws the same.
func TestLearn(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/v1/wallets/{id}": "wallet.id", "/v1/webhooks/deliveries/{id}/retry": "delivery.id", "/v1/wallets/address-book/{id}": "address.id",
		"/v1/settlement-accounts/{id}": "settlementAccount.id",
	} {
		if got := object(path, "id"); got != want {
			t.Errorf("%s: got the name %s, want %s", path, got, want)
		}
	}
	s := New(1, time.Now())
	s.Learn(map[string]any{"wallets": []any{map[string]any{"id": "wal_1", "amount": "7"}}, "payment": map[string]any{"reference": "CW-1"}})
	if s.found["wallet.id"][0] != "wal_1" || s.found["payment.reference"][0] != "CW-1" || len(s.found) != 3 {
		t.Errorf("learned %v", s.found)
	}
	one, other := New(7, time.Now()), New(7, time.Now())
	for range 50 {
		if a, b := one.Hard(), other.Hard(); plainText(a) != plainText(b) {
			t.Fatalf("drew %v and %v from one seed", a, b)
		}
	}
}
