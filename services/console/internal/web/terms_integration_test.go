//go:build integration

package web_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"causeway.internal/services/console/internal/people"
)

// The form of a merchant's terms begins with what they are. An empty field takes a bound away, and the page that asks
// for the approval shows every field.
func TestOperator_terms(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Operators)
	s.api = func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/admin/merchants/") {
			_, _ = io.WriteString(w, `{"merchant":{"merchantId":"acme","name":"Acme","status":"active","currencies":["NGN","KES"],"networks":[],"types":["gift"],
				"limits":[{"fiatCurrency":"NGN","maximum":500000.5}],"dailyLimits":[{"fiatCurrency":"NGN","maximum":20000000},{"fiatCurrency":"KES","maximum":9000}]}}`)
			return
		}
		_, _ = io.WriteString(w, `{"passkeys":[]}`)
	}
	b := s.operator(t, "ada.obi", people.Operator)
	const path = "/merchants/acme/terms"
	b.get("/merchants/acme").want(t, 200, "/merchants/acme", "Most of one day", "20000000", path)
	form := b.get(path).want(t, 200, path, `value="NGN, KES"`, `value="gift"`, `value="NGN 500000.5"`, `value="NGN 20000000, KES 9000"`)
	for _, wrong := range []string{"20000000", "NGN 20,000,000", "NGN much", "NGN true", "NGN 1 KES 2"} {
		b.send(form, path, "dailyLimits", wrong).want(t, 422, path, "such as NGN 500000, KES 10000")
	}
	b.send(form, path, "currencies", "NGN", "networks", "", "types", "gift", "limits", "", "dailyLimits", "NGN 30000000.25,\nKES 9000").
		want(t, 200, "/approve", "PATCH /v1/admin/merchants/acme", "NGN 30000000.25, KES 9000", "No bound", ">gift<")
}

// A change of terms names the version that its form showed. If the merchant has changed meanwhile, the form comes back
// with what was typed, the newest terms, and their version.
func TestOperator_termsChangedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Operators)
	version, limit, asked := 41, 500000, ""
	s.api = func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPatch:
			raw, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			if asked = string(raw); !strings.Contains(asked, fmt.Sprintf(`"version":%d`, version)) {
				w.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(w, `{"success":false,"error":{"code":"merchant_changed","message":"The merchant has changed meanwhile."}}`)
				return
			}
			_, _ = io.WriteString(w, `{"merchant":{}}`)
		case strings.HasPrefix(r.URL.Path, "/v1/admin/merchants/"):
			_, _ = fmt.Fprintf(w, `{"merchant":{"merchantId":"acme","name":"Acme","status":"active","currencies":[],"networks":[],"types":[],
				"limits":[{"fiatCurrency":"NGN","maximum":%d}],"dailyLimits":[],"version":%d}}`, limit, version)
		default:
			_, _ = io.WriteString(w, `{"passkeys":[]}`)
		}
	}
	b := s.operator(t, "ada.obi", people.Operator)
	const path = "/merchants/acme/terms"
	finish := func() page {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/approve/finish", strings.NewReader(`{"id":"eA","response":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		return b.do(r)
	}
	form := b.get(path).want(t, 200, path, `name="version" value="41"`, `value="NGN 500000"`)
	if strings.Contains(form.body, "The terms now") {
		t.Error("a new form shows the terms beside its fields")
	}
	version, limit = 42, 700000 // by another operator
	b.send(form, path, "limits", "NGN 600000").want(t, 200, "/approve")
	finish().want(t, 200, "/approve/finish", path)
	again := b.get(path).want(t, 200, path, "has changed since", "The terms now", "NGN 700000", `value="NGN 600000"`, `name="version" value="42"`)
	b.send(again, path, "limits", "NGN 600000").want(t, 200, "/approve")
	finish().want(t, 200, "/approve/finish", "/merchants/acme")
	for _, want := range []string{`"version":42`, `"maximum":600000`} {
		if !strings.Contains(asked, want) {
			t.Errorf("the change: got %s, want %s", asked, want)
		}
	}
}

// A merchant sees its limits.
func TestSettings_limits(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	s.api = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"merchant":{"merchantId":"acme","name":"Acme","status":"active",
			"limits":[{"fiatCurrency":"NGN","maximum":500000}],"dailyLimits":[{"fiatCurrency":"NGN","maximum":20000000}]}}`)
	}
	b := s.browser(t)
	s.invited(t, b, "ada@acme.example", people.Owner)
	b.get("/settings").want(t, 200, "/settings", "Limits in NGN", "500,000", "Limit of a day in NGN, live mode", "20,000,000")
}
