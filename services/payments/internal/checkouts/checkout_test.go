//go:build integration

package checkouts_test

import (
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"causeway.internal/services/payments/internal/fixture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// 3.125 USDT are due and 3.09375 arrived. The page asks for the rest, and sending it pays the payment.
func TestThePageAsksForTheRestAndTakesIt(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	c := fixture.Command()
	c.FiatAmount = fixture.Number("5000")
	p := w.Make(c)
	remaining := func() string {
		body, _, err := w.Checkouts.Checkout(t.Context(), p.Reference)
		if err != nil {
			t.Fatal(err)
		}
		var page struct {
			Payment struct{ RemainingAmount, ReceivedAmount, IgnoredAmount json.Number }
		}
		if err := json.Unmarshal(body, &page); err != nil {
			t.Fatal(err)
		}
		at := page.Payment
		return at.ReceivedAmount.String() + " " + at.RemainingAmount.String() + " " + at.IgnoredAmount.String()
	}
	if got := remaining(); got != "0 3.125 " {
		t.Errorf("at first %s", got)
	}
	w.See(p, fixture.Coin{Key: "t0", Amount: "0.01", Version: 1, Depth: fixture.Enough})
	if got := remaining(); got != "0.01 3.115 0.01" {
		t.Errorf("after dust %s", got)
	}
	if shown := w.Shown(w.Find(p.Reference)); !strings.Contains(shown, `"ignoredAmount":0.01`) {
		t.Errorf("GET says %s", shown)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "3.09375", Version: 1, Depth: fixture.Enough})
	w.Want(p, "pending underpaid")
	if got := remaining(); got != "3.10375 0.02125 " {
		t.Errorf("after most of it %s", got)
	}
	w.See(p, fixture.Coin{Key: "t2", Amount: "0.02125", Version: 1, Depth: fixture.Enough})
	w.Want(p, "confirmed")
	if got := remaining(); got != "3.125 0 " {
		t.Errorf("in the end %s", got)
	}
	w.Settles(p)
	w.Balanced()
}
