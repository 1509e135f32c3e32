package views

import (
	"strings"
	"testing"

	"causeway.internal/services/payments/internal/refund"
)

// The code of a gift is the gift: operators never read it, wherever a person wrote it.
func TestOperatorsRefundOf_hidesGifts(t *testing.T) {
	const gift = "CW-GABCDEFGHJKMN"
	if shown := OperatorsRefundOf(refund.Refund{Reason: "wrong gift " + gift}).Reason; strings.Contains(shown, "ABCDEFGHJKMN") {
		t.Errorf("OperatorsRefundOf() shows the reason %q, want the code of the gift hidden", shown)
	}
}
