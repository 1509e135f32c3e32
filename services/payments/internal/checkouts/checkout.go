// Package checkouts shows payments to their payers, and takes the hashes of transactions from them.
package checkouts

import (
	"context"
	"encoding/json"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/destination"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/pricing"
	"causeway.internal/services/payments/internal/views"
)

// Checkouts shows payments to their payers, and takes the hashes of transactions from them.
type Checkouts struct {
	Access       *access.Payments
	Pricing      *pricing.Pricing
	Policy       payment.Policy
	Render       views.Renderer
	Destinations destination.Checker
	// Keep stores a transaction of a payment and its message, once per transaction; ok is false when the payment has
	// most of them already.
	Keep func(ctx context.Context, paymentID, txHash string, most int, c change.Command) (ok bool, err error)
}

// checkout holds the fields for a payer or the recipient of a gift: no payer, no metadata, no merchant, no account.
type checkout struct {
	views.Created
	Exception      *payment.Exception  `json:"exception"`
	TxHash         string              `json:"txHash"`
	Confirmations  int64               `json:"confirmations"`
	Required       *int64              `json:"requiredConfirmations,omitempty"`
	ReceivedAmount json.Number         `json:"receivedAmount"`
	IgnoredAmount  json.Number         `json:"ignoredAmount,omitempty"`
	Remaining      json.Number         `json:"remainingAmount,omitempty"`
	PayoutAmount   json.Number         `json:"payoutAmount,omitempty"`
	SettledAt      *string             `json:"settledAt"`
	Preferred      *payment.Preference `json:"preferred,omitempty"`
	Options        []pricing.Option    `json:"options,omitempty"`
	PaymentURI     string              `json:"paymentUri,omitempty"`
	Claimed        *bool               `json:"claimed,omitempty"`
	TakesHash      bool                `json:"takesTransactionHash"`
	TakesRefund    bool                `json:"takesRefundAddress"`
	Refunds        []views.RefundView  `json:"refunds,omitempty"`
	views.RefundAddress
	views.Shop
	Mode tenant.Mode `json:"mode"`
}

// Checkout is the body of GET /v1/checkout/:reference, and whose payment it is, which no answer to a payer says.
func (a *Checkouts) Checkout(ctx context.Context, reference string) (body []byte, merchantID string, err error) {
	v, _, _, err := a.Access.Open(ctx, reference, idempotency.Key{})
	if err != nil {
		return nil, "", err
	}
	p := v.Payment
	s := a.Render.ShownOf(v)
	c := checkout{
		Created: s.Created, Exception: s.Exception, TxHash: s.TxHash, Confirmations: s.Confirmations, ReceivedAmount: s.ReceivedAmount,
		IgnoredAmount: s.IgnoredAmount,
		PayoutAmount:  s.PayoutAmount, SettledAt: s.SettledAt, Shop: s.Shop, Preferred: s.Preferred, PaymentURI: s.PaymentURI, Mode: p.Mode, TakesHash: a.takesHash(p),
		TakesRefund: a.Policy.TakesRefundAddress(p, v.Rows), RefundAddress: s.RefundAddress, Refunds: s.Refunds,
	}
	for i := range c.Refunds { // the codes are for merchants and operators
		c.Refunds[i].Failure = ""
	}
	if p.Quote.Priced() {
		c.Remaining = money.Text(a.Policy.Tally(p, v.Rows).Left)
		if need := a.Policy.Depths.Required(p.Quote.Network, p.Quote.Crypto, p.Quote.TransactionUSD); need.Confirmations > 0 {
			c.Required = &need.Confirmations
		}
	}
	if p.Status() == payment.StatusCreated {
		c.Options = a.Pricing.Options(p)
	}
	if p.Type == payment.Gift {
		claimed := p.Claim == payment.Claimed
		c.Claimed = &claimed
	}
	body, err = views.Encode(views.PaymentAnswer{Success: true, Payment: c})
	return body, p.MerchantID, err
}
