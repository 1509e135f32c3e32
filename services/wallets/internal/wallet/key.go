package wallet

import (
	"errors"
	"strings"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// Slot is the place of one source of addresses: a mode and a family.
type Slot struct {
	Mode   tenant.Mode
	Family money.Family
}

// String names the slot: "live evm".
func (s Slot) String() string { return string(s.Mode) + " " + string(s.Family) }

// Setting names the setting of the slot's addresses.
func (s Slot) Setting() string {
	if s.Family == money.Solana {
		return "ADDRESS_BATCH_KEY"
	}
	return "XPUB_" + strings.ToUpper(string(s.Mode)+"_"+string(s.Family))
}

// SealedKey is an extended public key as the database keeps it.
type SealedKey struct {
	Slot
	Sealed []byte
}

// Batch is a run of addresses of the signer, verified.
type Batch struct {
	Slot
	From                 int64
	Addresses            []string
	Keys                 [][]byte
	PublicKey, Signature []byte
}

// ErrNoStock means that the imported addresses are used up.
var ErrNoStock = errors.New("no imported address is left")
