//go:build integration

package operators_test

import (
	"encoding/json"
	"strings"
	"testing"

	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
)

// Wherever operators decide about money, they see that one host alone has shown it, or that no second one has answered.
func TestWitness_shown(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	w.With(func(d *fixture.Deps) { d.UnclaimedAfter = 0 })
	w.See(payment.Payment{Address: "TNobody"}, fixture.Coin{Key: "s1", Amount: "7", Version: 1, Depth: fixture.Enough})
	c := fixture.Command()
	c.Type, c.ChargeFrom, c.Payer = "merchant", "crypto", nil
	held := w.Make(c)
	w.See(held, fixture.Coin{Key: "h1", Amount: "1", Version: 1, Depth: fixture.Enough})
	w.SQL(`UPDATE payments SET status = 'needs_review', exception = 'underpaid', hold = 'underpaid' WHERE id = $1`, held.ID)
	for _, d := range []operators.Debtor{{PaymentID: cancelledAndPaid(w, "u1").ID, Asset: "USDT"}, {Mode: "test", Deposit: "tron:s1:0"}} {
		if got := bookUnclaimed(w, d, "ada"); !strings.HasPrefix(got, "unc_") {
			t.Fatalf("book %+v as unclaimed: got %q, want a booking", d, got)
		}
	}
	lists := map[string]func() ([]byte, error){
		"deposits":  func() ([]byte, error) { return w.Operators.Strays(t.Context(), "", 9) },
		"payments":  func() ([]byte, error) { return w.Operators.Holds(t.Context(), "", 9) },
		"unclaimed": func() ([]byte, error) { return w.Operators.UnclaimedList(t.Context(), false, "", 9) },
	}
	for _, c := range []struct{ change, witness, says string }{
		{`UPDATE deposits SET witness = ''`, "", ""},
		{`UPDATE deposits SET witness = 'pending'`, "pending", "no second host has confirmed the deposit yet"},
		{`UPDATE deposits SET witness = 'alone'`, "alone", "one host alone has shown the deposit"},
		{`UPDATE deposits SET witness = 'confirmed'`, "", ""},
	} {
		w.SQL(c.change)
		for name, read := range lists {
			body, err := read()
			var answer map[string]json.RawMessage
			var rows []struct{ Witness string }
			if err == nil {
				err = json.Unmarshal(body, &answer)
			}
			if err == nil {
				err = json.Unmarshal(answer[name], &rows)
			}
			if err != nil || len(rows) == 0 {
				t.Fatalf("list %s: got %s, %v, want some", name, body, err)
			}
			for _, r := range rows {
				if r.Witness != c.witness {
					t.Errorf("list %s after %s: got the witness %q, want %q", name, c.change, r.Witness, c.witness)
				}
			}
		}
		lines := 0
		if err := w.Store.EachUnclaimed(t.Context(), func(line string) error {
			lines++
			if says := strings.Contains(line, "("+c.says+")"); c.says != "" && !says || c.says == "" && strings.Contains(line, " host ") {
				t.Errorf("print unclaimed money after %s: got %q, want %q in it", c.change, line, c.says)
			}
			return nil
		}); err != nil || lines != 2 {
			t.Errorf("print unclaimed money: got %d lines, %v, want 2", lines, err)
		}
	}
}
