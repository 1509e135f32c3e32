package payment

import (
	"causeway.internal/libs/fault"
	"causeway.internal/services/payments/internal/refund"
)

// errUnclaimed refuses a decision about money that is not on the payment's accounts.
var errUnclaimed = fault.New(fault.Conflict, "money_unclaimed",
	"Money of this payment is booked as unclaimed. An operator has to return it to the payment first.")

// disposes reports a decision that converts, pays or refunds money which the payment owes.
func disposes(t Trigger) bool {
	switch t := t.(type) {
	case Accept, Retry, MarkRefunded, RequestRefund:
		return true
	case ChangeRefund:
		return t.Trigger.Name == refund.OnApprove
	}
	return false
}
