//go:build integration

package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestReports_update: docs/api-contract.md#reports: the transitions, whose reports, what is hidden from the public, and
// the webhooks.
func TestReports_update(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	merchant := unique("manager")
	mine := key(t, s, c, "test", merchant, "report:create", "report:manage", "webhook:manage")
	hook := receive(t)
	path := "/" + unique("reports")
	endpoint(t, mine, hook, path, "report.created", "report.updated")

	made := file(t, mine, api.Object{"fraudsterWalletAddress": unique("0xBAD"), "description": "all of it"})
	id := made.Text(t, "data.report.reportId")
	change := func(client *api.Client, body api.Object, status int) *api.Answer {
		t.Helper()
		return client.Call(t, http.MethodPatch, "/v1/reports/"+id, body).Want(t, status)
	}
	change(mine, api.Object{"status": "resolved"}, http.StatusConflict)
	change(mine, api.Object{"status": "pending"}, http.StatusConflict)
	first := change(mine, api.Object{"status": "processing", "confirmer": "Bola A."}, http.StatusOK)
	sameSet(t, "the answer", first.Keys(t, ""), "success", "data")
	sameSet(t, "the changed report", first.Keys(t, "data.report"), reportFields...)
	if first.Text(t, "data.report.status") != "processing" || first.Text(t, "data.report.confirmer") != "Bola A." || !first.Null("data.report.adminNotes") ||
		first.Text(t, "data.report.updatedAt") < first.Text(t, "data.report.createdAt") || first.Text(t, "data.report.createdAt") != made.Text(t, "data.report.createdAt") {
		t.Errorf("change a report: got %s, want status processing, confirmer Bola A. and a later updatedAt", first.Body)
	}
	for name, test := range map[string]struct {
		client *api.Client
		status int
	}{
		"another merchant": {key(t, s, c, "test", unique("other"), "*"), http.StatusNotFound},
		"the other mode":   {key(t, s, c, "live", merchant, "*"), http.StatusNotFound},
		"no permission":    {key(t, s, c, "test", merchant, "report:create"), http.StatusForbidden},
		"nobody":           {c.With(""), http.StatusUnauthorized},
	} {
		if a := change(test.client, api.Object{"status": "dismissed"}, test.status); test.status == http.StatusForbidden && !strings.Contains(a.Text(t, "message"), "report:manage") {
			t.Errorf("change a report with %s: got %s, want a message that names report:manage", name, a.Body)
		}
	}
	for _, body := range []api.Object{{}, {"status": "closed"}, {"status": "resolved", "adminNotes": strings.Repeat("x", 5001)}, {"status": 1}} {
		mine.Call(t, http.MethodPatch, "/v1/reports/"+id, body, bad).Want(t, http.StatusBadRequest)
	}
	if a := mine.Call(t, http.MethodPatch, "/v1/reports/RPT-1", api.Object{"status": "dismissed"}, bad).Want(t, http.StatusBadRequest); a.Text(t, "message") != "Invalid report ID format" {
		t.Errorf("change report RPT-1: got %s, want \"Invalid report ID format\"", a.Body)
	}
	mine.Call(t, http.MethodPatch, "/v1/reports/RPT-000000", api.Object{"status": "dismissed"}).Want(t, http.StatusNotFound)
	last := change(key(t, s, c, "test", merchant, "report:manage"), api.Object{"status": "resolved", "adminNotes": "money is back"}, http.StatusOK)
	if last.Text(t, "data.report.confirmer") != "Bola A." || last.Text(t, "data.report.adminNotes") != "money is back" {
		t.Errorf("resolve a report: got %s, want confirmer Bola A. and the notes", last.Body)
	}
	for _, to := range []string{"pending", "processing", "resolved", "dismissed"} {
		change(mine, api.Object{"status": to}, http.StatusConflict)
	}
	for _, client := range []*api.Client{c.With(""), mine, c} {
		one := client.Call(t, http.MethodGet, "/v1/reports/"+id, nil).Want(t, http.StatusOK)
		if !one.Null("data.report.confirmer") || !one.Null("data.report.adminNotes") || one.Text(t, "data.report.status") != "resolved" {
			t.Errorf("the public sees %s", one.Body)
		}
	}

	// The merchant lists its own reports with their notes; nobody else does.
	list := func(client *api.Client, query string) *api.Answer {
		t.Helper()
		return client.Call(t, http.MethodGet, "/v1/reports"+query, nil).Want(t, http.StatusOK)
	}
	own := list(mine, "?status=resolved,pending&complaintType="+made.Text(t, "data.report.complaintType"))
	if own.Len(t, "data.reports") != 1 || own.Text(t, "data.reports.0.reportId") != id || own.Text(t, "data.reports.0.adminNotes") != "money is back" ||
		!own.Null("data.pagination.nextCursor") {
		t.Errorf("list own reports: got %s, want %s with its notes alone", own.Body, id)
	}
	if a := list(mine, "?status=pending"); a.Len(t, "data.reports") != 0 {
		t.Errorf("list own pending reports: got %s, want none", a.Body)
	}
	if a := list(key(t, s, c, "live", merchant, "report:manage"), ""); a.Len(t, "data.reports") != 0 {
		t.Errorf("list own reports of live mode: got %s, want none", a.Body)
	}
	key(t, s, c, "test", merchant, "report:create").Call(t, http.MethodGet, "/v1/reports", nil).Want(t, http.StatusForbidden)
	for _, query := range []string{"?status=open", "?cursor=x", "?limit=101", "?merchantId=" + merchant} {
		mine.Call(t, http.MethodGet, "/v1/reports"+query, nil, bad).Want(t, http.StatusBadRequest)
	}

	awaitExactly(t, hook, path, "report.created", "report.updated", "report.updated")
	for i, d := range events(hook, path) {
		e := api.Parse(t, d.Body)
		sameSet(t, "the event's report", e.Keys(t, "data.report"), append(slices.Clone(reportFields), "sequence")...)
		if e.Text(t, "data.report.status") != []string{"pending", "processing", "resolved"}[i] || e.Text(t, "mode") != "test" || !e.Null("data.report.adminNotes") || !e.Null("data.report.confirmer") {
			t.Errorf("event %d: %s", i+1, d.Body)
		}
	}
	clean(t, hook)
}
