// Package address makes and checks deposit addresses. It derives them from account-level extended public keys, so the
// service that imports it needs no private key, and it knows how each family of networks writes an address.
//
// It is pure: no I/O, no clock, no randomness. It takes no private key; the one it holds is published and worthless, for the
// solana sandbox (slip10.go).
package address

import (
	"fmt"

	"causeway.internal/libs/money"
)

// Net says which world an address is written for. Only bitcoin writes them differently.
type Net string

// The nets.
const (
	Mainnet Net = "mainnet"
	Testnet Net = "testnet"
	Regtest Net = "regtest"
)

// Derived is one address of a chain of addresses.
type Derived struct {
	Index   uint32
	Key     []byte // what the chain itself knows it by: 20 bytes, or 32 on solana
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

// Encode writes a chain key as the canonical address of its family.
func Encode(family money.Family, net Net, key []byte) (string, error) {
	want := 20
	if family == money.Solana {
		want = 32
	}
	if len(key) != want {
		return "", fmt.Errorf("%s address key has %d bytes, want %d", family, len(key), want)
	}
	switch family {
	case money.Bitcoin:
		return encodeSegwit(net.hrp(), 0, key)
	case money.EVM:
		return encodeEVM(key), nil
	case money.Tron:
		return encodeBase58Check(tronVersion, key), nil
	case money.Solana:
		return encodeBase58(key), nil
	}
	return "", fmt.Errorf("unknown family %q", family)
}

// Parse checks an address in full, checksum and network included, and returns the key it stands for. Every kind of
// address that money may be sent to is accepted, not only the kind that we issue: an EVM address without upper or
// without lower case letters carries no checksum and passes, a mixed one must satisfy EIP-55. For a bitcoin address the
// key is its output script, unless it is P2WPKH, our own kind, where it is the 20 bytes that Encode takes.
func Parse(family money.Family, net Net, text string) ([]byte, error) {
	if len(text) > 128 {
		return nil, fmt.Errorf("is too long for an address")
	}
	switch family {
	case money.Bitcoin:
		return parseBitcoin(net, text)
	case money.EVM:
		return parseEVM(text)
	case money.Tron:
		return parseTron(text)
	case money.Solana:
		return parseSolana(text)
	}
	return nil, fmt.Errorf("unknown family %q", family)
}

// Canonical rewrites an address of ours in the one form in which it is stored.
func Canonical(family money.Family, net Net, text string) (string, error) {
	key, err := Parse(family, net, text)
	if err != nil {
		return "", err
	}
	return Encode(family, net, key)
}
