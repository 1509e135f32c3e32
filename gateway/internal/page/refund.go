package page

import (
	"encoding/json"
	"net/http"
	"time"

	"causeway.internal/libs/money"
)

// refund is money on its way back to the payer.
type refund struct {
	ID          string      `json:"id"`
	Status      string      `json:"status"`
	Crypto      string      `json:"crypto"`
	NetworkName string      `json:"network"`
	Amount      json.Number `json:"amount"`
	Address     string      `json:"address"`
	TxHash      string      `json:"txHash"`
	CreatedAt   time.Time   `json:"createdAt"`
	ConfirmedAt *time.Time  `json:"confirmedAt"`
}

// Network is how people call the refund's network.
func (r refund) Network() string { return networkTitle(r.NetworkName) }

// Text is the key of the words for the refund's status.
func (r refund) Text() string {
	switch r.Status {
	case "requested", "approved", "signing", "sent", "confirmed", "failed":
		return "refund.status." + r.Status
	}
	return "refund.status.approved" // a status of a newer service
}

// Explorer is a page about a transaction of the payment; none in test mode, whose chain nobody else knows.
func (p payment) Explorer(network, hash string) string {
	n, ok := money.NetworkOf(network)
	if !ok || p.Mode != "live" {
		return ""
	}
	return n.TransactionPage(hash)
}

// Back reports whether the page says something about money that goes back.
func (p payment) Back() bool {
	return p.TakesRefund || p.RefundAddress != "" || p.RefundProposed != "" || len(p.Refunds) > 0
}

// Held reports that no refund leaves yet, because its address is new.
func (v payView) Held() bool { return v.Now.Before(v.P.RefundHeldUntil) }

// refundAddress submits the address that a payer proposes.
func (p *Pages) refundAddress(w http.ResponseWriter, r *http.Request) {
	found, tag, ok := p.find(w, r)
	if !ok {
		return
	}
	typed := form(r, "address")[0]
	var answer json.RawMessage
	_, refused := p.ask(r.Context(), http.MethodPost, "/v1/checkout/"+found.Reference+"/refund-address", map[string]string{"address": typed}, &answer)
	switch {
	case refused == nil || refused.problem.Error.Code == "refund_address_not_needed":
		p.back(w, r, found) // the payment's new state says more than the refusal
	case refused.status == http.StatusNotFound || refused.status >= http.StatusTooManyRequests:
		p.fail(w, r, refused.status, refused.retryAfter, refused.fault)
	case refused.status == http.StatusConflict:
		p.pay(w, r, found, tag, shown{status: refused.status, problem: "refund.many", address: typed})
	default:
		p.pay(w, r, found, tag, shown{status: refused.status, problem: "refund.wrong", address: typed})
	}
}
