//go:build integration

package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// TestReports_get: docs/api-contract.md#reports: public, by id without regard to case, as it was filed.
func TestReports_get(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	for mode, mine := range map[string]*api.Client{"test": c, "live": key(t, s, c, "live", unique("filer"), "report:create")} {
		made := file(t, mine, api.Object{"description": mode})
		id := made.Text(t, "data.report.reportId")
		for _, spelling := range []string{id, "RPT-" + strings.ToLower(id[4:])} {
			a := c.With("").Call(t, http.MethodGet, "/v1/reports/"+spelling, nil).Want(t, http.StatusOK)
			if string(a.Body) != string(made.Body) {
				t.Errorf("%s is %s, want %s", spelling, a.Body, made.Body)
			}
		}
	}
}

// TestReports_getRefused: docs/api-contract.md#fixed-texts to the letter.
func TestReports_getRefused(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	for id, want := range map[string]struct {
		status  int
		message string
	}{
		"RPT-000000": {http.StatusNotFound, "Report not found"}, "RPT-zzzzzz": {http.StatusNotFound, "Report not found"},
		"RPT-12345": {http.StatusBadRequest, "Invalid report ID format"}, "RPT-1234567": {http.StatusBadRequest, "Invalid report ID format"},
		"rpt-123456": {http.StatusBadRequest, "Invalid report ID format"}, "RPT-12345!": {http.StatusBadRequest, "Invalid report ID format"},
		"123456": {http.StatusBadRequest, "Invalid report ID format"}, "RPT-12345%00": {http.StatusBadRequest, "Invalid report ID format"},
		"RPT-123456%0A": {http.StatusBadRequest, "Invalid report ID format"}, "RPT-%C3%A9%C3%A9%C3%A9": {http.StatusBadRequest, "Invalid report ID format"},
		"lookups": {http.StatusBadRequest, "Invalid report ID format"}, "RPT-%2A%2A%2A%2A%2A%2A": {http.StatusBadRequest, "Invalid report ID format"},
	} {
		a := c.With("").Call(t, http.MethodGet, "/v1/reports/"+id, nil, bad).Want(t, want.status)
		if got := a.Text(t, "message"); got != want.message {
			t.Errorf("%s: %q, want %q", id, got, want.message)
		}
	}
}

// publicReports: what the public may see is configured; guesses of ids are counted where nothing spares the caller.
func publicReports(t *testing.T, s *stack.Stack) {
	c := client(t, s)
	merchant, operators := unique("filer"), []*api.Client{c.With(s.AdminToken), c.With(s.SecondToken)}
	for _, operator := range operators {
		order := api.Object{"merchantId": merchant, "name": merchant, "country": "NG"}
		operator.Call(t, http.MethodPost, "/v1/admin/merchants", order).Want(t, http.StatusCreated, http.StatusConflict)
		operator.Call(t, http.MethodPost, "/v1/admin/merchants/"+merchant+"/approve", nil).Want(t, http.StatusAccepted, http.StatusOK)
	}
	var made *api.Answer
	for _, operator := range operators {
		order := api.Object{"merchantId": merchant, "name": "filer", "mode": "live", "permissions": []string{"report:*"}}
		made = operator.Call(t, http.MethodPost, "/v1/admin/keys", order).Want(t, http.StatusAccepted, http.StatusCreated)
	}
	live := c.With(made.Text(t, "key.secret"))
	phone := freshPhone()
	hidden := file(t, c, api.Object{"phoneNumber": phone}).Text(t, "data.report.reportId")
	shown := file(t, live, api.Object{"phoneNumber": phone}).Text(t, "data.report.reportId")
	c.Call(t, http.MethodGet, "/v1/reports/"+hidden, nil).Want(t, http.StatusNotFound)
	c.Call(t, http.MethodGet, "/v1/reports/"+shown, nil).Want(t, http.StatusOK)
	if a := look(t, c, "phoneNumber="+phone); a.Number(t, "data.total").RatString() != "1" || a.Text(t, "data.reports.0.reportId") != shown {
		t.Errorf("look up %s: got %s, want report %s alone", phone, a.Body, shown)
	}
	c.Call(t, http.MethodPatch, "/v1/reports/"+hidden, api.Object{"status": "dismissed"}).Want(t, http.StatusOK)

	guesses, began := 0, time.Now()
	for range 1000 {
		a := c.With("").Call(t, http.MethodGet, "/v1/reports/RPT-222222", nil).Want(t, http.StatusNotFound, http.StatusTooManyRequests)
		if a.Status == http.StatusTooManyRequests {
			break
		}
		guesses++
	}
	// One was made above; half a one comes back each second.
	if most := 31 + int(time.Since(began).Seconds()); guesses < 29 || guesses > most {
		t.Errorf("%d guesses were answered in %s, want 30 a minute", guesses+1, time.Since(began))
	}

	wallet := "0xF" + strings.TrimPrefix(unique("x"), "x-")
	for range 3 {
		file(t, c, api.Object{"fraudsterWalletAddress": wallet})
	}
	a := c.Call(t, http.MethodPost, "/v1/reports", filing(api.Object{"fraudsterWalletAddress": strings.ToUpper(wallet[:3]) + wallet[3:]})).Want(t, http.StatusTooManyRequests)
	if a.Text(t, "error.code") != "too_many_reports" || a.Header.Get("Retry-After") == "" {
		t.Errorf("create one report too many of a wallet: got %s, %v, want too_many_reports and Retry-After", a.Body, a.Header)
	}
	file(t, live, api.Object{"fraudsterWalletAddress": wallet})
	floods := c.With(s.AdminToken).Call(t, http.MethodGet, "/v1/admin/reports/floods?mode=test", nil).Want(t, http.StatusOK)
	if floods.Text(t, "floods.0.walletAddress") != strings.ToLower(wallet) || floods.Number(t, "floods.0.refused").RatString() != "1" {
		t.Errorf("list floods: got %s, want 1 refused report of %s", floods.Body, wallet)
	}
}
