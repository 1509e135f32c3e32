package views

import (
	"time"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/draw"
	"causeway.internal/services/payments/internal/refund"
)

// EntryView is an address of the address book.
type EntryView struct {
	ID        string `json:"id"`
	Network   string `json:"network"`
	Address   string `json:"address"`
	Label     string `json:"label"`
	CreatedAt string `json:"createdAt"`
	UsableAt  string `json:"usableAt"`
}

// EntryOf shows an entry.
func EntryOf(e draw.Entry) EntryView {
	return EntryView{e.ID, e.Network, e.Address, e.Label, timestamp.Text(e.CreatedAt), timestamp.Text(e.UsableAt)}
}

// DrawView is a withdrawal from standalone wallets as merchants and events see it. Amounts are texts, as those of
// wallets.
type DrawView struct {
	ID          string              `json:"id"`
	Status      refund.State        `json:"status"`
	Crypto      string              `json:"crypto"`
	Network     string              `json:"network"`
	Amount      string              `json:"amount"`
	Fee         string              `json:"fee"`
	AddressID   string              `json:"addressId"`
	Address     string              `json:"address"`
	TxHash      *string             `json:"txHash"`
	CreatedAt   string              `json:"createdAt"`
	ConfirmedAt *string             `json:"confirmedAt"`
	Failure     string              `json:"failure,omitempty"` // stable code
	Cancelled   refund.Cancellation `json:"cancellation,omitempty"`
}

// DrawOf shows a withdrawal.
func DrawOf(w draw.Draw) DrawView {
	v := DrawView{
		ID: w.ID, Status: w.State, Crypto: w.Asset, Network: w.Network, Amount: money.Canonical(w.Amount), Fee: money.Canonical(w.Charge),
		AddressID: w.EntryID, Address: w.Address, CreatedAt: timestamp.Text(w.CreatedAt), ConfirmedAt: timestamp.OrNull(w.ConfirmedAt),
		Failure: w.Failure, Cancelled: w.Cancelled,
	}
	if w.TxHash != "" {
		v.TxHash = &w.TxHash
	}
	return v
}

// OperatorsDraw is a withdrawal as operators see it.
type OperatorsDraw struct {
	DrawView
	Mode        tenant.Mode     `json:"mode"`
	MerchantID  string          `json:"merchantId"`
	USD         money.Number    `json:"usd"`
	RequestedBy string          `json:"requestedBy"`
	Approval    refund.Approval `json:"approvedBy,omitempty"`
}

// OperatorsDrawOf shows a withdrawal to operators.
func OperatorsDrawOf(w draw.Draw) OperatorsDraw {
	return OperatorsDraw{DrawOf(w), w.Mode, w.MerchantID, money.N(w.USD), w.RequestedBy, w.Approval}
}

// The bodies of answers about withdrawals and the address book.
type (
	EntryAnswer struct {
		Success bool      `json:"success"`
		Address EntryView `json:"address"`
	}
	BookAnswer struct {
		Success    bool        `json:"success"`
		Addresses  []EntryView `json:"addresses"`
		Pagination Pagination  `json:"pagination"`
	}
	ChargeView struct {
		Crypto  string `json:"crypto"`
		Network string `json:"network"`
		Fee     string `json:"fee"`
		Minimum string `json:"minimum"`
		Open    bool   `json:"open"`
	}
	ChargesAnswer struct {
		Success bool         `json:"success"`
		Fees    []ChargeView `json:"fees"`
	}
	DrawAnswer struct {
		Success    bool     `json:"success"`
		Withdrawal DrawView `json:"withdrawal"`
	}
	DrawsAnswer struct {
		Success     bool       `json:"success"`
		Withdrawals []DrawView `json:"withdrawals"`
		Pagination  Pagination `json:"pagination"`
	}
	OperatedDraw struct {
		Success    bool           `json:"success"`
		Withdrawal OperatorsDraw  `json:"withdrawal"`
		Approval   *approval.View `json:"approval,omitempty"`
	}
	WaitingDraws struct {
		Success     bool            `json:"success"`
		Withdrawals []OperatorsDraw `json:"withdrawals"`
		Pagination  Pagination      `json:"pagination"`
	}
)

// bookEvent is the webhook body of an event about a withdrawal or an address. data holds the object under its name.
type bookEvent struct {
	ID        string         `json:"id"`
	Type      string         `json:"type"`
	CreatedAt string         `json:"createdAt"`
	Mode      tenant.Mode    `json:"mode"`
	Data      map[string]any `json:"data"`
}

// DrawEvent is the webhook body of an event about a withdrawal.
func DrawEvent(eventID, kind string, at time.Time, w draw.Draw) ([]byte, error) {
	shown := struct {
		DrawView
		Sequence int64 `json:"sequence"`
	}{DrawOf(w), w.Sequence}
	return Encode(bookEvent{eventID, kind, timestamp.Text(at), w.Mode, map[string]any{"withdrawal": shown}})
}

// EntryEvent is the webhook body of the one event about an address.
func EntryEvent(eventID, kind string, at time.Time, e draw.Entry) ([]byte, error) {
	shown := struct {
		EntryView
		Sequence int64 `json:"sequence"`
	}{EntryOf(e), 1}
	return Encode(bookEvent{eventID, kind, timestamp.Text(at), e.Mode, map[string]any{"address": shown}})
}
