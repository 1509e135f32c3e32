package wallet

import (
	"errors"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// ErrOtherRequest means that another request has used the request id.
var ErrOtherRequest = errors.New("the request id was used before for another mode, family or count")

// Request asks for fresh addresses. Its id makes it idempotent: the same id is answered with the same addresses.
type Request struct {
	ID     string
	Mode   tenant.Mode
	Family money.Family
	Count  int
}

// Allocation answers a request: addresses that are committed and watched.
type Allocation struct {
	Request
	Addresses []Address
}

// Address is one issued address with the wallet that owns it.
type Address struct {
	WalletID string
	Address  string
}

// Issued is an address that was issued, with the place that it was derived from.
type Issued struct {
	Mode    tenant.Mode
	Family  money.Family
	Account int64
	Index   int64
	Address string
}
