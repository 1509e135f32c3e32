// Package derivation makes deposit addresses from account-level extended public keys, so the service that imports it
// needs no private key.
//
// It is pure: no I/O, no clock, no randomness. It takes no private key; the one it holds is published and worthless,
// for the solana sandbox (slip10.go).
package derivation

// Derived is one address of a chain of addresses.
type Derived struct {
	Index   uint32
	Key     []byte // the chain's own form: 20 bytes, or 32 on solana
	Address string // canonical text
}

// Source is a numbered, endless chain of addresses. The same index always gives the same address.
type Source interface {
	// Account is the number of the hardened account that the addresses belong to.
	Account() uint32
	// Derive returns the addresses from (inclusive) to from+count. The indices must stay below MaxIndex.
	Derive(from uint32, count int) ([]Derived, error)
}

// MaxIndex is the first index that is not a plain child any more (BIP-32: the upper half is hardened).
const MaxIndex = 1 << 31
