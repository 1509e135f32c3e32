package views

import (
	"time"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/withdrawal"
)

// WithdrawalView is a withdrawal as merchants and events see it.
type WithdrawalView struct {
	ID        string           `json:"id"`
	Status    withdrawal.State `json:"status"`
	Currency  money.Currency   `json:"currency"`
	Amount    money.Number     `json:"amount"`
	AccountID string           `json:"settlementAccountId"`
	Receiver  receiver         `json:"receiver"`
	CreatedAt string           `json:"createdAt"`
	EndedAt   *string          `json:"endedAt"`
	Failure   string           `json:"failure,omitempty"` // stable code
	Sequence  int64            `json:"sequence,omitempty"`
}

// WithdrawalOf shows a withdrawal.
func WithdrawalOf(w withdrawal.Withdrawal) WithdrawalView {
	r := w.Receiver.Masked()
	return WithdrawalView{
		ID: w.ID, Status: w.State, Currency: w.Currency, Amount: money.N(w.Amount), AccountID: w.AccountID,
		Receiver:  receiver{r.AccountName, r.AccountNumber, r.BankName, r.NameVerified},
		CreatedAt: timestamp.Text(w.CreatedAt), EndedAt: timestamp.OrNull(w.EndedAt), Failure: w.Failure,
	}
}

// WithdrawalEvent is the body of an event of a withdrawal.
func WithdrawalEvent(eventID, kind string, at time.Time, w withdrawal.Withdrawal) ([]byte, error) {
	v := WithdrawalOf(w)
	v.Sequence = w.Sequence
	type data struct {
		Withdrawal WithdrawalView `json:"withdrawal"`
	}
	return Encode(struct {
		ID        string      `json:"id"`
		Type      string      `json:"type"`
		CreatedAt string      `json:"createdAt"`
		Mode      tenant.Mode `json:"mode"`
		Data      data        `json:"data"`
	}{eventID, kind, timestamp.Text(at), w.Owner.Mode, data{v}})
}

// WithdrawalAnswer is the answer about one withdrawal.
type WithdrawalAnswer struct {
	Success    bool           `json:"success"`
	Withdrawal WithdrawalView `json:"withdrawal"`
}

// WithdrawalsAnswer is a page of withdrawals.
type WithdrawalsAnswer[T any] struct {
	Success     bool       `json:"success"`
	Withdrawals []T        `json:"withdrawals"`
	Pagination  Pagination `json:"pagination"`
}

// OperatorsWithdrawal is a withdrawal as operators see it.
type OperatorsWithdrawal struct {
	WithdrawalView
	MerchantID string      `json:"merchantId"`
	Mode       tenant.Mode `json:"mode"`
}

// OperatorsWithdrawalOf shows a withdrawal to operators.
func OperatorsWithdrawalOf(w withdrawal.Withdrawal) OperatorsWithdrawal {
	return OperatorsWithdrawal{WithdrawalOf(w), w.Owner.MerchantID, w.Owner.Mode}
}

// OperatedWithdrawal is the answer to an operator's decision on a withdrawal.
type OperatedWithdrawal struct {
	Success    bool                `json:"success"`
	Withdrawal OperatorsWithdrawal `json:"withdrawal"`
	Approval   *approval.View      `json:"approval,omitempty"`
}
