package views

import "causeway.internal/services/payments/internal/payment"

type publicAnswer struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
	Payment any    `json:"payment"`
}

// Fulfilled is the body of the answer to a fulfilment: the created payment without its type
// (docs/api-contract.md#fulfil).
func (r Renderer) Fulfilled(p payment.Payment) ([]byte, error) {
	c := createdOf(p)
	c.Type = ""
	return Encode(publicAnswer{true, payment.TextFulfilled, c})
}

// claimed is the payment in the answer to a claim (docs/api-contract.md#claim): the one place that shows a whole
// account number.
type claimed struct {
	Reference string         `json:"reference"`
	Status    string         `json:"status"`
	Receiver  claimedAccount `json:"receiver"`
}

type claimedAccount struct {
	AccountName   string `json:"accountName"`
	AccountNumber string `json:"accountNumber"`
	BankName      string `json:"bankName"`
}

// Claimed is the body of the answer to a claim.
func (r Renderer) Claimed(p payment.Payment) ([]byte, error) {
	who := claimedAccount{p.Receiver.AccountName, p.Receiver.AccountNumber, p.Receiver.BankName}
	return Encode(publicAnswer{true, payment.TextClaimed, claimed{p.Reference, string(p.Status()), who}})
}
