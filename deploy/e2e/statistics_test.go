//go:build integration

package e2e

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestStatistics: the figures of a merchant are those of its payments, and of its settlements.
func TestStatistics(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("statistics"), "*")
	create(t, mine, transfer(nil))
	ref := create(t, mine, transfer(nil)).Text(t, "payment.reference")
	deposit(t, mine, ref, nil)
	awaitStatus(t, mine, ref, "settled")
	settled := mine.Call(t, http.MethodGet, "/v1/settlements", nil).Want(t, http.StatusOK)
	a := mine.Call(t, http.MethodGet, "/v1/statistics?by=day,status", nil).Want(t, http.StatusOK)
	if total(t, a, "count") != 2 || total(t, a, "settled") != 1 || a.Len(t, "statistics.groups") != 2 ||
		a.Number(t, "statistics.totals.amounts.0.fee").Cmp(settled.Number(t, "totals.fiat.0.fee")) != 0 ||
		a.Number(t, "statistics.totals.amounts.0.payoutAmount").Cmp(settled.Number(t, "totals.fiat.0.payoutAmount")) != 0 {
		t.Errorf("statistics: %s, settlements: %s", a.Body, settled.Body)
	}
	for _, wrong := range []string{
		"from=2026-04-02&to=2026-04-01", "from=2024-01-01&to=2026-04-01", "from=2026-04-01T00:00:00Z", "by=payer", "network=nowhere", "fiatCurrency=USD", "type=all",
	} {
		mine.Call(t, http.MethodGet, "/v1/statistics?"+wrong, nil, bad).Want(t, http.StatusBadRequest)
	}
	if none := mine.Call(t, http.MethodGet, "/v1/statistics?to=2020-01-01", nil).Want(t, http.StatusOK); none.Len(t, "statistics.groups") != 0 {
		t.Errorf("nothing was created then: %s", none.Body)
	}
	other := key(t, s, c, "test", unique("statistics"), "*")
	if none := other.Call(t, http.MethodGet, "/v1/statistics", nil).Want(t, http.StatusOK); total(t, none, "count") != 0 {
		t.Errorf("another merchant sees %s", none.Body)
	}
	key(t, s, c, "test", unique("statistics"), "payment:create").Call(t, http.MethodGet, "/v1/statistics", nil).Want(t, http.StatusForbidden)
}

// total is one of the totals.
func total(t testing.TB, a *api.Answer, name string) int64 {
	t.Helper()
	return a.Number(t, "statistics.totals."+name).Num().Int64()
}

// TestTimeline: a settled payment shows its quote, its transfer, its payout and its deliveries.
func TestTimeline(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("timeline"), "*")
	endpoint(t, mine, receive(t), "/timeline")
	ref := create(t, mine, transfer(nil)).Text(t, "payment.reference")
	deposit(t, mine, ref, nil)
	awaitStatus(t, mine, ref, "settled")
	a := mine.Call(t, http.MethodGet, "/v1/payments/"+ref+"/timeline", nil).Want(t, http.StatusOK)
	kinds := map[string]int{}
	last := ""
	for i := range a.Len(t, "timeline.entries") {
		kind := a.Text(t, fmt.Sprintf("timeline.entries.%d.kind", i))
		if kinds[kind]++; kind == "status" {
			last = a.Text(t, fmt.Sprintf("timeline.entries.%d.status.status", i))
		}
	}
	if kinds["quote"] != 1 || kinds["transfer"] != 1 || kinds["payout"] != 1 || kinds["status"] < 4 || last != "settled" {
		t.Errorf("timeline: %s", a.Body)
	}
	id := a.Text(t, "timeline.id")
	api.Eventually(t, soon, "the deliveries of the payment", func() bool {
		return mine.Call(t, http.MethodGet, "/v1/webhooks/deliveries?objectId="+id, nil).Want(t, http.StatusOK).Len(t, "deliveries") >= 4
	})
	if none := mine.Call(t, http.MethodGet, "/v1/webhooks/deliveries?objectId=pay_none", nil).Want(t, http.StatusOK); none.Len(t, "deliveries") != 0 {
		t.Errorf("deliveries of no payment: %s", none.Body)
	}
	other := key(t, s, c, "test", unique("timeline"), "*")
	other.Call(t, http.MethodGet, "/v1/payments/"+ref+"/timeline", nil).Want(t, http.StatusNotFound)
	if none := other.Call(t, http.MethodGet, "/v1/webhooks/deliveries?objectId="+id, nil).Want(t, http.StatusOK); none.Len(t, "deliveries") != 0 {
		t.Errorf("another merchant sees %s", none.Body)
	}
}

// TestExport: the payments of a filter as CSV.
func TestExport(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("export"), "*")
	first := create(t, mine, transfer(nil)).Text(t, "payment.reference")
	second := create(t, mine, transfer(nil)).Text(t, "payment.reference")
	mine.Call(t, http.MethodPost, "/v1/payments/"+first+"/cancel", nil).Want(t, http.StatusOK)
	for query, want := range map[string][]string{"": {second, first}, "?status=cancelled": {first}, "?type=gift": {}} {
		a := mine.Call(t, http.MethodGet, "/v1/payments/export"+query, nil).Want(t, http.StatusOK)
		lines, err := csv.NewReader(bytes.NewReader(a.Body)).ReadAll()
		if err != nil || len(lines) != len(want)+1 {
			t.Errorf("export%s: %s, %v", query, a.Body, err)
			continue
		}
		for i, ref := range want {
			if lines[i+1][0] != ref {
				t.Errorf("export%s: line %d is %s, want %s", query, i+1, lines[i+1][0], ref)
			}
		}
	}
	mine.Call(t, http.MethodGet, "/v1/payments/export?limit=1", nil, bad).Want(t, http.StatusBadRequest)
	key(t, s, c, "test", unique("export"), "payment:create").Call(t, http.MethodGet, "/v1/payments/export", nil).Want(t, http.StatusForbidden)
}
