// Package merchants holds what a merchant does with its payment besides creating and reading it.
package merchants

import (
	"causeway.internal/libs/keyring"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
)

// Merchants is what a merchant does with its payment besides creating and reading it.
type Merchants struct {
	Access    *access.Payments
	Policy    payment.Policy
	Render    views.Renderer
	Keys      *keyring.Ring
	Screening admission.Screening
}
