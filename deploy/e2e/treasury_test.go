//go:build integration

package e2e

import (
	"encoding/csv"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestTreasury: operators alone read where the money is. The report is whole for each asset, the export of the month
// sums to zero, and yesterday is closed.
func TestTreasury(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "settled")
	for _, path := range []string{"/v1/admin/treasury", "/v1/admin/journals?month=2026-01"} {
		c.Call(t, http.MethodGet, path, nil).Want(t, http.StatusUnauthorized)
	}
	last := value[int64](t, s, "payments", `SELECT max(j.id) FROM ledger_journals j JOIN payments p ON p.id = j.payment_id WHERE p.reference = $1`, ref)
	var report *api.Answer
	api.Eventually(t, settle, "a report with the payment", func() bool {
		report = operator.Call(t, http.MethodGet, "/v1/admin/treasury?mode=test", nil).Want(t, http.StatusOK, http.StatusServiceUnavailable)
		return report.Status == http.StatusOK && report.Number(t, "treasury.lastJournal").Cmp(new(big.Rat).SetInt64(last)) >= 0
	})
	left := map[string]*big.Rat{}
	add := func(asset string, n *big.Rat, sign int64) {
		if left[asset] == nil {
			left[asset] = new(big.Rat)
		}
		left[asset].Add(left[asset], new(big.Rat).Mul(n, new(big.Rat).SetInt64(sign)))
	}
	each := func(list string, of func(at string)) {
		for i := range report.Len(t, list) {
			of(list + "." + new(big.Int).SetInt64(int64(i)).String())
		}
	}
	each("treasury.crypto", func(at string) {
		add(report.Text(t, at+".asset"), report.Number(t, at+".ledger.depositAddresses"), 1)
		add(report.Text(t, at+".asset"), report.Number(t, at+".ledger.treasuryAndStations"), 1)
	})
	each("treasury.floats", func(at string) { add(report.Text(t, at+".currency"), report.Number(t, at+".ledger"), 1) })
	for _, list := range []string{"treasury.owed", "treasury.exchange.positions", "treasury.own"} {
		each(list, func(at string) { add(report.Text(t, at+".asset"), report.Number(t, at+".amount"), -1) })
	}
	if len(left) < 2 {
		t.Errorf("the report has %d assets, want USDT and NGN at least: %s", len(left), report.Body)
	}
	for asset, n := range left {
		if n.Sign() != 0 {
			t.Errorf("the report has %s %s more than is owed and owned: %s", n.FloatString(4), asset, report.Body)
		}
	}
	yesterday := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	closed := operator.Call(t, http.MethodGet, "/v1/admin/treasury?mode=test&day="+yesterday, nil).Want(t, http.StatusOK)
	if got := closed.Text(t, "treasury.day"); got != yesterday {
		t.Errorf("the report of %s is of %s", yesterday, got)
	}
	operator.Call(t, http.MethodGet, "/v1/admin/treasury?day=2020-01-01", nil).Want(t, http.StatusNotFound)
	operator.Call(t, http.MethodGet, "/v1/admin/treasury?day=yesterday", nil, bad).Want(t, http.StatusBadRequest)
	operator.Call(t, http.MethodGet, "/v1/admin/journals", nil, bad).Want(t, http.StatusBadRequest)
	table := operator.Call(t, http.MethodGet, "/v1/admin/treasury?mode=test&format=csv", nil).Want(t, http.StatusOK)
	if rows, err := csv.NewReader(strings.NewReader(string(table.Body))).ReadAll(); err != nil || len(rows) < 5 {
		t.Errorf("the CSV has %d rows, %v: %s", len(rows), err, table.Body)
	}

	export := operator.Call(t, http.MethodGet, "/v1/admin/journals?mode=test&month="+time.Now().UTC().Format("2006-01"), nil).Want(t, http.StatusOK)
	rows, err := csv.NewReader(strings.NewReader(string(export.Body))).ReadAll()
	if err != nil {
		t.Fatalf("reading the export: %v", err)
	}
	sums, mine := map[string]*big.Rat{}, 0
	id := value[string](t, s, "payments", `SELECT id FROM payments WHERE reference = $1`, ref)
	for _, r := range rows[1:] {
		place := r[0] + " " + r[1] + " " + r[8]
		if sums[place] == nil {
			sums[place] = new(big.Rat)
		}
		for cell, sign := range map[string]int64{r[9]: 1, r[10]: -1} {
			if n, ok := new(big.Rat).SetString(cell); ok {
				sums[place].Add(sums[place], n.Mul(n, new(big.Rat).SetInt64(sign)))
			}
		}
		if r[4] == id {
			mine++
		}
	}
	for place, n := range sums {
		if n.Sign() != 0 {
			t.Errorf("%s sums to %s, want zero", place, n.FloatString(4))
		}
	}
	if code := strings.ToLower(ref); mine < 8 || strings.Contains(strings.ToLower(string(export.Body)), code) {
		t.Errorf("the export has %d entries of the payment, want at least eight, and not its reference", mine)
	}
}
