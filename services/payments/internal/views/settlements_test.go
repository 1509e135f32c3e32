//go:build integration

package views_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/fixture"
)

func settlementReport(w *fixture.Payments, o tenant.Owner, from, to time.Time, asCSV bool) ([]byte, error) {
	w.T.Helper()
	report, err := w.Reader.SettlementReport(w.T.Context(), o, from, to, asCSV)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = report(w.T.Context(), &out)
	return out.Bytes(), err
}

// Over ten pages of payments, every column of the CSV adds up to the totals and to the database's sums.
func TestSettlements_many(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(1)
	p := w.Make(fixture.Command())
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Pay(p)
	columns := fixture.Ask[string](w, `SELECT string_agg(column_name, ',' ORDER BY ordinal_position) FROM information_schema.columns
		WHERE table_name = 'payments' AND column_name NOT IN ('id', 'reference', 'address', 'fiat_amount', 'credit_payout', 'credit_fee')`)
	const many = fixture.SettlementsListed
	w.SQL(fmt.Sprintf(`INSERT INTO payments (id, reference, address, fiat_amount, credit_payout, credit_fee, %[1]s)
		SELECT 'pay_' || lpad(n::text, 26, '0'), 'CW-' || lpad(n::text, 12, '0'), 'T' || n, 50000 + n * 0.01, 49000 + n * 0.01, 1000, %[1]s
		FROM payments, generate_series(1, %[2]d) AS n`, columns, many))
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	body, err := settlementReport(w, fixture.Owner, from, to, true)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
	if err != nil || len(lines) != many+2 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	var fiat, payout, fee decimal.Decimal
	seen := map[string]bool{}
	for _, line := range lines[1:] {
		fiat, fee, payout = fiat.Add(decimal.RequireFromString(line[5])), fee.Add(decimal.RequireFromString(line[6])), payout.Add(decimal.RequireFromString(line[7]))
		seen[line[0]] = true
	}
	if len(seen) != many+1 {
		t.Errorf("%d different payments", len(seen))
	}
	var report struct {
		Totals struct {
			Count int
			Fiat  []struct{ FiatAmount, Fee, PayoutAmount decimal.Decimal }
		}
	}
	if body, err = settlementReport(w, fixture.Owner, from, to, false); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &report); err != nil || report.Totals.Count != many+1 {
		t.Fatalf("%d payments, %v", report.Totals.Count, err)
	}
	total := report.Totals.Fiat[0]
	if !total.FiatAmount.Equal(fiat) || !total.Fee.Equal(fee) || !total.PayoutAmount.Equal(payout) {
		t.Errorf("totals %+v, the CSV adds up to %s, %s, %s", total, fiat, fee, payout)
	}
	if want := fixture.Ask[decimal.Decimal](w, `SELECT sum(credit_payout) FROM payments`); !want.Equal(payout) {
		t.Errorf("paid out %s, the database says %s", payout, want)
	}
}

// The report has one row per settled payment, and its CSV, read back and added up, gives the totals of the JSON.
func TestSettlements_addUp(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(5)
	for i := range 3 {
		c := fixture.Command()
		c.FiatAmount = fixture.Number(fmt.Sprintf("5000%d.25", i))
		p := w.Make(c)
		w.See(p, fixture.Coin{Key: fmt.Sprint("t", i), Amount: p.Quote.CryptoAmount.String(), Version: 1, Depth: fixture.Enough})
		w.Work(func() bool { return w.Status(p) == "settled" })
	}
	p := w.Make(fixture.OwnSettled())
	w.See(p, fixture.Coin{Key: "own", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	if err := w.Settle(p.Reference, w.Token()); err != nil {
		t.Fatal(err)
	}
	w.Make(fixture.Command()) // not settled

	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	body, err := settlementReport(w, fixture.Owner, from, to, false)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Settlements []struct{ Reference, PayoutReference, SettledBy string }
		Totals      struct {
			Count  int
			Fiat   []struct{ FiatAmount, Fee, PayoutAmount json.Number }
			Crypto []struct{ ConvertedAmount, ReceivedAmount json.Number }
		}
	}
	if err := json.Unmarshal(body, &report); err != nil || report.Totals.Count != 4 || len(report.Settlements) != 4 || len(report.Totals.Fiat) != 1 {
		t.Fatalf("report = %s, %v; want 4 settlements and totals in 1 currency", body, err)
	}
	if last := report.Settlements[3]; last.PayoutReference != "TRF-1" || last.SettledBy != "caller" {
		t.Errorf("last settlement = %+v, want TRF-1 by the caller", last)
	}
	body, err = settlementReport(w, fixture.Owner, from, to, true)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
	if err != nil || len(lines) != 5 {
		t.Fatalf("CSV = %s, %v; want 5 lines", body, err)
	}
	cell := func(name string) string { return lines[4][slices.Index(lines[0], name)] }
	if cell("bankRef") != "B-1" || cell("settlementReference") != "TRF-1" {
		t.Errorf("read the last line of the CSV: got %v, want bankRef B-1 and settlementReference TRF-1", lines[4])
	}
	sums := map[string]decimal.Decimal{}
	for _, line := range lines[1:] {
		for i, name := range lines[0] {
			if d, err := decimal.NewFromString(line[i]); err == nil {
				sums[name] = sums[name].Add(d)
			}
		}
	}
	fiat, crypto := report.Totals.Fiat[0], report.Totals.Crypto[0]
	for name, want := range map[string]json.Number{
		"fiatAmount": fiat.FiatAmount, "fee": fiat.Fee, "payoutAmount": fiat.PayoutAmount, "convertedAmount": crypto.ConvertedAmount,
		"receivedAmount": crypto.ReceivedAmount,
	} {
		if !sums[name].Equal(decimal.RequireFromString(want.String())) {
			t.Errorf("%s adds up to %s, the total is %s", name, sums[name], want)
		}
	}
	if !sums["fiatAmount"].Equal(sums["fee"].Add(sums["payoutAmount"])) {
		t.Errorf("%s is not %s and %s", sums["fiatAmount"], sums["fee"], sums["payoutAmount"])
	}
	if body, err := settlementReport(w, tenant.Owner{MerchantID: "m2", Mode: fixture.Owner.Mode}, from, to, true); err != nil || bytes.Count(body, []byte("\n")) != 1 {
		t.Errorf("another merchant: %s %v", body, err)
	}
}
