package views

import (
	"encoding/base64"
	"encoding/json"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/refund"
)

// RefundView is a refund as merchants and events see it.
type RefundView struct {
	ID          string       `json:"id"`
	Status      refund.State `json:"status"`
	Crypto      string       `json:"crypto"`
	Network     string       `json:"network"`
	Amount      json.Number  `json:"amount"`
	Address     string       `json:"address"`
	TxHash      *string      `json:"txHash"`
	CreatedAt   string       `json:"createdAt"`
	ConfirmedAt *string      `json:"confirmedAt"`
	Failure     string       `json:"failure,omitempty"` // stable code
}

// RefundOf shows a refund.
func RefundOf(r refund.Refund) RefundView {
	v := RefundView{
		ID: r.ID, Status: r.State, Crypto: r.Asset, Network: r.Network, Amount: money.Text(r.Amount), Address: r.Address,
		CreatedAt: timestamp.Text(r.CreatedAt), ConfirmedAt: timestamp.OrNull(r.ConfirmedAt), Failure: r.Failure,
	}
	if r.TxHash != "" {
		v.TxHash = &r.TxHash
	}
	return v
}

// RefundsOf shows refunds; none is an empty list.
func RefundsOf(all []refund.Refund) []RefundView {
	out := make([]RefundView, 0, len(all))
	for _, r := range all {
		out = append(out, RefundOf(r))
	}
	return out
}

// OperatorsRefund is a refund as operators see it.
type OperatorsRefund struct {
	RefundView
	PaymentID   string              `json:"paymentId"`
	Mode        tenant.Mode         `json:"mode"`
	Reason      string              `json:"reason"`
	RequestedBy string              `json:"requestedBy"`
	Approval    refund.Approval     `json:"approvedBy,omitempty"`
	Cancelled   refund.Cancellation `json:"cancellation,omitempty"`
}

// OperatorsRefundOf shows a refund to operators.
func OperatorsRefundOf(r refund.Refund) OperatorsRefund {
	return OperatorsRefund{RefundOf(r), r.PaymentID, r.Mode, id.HideGifts(r.Reason), r.RequestedBy, r.Approval, r.Cancelled}
}

// The bodies of answers about refunds.
type (
	RefundAnswer struct {
		Success bool       `json:"success"`
		Refund  RefundView `json:"refund"`
	}
	RefundsAnswer struct {
		Success bool         `json:"success"`
		Refunds []RefundView `json:"refunds"`
	}
	OperatedRefund struct {
		Success  bool            `json:"success"`
		Refund   OperatorsRefund `json:"refund"`
		Approval *approval.View  `json:"approval,omitempty"`
	}
	WaitingAnswer struct {
		Success    bool              `json:"success"`
		Refunds    []OperatorsRefund `json:"refunds"`
		Pagination Pagination        `json:"pagination"`
	}
)

// PageOf cuts a list that was read with one row more than a page holds, and names the row at which the next one begins.
func PageOf[T any](rows []T, limit int, key func(T) string) ([]T, Pagination) {
	p := Pagination{Limit: limit}
	if len(rows) > limit {
		rows = rows[:limit]
		next := RowCursor(key(rows[limit-1]))
		p.HasMore, p.NextCursor = true, &next
	}
	return rows, p
}

// RowCursor names the row at which the next page of an operators' list begins.
func RowCursor(key string) string { return base64.RawURLEncoding.EncodeToString([]byte("o" + key)) }
