package derivation

import "errors"

// Pooled is the derivation of addresses that this process cannot derive: the signer made them in advance, and the store
// issues imported ones (solana in live mode).
type Pooled struct{}

var _ Source = Pooled{}

// Account is always 0: the index takes the account's place in the path m/44'/501'/index'/0'.
func (Pooled) Account() uint32 { return 0 }

// Derive always fails.
func (Pooled) Derive(uint32, int) ([]Derived, error) {
	return nil, errors.New("these addresses are imported, not derived")
}
