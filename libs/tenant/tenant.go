// Package tenant names whose a row, a message or a request is: a merchant's, in one mode.
package tenant

// Mode separates live money from test money. Every row and every message carries it, and no row of one is visible to
// the other.
type Mode string

// The modes.
const (
	Live Mode = "live"
	Test Mode = "test"
)

// Modes lists both, in the order in which answers show them.
func Modes() []Mode { return []Mode{Live, Test} }

// Valid reports whether m is one of the two.
func (m Mode) Valid() bool { return m == Live || m == Test }

// Owner is the merchant and the mode that a request may see; every query carries both. KeyID is the API key that the
// request came with: wallets belong to it, and payments and reports keep it. A Person of the merchant came with it
// instead, and sees the wallets of all keys.
type Owner struct {
	MerchantID string
	KeyID      int64
	Mode       Mode
	Person     bool
}

// WithoutKey is the same for all keys of a merchant in a mode, as a key of a map must be.
func (o Owner) WithoutKey() Owner { return Owner{MerchantID: o.MerchantID, Mode: o.Mode} }
