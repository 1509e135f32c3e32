//go:build integration

package operators_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/operators"
)

// The list has what is owed to payers, receivers and merchants, and nothing of payments that run or owe nothing. Its
// sums are those of the ledger.
func TestOwed(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	running := w.Make(fixture.Command())
	w.See(running, fixture.Coin{Key: "t0", Amount: "20", Version: 1, Depth: fixture.Enough})
	late := cancelledAndPaid(w, "t8")
	returned := failed(w)
	again := cancelledAndPaid(w, "t9")
	if _, err := w.Resolve(again, operators.Order{Operator: "ada", Action: operators.ActionRefunded, TxHash: fixture.Hash("again")}); err != nil {
		t.Fatal(err)
	}
	settled := ledger.Settled(returned.ID, "m9", "NGN", decimal.New(1200, 0))
	if err := w.Store.Post(t.Context(), []books.Posting{{MessageID: "settled", Mode: tenant.Test, Journal: settled}}); err != nil {
		t.Fatal(err)
	}
	page := func(f operators.OwedFilter) (rows []string, next string) {
		t.Helper()
		if f.Before.IsZero() {
			f.Before = time.Now().Add(time.Minute)
		}
		body, err := w.Operators.Owed(t.Context(), f)
		if err != nil {
			t.Fatalf("Owed(%+v): %v", f, err)
		}
		var answer struct {
			Owed []struct {
				To, PaymentID, MerchantID, Asset string
				Amount                           decimal.Decimal
			}
			Pagination struct{ NextCursor string }
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Fatalf("Owed(%+v) = %s: %v", f, body, err)
		}
		for _, o := range answer.Owed {
			of := o.PaymentID
			if of == "" {
				of = o.MerchantID
			}
			rows = append(rows, fmt.Sprint(o.To, " ", of, " ", o.Amount, " ", o.Asset))
		}
		return rows, answer.Pagination.NextCursor
	}
	if got, _ := page(operators.OwedFilter{Most: 100}); len(got) != 0 {
		t.Errorf("Owed() before the first list = %q, want nothing", got)
	}
	for _, first := range []bool{true, false} {
		if sums, fresh, err := w.Store.MakeOwed(t.Context()); err != nil || fresh != first || len(sums) != 3 {
			t.Fatalf("MakeOwed() = %+v, first of the day: %t, %v; want 3 sums, %t", sums, fresh, err, first)
		}
	}
	payer, receiver, merchant := "payer "+late.ID+" 31.25 USDT", "receiver "+returned.ID+" 48300 NGN", "merchant m9 1200 NGN"
	all := []string{merchant, payer, receiver}
	got, _ := page(operators.OwedFilter{Most: 100})
	if slices.Sort(got); !slices.Equal(got, all) {
		t.Errorf("Owed() = %q, want %q", got, all)
	}
	for name, c := range map[string]struct {
		filter operators.OwedFilter
		want   []string
	}{
		"payers":           {operators.OwedFilter{To: "payer", Most: 9}, []string{payer}},
		"a currency":       {operators.OwedFilter{Asset: "NGN", To: "receiver", Most: 9}, []string{receiver}},
		"live mode":        {operators.OwedFilter{Mode: "live", Most: 9}, nil},
		"older than a day": {operators.OwedFilter{Before: time.Now().AddDate(0, 0, -1), Most: 9}, nil},
	} {
		if got, _ := page(c.filter); !slices.Equal(got, c.want) {
			t.Errorf("Owed() of %s = %q, want %q", name, got, c.want)
		}
	}
	var walked []string
	for after := ""; ; {
		rows, next := page(operators.OwedFilter{After: after, Most: 1})
		if walked = append(walked, rows...); next == "" {
			break
		}
		after, _ = operators.ReadCursor(next)
	}
	if slices.Sort(walked); !slices.Equal(walked, all) {
		t.Errorf("page by page = %q, want %q", walked, all)
	}
	report, err := w.Operators.OwedCSV(t.Context(), operators.OwedFilter{Before: time.Now().Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := report(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 4 || !strings.Contains(out.String(), "test,payer,"+late.ID+",m1,,USDT,31.25,") {
		t.Errorf("the CSV is %s, want a head and three rows", out.String())
	}
	w.Balanced()
}
