package wallet

import (
	"fmt"

	"causeway.internal/libs/tenant"
)

// Counted is an asset whose amounts are stored, with the contract they are read from (” for none) and the decimals of
// its base unit.
type Counted struct {
	Mode     tenant.Mode
	Network  string
	Asset    string
	Contract string
	Decimals int32
}

// Recount reports that stored amounts were counted in other decimals than those of now.
func (c Counted) Recount(now int32) error {
	if c.Decimals == now {
		return nil
	}
	return fmt.Errorf("%s on %s has %d decimals in this release, but its stored amounts were counted in %d", c.Asset, c.Network, now, c.Decimals)
}
