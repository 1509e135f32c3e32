package payment

import (
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/services/payments/internal/refund"
)

// While money of a payment is booked as unclaimed, nobody decides about it, and reports of others still count.
func TestUnclaimed(t *testing.T) {
	pol := Defaults()
	p := Payment{ID: "pay_1", Funding: Seen, Hold: HoldUnclaimed, Unclaimed: 1}
	for _, c := range []struct {
		trigger Trigger
		want    bool
	}{
		{Accept{}, true},
		{Retry{}, true},
		{MarkRefunded{}, true},
		{RequestRefund{}, true},
		{ChangeRefund{Trigger: refund.Trigger{Name: refund.OnApprove}}, true},
		{ChangeRefund{Trigger: refund.Trigger{Name: refund.OnFinal}}, false},
		{Deposits{}, false},
		{SetRefundAddress{}, false},
	} {
		if got := disposes(c.trigger); got != c.want {
			t.Errorf("disposes(%T %+v) = %t, want %t", c.trigger, c.trigger, got, c.want)
		}
	}
	if _, _, err := pol.Apply(p, Accept{}, time.Unix(1e9, 0)); !fault.Is(err, "money_unclaimed") {
		t.Errorf("an accept of money that is booked as unclaimed: %v, want money_unclaimed", err)
	}
	p.Unclaimed = 0
	if _, _, err := pol.Apply(p, Accept{}, time.Unix(1e9, 0)); fault.Is(err, "money_unclaimed") {
		t.Errorf("an accept of money that was returned: %v, want another answer", err)
	}
}
