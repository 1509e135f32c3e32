// Package merchants holds the use cases of a merchant besides creating and reading payments.
package merchants

import (
	"causeway.internal/libs/keyring"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/destination"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
)

// Merchants holds the use cases of a merchant besides creating and reading payments.
type Merchants struct {
	Access       *access.Payments
	Policy       payment.Policy
	Render       views.Renderer
	Keys         *keyring.Ring
	Destinations destination.Checker
}
