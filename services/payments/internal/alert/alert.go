// Package alert lists the alerts to operators.
package alert

// Code names an alert. The counter of alerts shows each Code from the start, so that a rule sees the first event.
type Code uint8

// The alerts. The first four are about deposits, then come those about payments, payouts and refunds.
const (
	StrayDeposit           Code = iota + 1 // on an address without a payment
	DepositMoved                           // reported again with another address
	DepositReorged                         // after the payout left
	ScanIncomplete                         // deposits that wallets has counted are missing, so nothing expires
	CapacityNear                           // of a cap on open payments
	ScreeningHit                           // after the payout left
	PaidAfterDecision                      // the payout had failed, and was then paid again or refunded
	PaidAfterFailure                       // the payout had failed
	PayoutFailedOver                       // the payout failed at one rail and goes over another
	PayoutMismatch                         // reference, amount or currency differ from the order's: frozen (R7)
	PayoutStuck                            // no conclusive answer within the time of R6, or after the most sends
	PayoutContradicted                     // the rail contradicts the operator who concluded it
	PayoutVanished                         // the rail had accepted it and no longer knows it
	PayoutLateSuccess                      // of a payout that had failed
	PayoutLateFailure                      // of a payout that had succeeded
	PayoutPaidUnheld                       // the rail paid a payout that was withdrawn
	PayoutLeaseExpired                     // its worker may have sent it
	PayoutFound                            // made before a restore; an operator compares the account, which the rail does not return
	FloatShort                             // the balance at the rail is too low
	RefundContradicted                     // by a report of wallets that the state of the refund refuses
	RefundNotCancelled                     // the cancellation came too late
	WithdrawalContradicted                 // by a report of wallets that the state of the withdrawal refuses
)

var names = [...]string{
	StrayDeposit:           "stray_deposit",
	DepositMoved:           "deposit_moved",
	DepositReorged:         "deposit_reorged_after_payout",
	ScanIncomplete:         "scan_incomplete",
	CapacityNear:           "capacity_near",
	ScreeningHit:           "screening_hit_after_payout",
	PaidAfterDecision:      "paid_after_decision",
	PaidAfterFailure:       "paid_after_failure",
	PayoutFailedOver:       "payout_failed_over",
	PayoutMismatch:         "payout_answer_mismatch",
	PayoutStuck:            "payout_inconclusive",
	PayoutContradicted:     "payout_contradicted",
	PayoutVanished:         "payout_vanished",
	PayoutLateSuccess:      "payout_paid_after_failure",
	PayoutLateFailure:      "payout_failed_after_success",
	PayoutPaidUnheld:       "withdrawn_payout_paid",
	PayoutLeaseExpired:     "payout_lease_expired",
	PayoutFound:            "payout_found_at_rail",
	FloatShort:             "rail_float_short",
	RefundContradicted:     "refund_contradicted",
	RefundNotCancelled:     "refund_not_cancelled",
	WithdrawalContradicted: "withdrawal_contradicted",
}

// String is the stable name, "" of no alert.
func (c Code) String() string { return names[c] }

// Codes lists all alerts.
func Codes() []Code {
	all := make([]Code, 0, len(names)-1)
	for c := StrayDeposit; int(c) < len(names); c++ {
		all = append(all, c)
	}
	return all
}
