//go:build integration

package store_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/services/payments/internal/app"
)

// The report has one row per settled payment, and its CSV, read back and added up, gives the totals of the JSON.
func TestSettlements_addUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(5)
	for i := range 3 {
		c := command()
		c.FiatAmount = number(fmt.Sprintf("5000%d.25", i))
		p := w.made(c)
		w.see(p, coin{key: fmt.Sprint("t", i), amount: p.Quote.CryptoAmount.String(), version: 1, depth: enough})
		w.work(func() bool { return w.status(p) == "settled" })
	}
	p := w.made(ownSettledCommand())
	w.see(p, coin{key: "own", amount: "31.25", version: 1, depth: enough})
	if err := w.settle(p.Reference, w.token()); err != nil {
		t.Fatal(err)
	}
	w.made(command()) // not settled

	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	body, err := w.app.SettlementReport(t.Context(), owner, from, to, false)
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
		t.Fatalf("%s %v", body, err)
	}
	if last := report.Settlements[3]; last.PayoutReference != "TRF-1" || last.SettledBy != "caller" {
		t.Errorf("%+v", last)
	}
	body, err = w.app.SettlementReport(t.Context(), owner, from, to, true)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
	if err != nil || len(lines) != 5 {
		t.Fatalf("%s %v", body, err)
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
	if body, err := w.app.SettlementReport(t.Context(), app.Owner{MerchantID: "m2", Mode: owner.Mode}, from, to, true); err != nil || bytes.Count(body, []byte("\n")) != 1 {
		t.Errorf("another merchant: %s %v", body, err)
	}
}
