//go:build integration

package web_test

import (
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
	b.get("/merchants/acme").want(t, 200, "/merchants/acme", "daily limits", "20000000", path)
	form := b.get(path).want(t, 200, path, `value="NGN, KES"`, `value="gift"`, `value="NGN 500000.5"`, `value="NGN 20000000, KES 9000"`)
	for _, wrong := range []string{"20000000", "NGN 20,000,000", "NGN much", "NGN true", "NGN 1 KES 2"} {
		b.send(form, path, "dailyLimits", wrong).want(t, 422, path, "such as NGN 500000, KES 10000")
	}
	b.send(form, path, "currencies", "NGN", "networks", "", "types", "gift", "limits", "", "dailyLimits", "NGN 30000000.25,\nKES 9000").
		want(t, 200, "/approve", "PATCH /v1/admin/merchants/acme", "NGN 30000000.25, KES 9000", "No bound", ">gift<")
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
