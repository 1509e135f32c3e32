//go:build integration

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestReports_subjects: the operators' view of an address, separately for each mode, and the signal to payments.
func TestReports_subjects(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	merchants := []string{unique("a"), unique("b")}
	first, second := key(t, s, c, "test", merchants[0], "*"), key(t, s, c, "test", merchants[1], "*")
	live := key(t, s, c, "live", merchants[0], "*")
	wallet := "0xAb" + strings.TrimPrefix(unique("x"), "x-")
	phone := freshPhone()
	against := func(c *api.Client, changes api.Object) string {
		changes["fraudsterWalletAddress"] = wallet
		return file(t, c, changes).Text(t, "data.report.reportId")
	}
	ids := []string{
		against(first, api.Object{"phoneNumber": phone}), against(first, api.Object{"phoneNumber": "+" + phone}),
		against(second, api.Object{"phoneNumber": nil, "walletAddress": unique("T")}), against(second, api.Object{"complaintType": "stolen_funds"}),
	}
	against(live, api.Object{})
	file(t, first, api.Object{"walletAddress": strings.ToLower(wallet)})
	for _, step := range []struct {
		client *api.Client
		id, to string
	}{{first, ids[0], "processing"}, {first, ids[0], "resolved"}, {second, ids[2], "processing"}, {second, ids[3], "dismissed"}} {
		step.client.Call(t, http.MethodPatch, "/v1/reports/"+step.id, api.Object{"status": step.to}).Want(t, http.StatusOK)
	}
	a := operator.Call(t, http.MethodGet, "/v1/admin/reports/subjects?mode=test&walletAddress="+strings.ToUpper(wallet[:2])+wallet[2:], nil).Want(t, http.StatusOK)
	if a.Len(t, "data.subjects") != 1 || a.Text(t, "data.subjects.0.walletAddress") != strings.ToLower(wallet) {
		t.Errorf("list the subjects with wallet %s: got %s, want that one", wallet, a.Body)
	}
	for path, want := range map[string]string{
		"counts.total": "4", "counts.pending": "1", "counts.processing": "1", "counts.resolved": "1", "counts.dismissed": "1",
		"distinctReporters": "3", "distinctMerchants": "2", "resolvedFraudMerchants": "1", "filedFrom.total": "1", "sources.0.reports": "2",
	} {
		if got := a.Number(t, "data.subjects.0."+path).RatString(); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	api.Eventually(t, soon, "payments to know of the address", func() bool {
		return count(t, s, "payments", `SELECT count(*) FROM fraud_signals WHERE mode = 'test' AND address = lower($1) AND merchants = 1`, wallet) == 1
	})
	both := operator.Call(t, http.MethodGet, "/v1/admin/reports/subjects?walletAddress="+wallet, nil).Want(t, http.StatusOK)
	if both.Text(t, "data.subjects.0.mode") != "live" || both.Number(t, "data.subjects.0.counts.total").RatString() != "1" || both.Number(t, "data.subjects.1.counts.total").RatString() != "4" {
		t.Errorf("list the subjects of both modes: got %s, want 1 live report and 4 of test mode", both.Body)
	}
	operator.Call(t, http.MethodGet, "/v1/admin/reports/subjects", nil, bad).Want(t, http.StatusBadRequest)
	operator.Call(t, http.MethodGet, "/v1/admin/reports/floods?limit=1", nil).Want(t, http.StatusOK)
	for _, path := range []string{"/v1/admin/reports/subjects?walletAddress=x", "/v1/admin/reports/floods"} {
		c.Call(t, http.MethodGet, path, nil).Want(t, http.StatusUnauthorized)
		c.With("").Call(t, http.MethodGet, path, nil).Want(t, http.StatusUnauthorized)
	}
}
