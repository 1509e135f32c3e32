package policy

import (
	"time"

	"causeway.internal/libs/order"
	"causeway.internal/services/wallets/internal/intent"
)

// clockMargin is how far the clock of payments may be behind that of the signer.
const clockMargin = 10 * time.Second

// Aged judges an order that is not in the log. A signer that lost its log has a new one without the earlier signatures,
// so an order from before the new log may have been carried out. The refusal must not end the refund, since its money
// would then be owed again.
func (p Policy) Aged(o order.Approved, began, now time.Time) *intent.Refusal {
	orders := p.Orders
	if orders == nil {
		orders = &Orders{}
	}
	after := orders.After
	if after.IsZero() {
		after = began.Add(-clockMargin)
	}
	switch {
	case !o.Timed() && now.Before(orders.UntimedUntil):
		return nil
	case !o.Timed():
		return intent.Refuse(intent.OrderAge, "the order %.80q has no time", o.ID)
	case o.ApprovedAt.Before(after):
		return intent.Refuse(intent.OrderAge, "the order %.80q was approved at %s, and the log answers for orders since %s",
			o.ID, o.ApprovedAt.Format(time.RFC3339), after.Format(time.RFC3339))
	}
	return nil
}
