package app

import (
	"causeway.internal/libs/keyring"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/payment"
)

// Merchants is what a merchant does with its payment besides creating and reading it.
type Merchants struct {
	Access    *Access
	Policy    payment.Policy
	Render    Renderer
	Keys      *keyring.Ring
	Screening admission.Screening
}
