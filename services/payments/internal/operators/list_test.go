//go:build integration

package operators_test

import (
	"slices"
	"testing"

	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
)

func TestOperatorLists(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(16)
	for _, key := range []string{"s1", "s2", "s3"} {
		stray := payment.Payment{Address: "TNobody" + key}
		w.See(stray, fixture.Coin{Key: key, Amount: "7", Version: 1, Depth: fixture.Enough})
	}
	got := fixture.Pages(t, "deposits", func(before string) ([]byte, error) { return w.Operators.Strays(t.Context(), before, 2) })
	if !slices.Equal(got, []string{"tron:s3:0", "tron:s2:0", "tron:s1:0"}) {
		t.Errorf("strays %v", got)
	}
	var held []string
	for _, key := range []string{"h1", "h2", "h3"} {
		c := fixture.Command()
		c.Type, c.ChargeFrom, c.Payer = "merchant", "crypto", nil
		p := w.Make(c)
		w.See(p, fixture.Coin{Key: key, Amount: "1", Version: 1, Depth: fixture.Enough})
		w.SQL(`UPDATE payments SET status = 'needs_review', exception = 'underpaid', hold = 'underpaid' WHERE id = $1`, p.ID)
		held = append(held, p.ID)
	}
	slices.Reverse(held)
	if got := fixture.Pages(t, "payments", func(before string) ([]byte, error) { return w.Operators.Holds(t.Context(), before, 2) }); !slices.Equal(got, held) {
		t.Errorf("holds %v, want %v", got, held)
	}
	failed(w)
	if got := fixture.Pages(t, "payouts", func(before string) ([]byte, error) { return w.Operators.Doubts(t.Context(), before, 2) }); len(got) != 0 {
		t.Errorf("unknown payouts %v", got)
	}
	w.SQL(`UPDATE payouts SET state = 'unknown'`)
	if got := fixture.Pages(t, "payouts", func(before string) ([]byte, error) { return w.Operators.Doubts(t.Context(), before, 2) }); len(got) != 1 {
		t.Errorf("unknown payouts %v", got)
	}
}
