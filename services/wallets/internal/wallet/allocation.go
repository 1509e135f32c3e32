package wallet

import (
	"errors"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// ErrOtherRequest says that a request id was used before for something else.
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

// Issued is an address that was handed out, with the place it was derived from.
type Issued struct {
	Mode    tenant.Mode
	Family  money.Family
	Account int64
	Index   int64
	Address string
}
