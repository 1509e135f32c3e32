package payment_test

import (
	"testing"

	. "causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/refund"
)

// Money of no payment becomes that of a payment which waits for an operator, or which is cancelled where the money is
// dust. The payment owes all of it, and is refunded when it has left.
func TestAdopt(t *testing.T) {
	for amount, want := range map[string]Status{"150": StatusNeedsReview, "0.05": StatusCancelled} {
		w := newStray(t, amount)
		if w.p.Status() != want || !w.p.CreatedAt.Equal(w.rows[0].FirstSeenAt) {
			t.Errorf("adopt %s USDT: got status %s since %s, want %s since %s", amount, w.p.Status(), w.p.CreatedAt, want, w.rows[0].FirstSeenAt)
		}
		if got := w.balances["suspense:USDT"]; !got.Equal(dec(amount)) {
			t.Errorf("adopt %s USDT: got %s in suspense, want %s", amount, got, amount)
		}
		if owed := w.policy.Owed(w.p, w.rows, nil); len(owed) != 1 || !owed[0].Amount.Equal(dec(amount)) {
			t.Errorf("adopt %s USDT: got %+v owed, want %s", amount, owed, amount)
		}
		w.must(SetRefundAddress{Address: "0xdef"})
		w.must(RequestRefund{Refund: refund.Refund{ID: "rfd_1", Network: "ethereum", Asset: "USDT"}, Rows: w.rows})
		for i, name := range []refund.TriggerName{refund.OnApprove, refund.OnFinal} {
			w.must(ChangeRefund{Refund: w.refunds[0], Rows: w.rows, Refunds: w.refunds, Trigger: refund.Trigger{
				Name: name, Approval: refund.Automatic, TxHash: "0x1", Told: int64(i),
			}})
		}
		if want == StatusNeedsReview {
			want = StatusRefunded
		}
		if owed := w.policy.Owed(w.p, w.rows, w.refunds); len(owed) != 0 || w.p.Status() != want {
			t.Errorf("refund the adopted %s USDT: got status %s and %+v owed, want %s and nothing", amount, w.p.Status(), owed, want)
		}
	}
}

// An adoption needs money that is booked.
func TestAdopt_ofNothing(t *testing.T) {
	draft := Payment{ID: "pay_1", Reference: "pay_1", Address: "0xabc"}
	for name, rows := range map[string][]Deposit{"no deposit": nil, "a deposit that is not booked": {{Key: "a", Amount: dec("1")}}} {
		if _, facts, err := Defaults().Apply(Payment{}, Adopt{Draft: draft, Rows: rows}, start); err == nil {
			t.Errorf("adopt %s: got %+v, want an error", name, facts)
		}
	}
}

// A transfer of another asset than the quoted one has to be as deep as its own worth asks for.
func TestDeep_ofItsOwnWorth(t *testing.T) {
	depths, err := ParseDepths("polygon=<1000:12,200")
	if err != nil {
		t.Fatalf("ParseDepths() = %v, want no error", err)
	}
	for usd, want := range map[string]string{"1": "suspense", "1000000": ""} {
		w := newFixture(t, Transfer)
		w.policy.Depths = depths
		w.must(Cancel{})
		w.deposit("a", "100", other("polygon", "USDT"), shallow, func(d *Deposit) { d.USD, d.Depth = dec(usd), 130 })
		if got := w.rows[0].Booked; got != want {
			t.Errorf("a transfer of another asset worth %s dollars at depth 130: got booked %q, want %q", usd, got, want)
		}
	}
}
