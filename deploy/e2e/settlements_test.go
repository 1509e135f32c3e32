//go:build integration

package e2e

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"testing"
)

// TestSettlements: a settled payment is one row, as JSON with totals and as CSV.
func TestSettlements(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("settlements"), "*")
	ref := create(t, mine, transfer(nil)).Text(t, "payment.reference")
	deposit(t, mine, ref, nil)
	settled := awaitStatus(t, mine, ref, "settled")
	a := mine.Call(t, http.MethodGet, "/v1/settlements", nil).Want(t, http.StatusOK)
	if a.Len(t, "settlements") != 1 || a.Text(t, "settlements.0.reference") != ref || a.Text(t, "settlements.0.settledBy") != "causeway" ||
		a.Number(t, "settlements.0.payoutAmount").Cmp(settled.Number(t, "payment.payoutAmount")) != 0 ||
		a.Number(t, "totals.fiat.0.payoutAmount").Cmp(settled.Number(t, "payment.payoutAmount")) != 0 {
		t.Errorf("settlements: %s", a.Body)
	}
	text := mine.Call(t, http.MethodGet, "/v1/settlements?format=csv", nil).Want(t, http.StatusOK)
	lines, err := csv.NewReader(bytes.NewReader(text.Body)).ReadAll()
	if err != nil || len(lines) != 2 || lines[1][0] != ref {
		t.Errorf("CSV: %s %v", text.Body, err)
	}
	mine.Call(t, http.MethodGet, "/v1/settlements?format=xls", nil, bad).Want(t, http.StatusBadRequest)
	mine.Call(t, http.MethodGet, "/v1/settlements?from=2026-04-02&to=2026-04-01", nil, bad).Want(t, http.StatusBadRequest)
	if empty := mine.Call(t, http.MethodGet, "/v1/settlements?to=2020-01-01", nil).Want(t, http.StatusOK); empty.Len(t, "settlements") != 0 {
		t.Errorf("nothing was settled then: %s", empty.Body)
	}
	key(t, s, c, "test", unique("settlements"), "payment:create").Call(t, http.MethodGet, "/v1/settlements", nil).Want(t, http.StatusForbidden)
}
