package views

import (
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/withdrawal"
)

// SettlementAccountView is a settlement account as merchants and events see it.
type SettlementAccountView struct {
	ID          string         `json:"id"`
	Currency    money.Currency `json:"currency"`
	Receiver    receiver       `json:"receiver"`
	Status      string         `json:"status"`
	HeldUntil   *string        `json:"heldUntil"`
	CreatedAt   string         `json:"createdAt"`
	ConfirmedAt *string        `json:"confirmedAt"`
	Sequence    int64          `json:"sequence,omitempty"`
}

// SettlementAccountOf shows a settlement account.
func SettlementAccountOf(a withdrawal.Account) SettlementAccountView {
	r := a.Receiver.Masked()
	v := SettlementAccountView{
		ID: a.ID, Currency: a.Currency, Receiver: receiver{r.AccountName, r.AccountNumber, r.BankName, r.NameVerified}, Status: "unconfirmed",
		HeldUntil: timestamp.OrNull(a.HeldUntil), CreatedAt: timestamp.Text(a.CreatedAt), ConfirmedAt: timestamp.OrNull(a.ConfirmedAt),
	}
	switch {
	case !a.DeletedAt.IsZero():
		v.Status = "deleted"
	case !a.ConfirmedAt.IsZero():
		v.Status = "active"
	}
	return v
}

// SettlementAccountEvent is the body of an event of a settlement account.
func SettlementAccountEvent(eventID, kind string, at time.Time, a withdrawal.Account) ([]byte, error) {
	v := SettlementAccountOf(a)
	v.Sequence = a.Sequence()
	return Encode(bookEvent{eventID, kind, timestamp.Text(at), a.Owner.Mode, map[string]any{"settlementAccount": v}})
}
