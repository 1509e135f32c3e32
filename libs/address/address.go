// Package address writes and reads the addresses of every family of networks, and the hashes that the families name
// blocks and transactions by. It derives nothing. Base58 and bech32 are read and written by libraries; this package
// adds the rules of each kind of address: versions, lengths, networks and the checksum of EIP-55.
//
// It is pure: no I/O, no clock, no randomness.
package address

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mr-tron/base58"

	"causeway.internal/libs/money"
)

// Net is the chain that an address is written for. Only bitcoin writes addresses differently by it.
type Net string

// The nets.
const (
	Mainnet Net = "mainnet"
	Testnet Net = "testnet"
	Regtest Net = "regtest"
)

// Any is the net of those who take addresses of every chain, as test mode does.
const Any Net = "any"

var every = []Net{Mainnet, Testnet, Regtest}

// UnmarshalText reads a setting that names a net.
func (n *Net) UnmarshalText(text []byte) error {
	if !slices.Contains(every, Net(text)) {
		return fmt.Errorf("%q is none of mainnet, testnet, regtest", text)
	}
	*n = Net(text)
	return nil
}

// The faults of an address. Each text follows the name of the field that holds the address.
var (
	ErrShape    = errors.New("is no address of its network")
	ErrChecksum = errors.New("fails its checksum: a character was changed")
	ErrNet      = errors.New("belongs to another network")
	errTestNet  = errors.New("belongs to a test network")
	errZero     = errors.New("is the zero address")
)

// Encode writes a chain key as the canonical address of its family: 20 bytes, or 32 on solana. On bitcoin the key is
// that of a P2WPKH output.
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
		return encodeSegwit(net, 0, key)
	case money.EVM:
		return encodeEVM(key), nil
	case money.Tron:
		return EncodeCheck(append([]byte{tronVersion}, key...)), nil
	case money.Solana:
		return base58.Encode(key), nil
	}
	return "", fmt.Errorf("unknown family %q", family)
}

// Parse checks an address in full, checksum and network included, and returns its key. It accepts every kind of address
// that can receive money, not only the kind that Encode writes. An EVM address without upper or without lower case
// letters carries no checksum and passes; a mixed one must satisfy EIP-55. The key of a bitcoin address is its output
// script, unless the address is P2WPKH: then it is the 20 bytes that Encode takes.
func Parse(family money.Family, net Net, text string) ([]byte, error) {
	key, nets, err := parse(family, text)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(nets, net) {
		return nil, fmt.Errorf("%w: it is written for %s, want %s", ErrNet, nets[0], net)
	}
	return key, nil
}

// longest bounds the texts that are read; the longest address has 90 characters.
const longest = 128

// parse reads an address and says which nets it is written for, also of a faulty one where its prefix says so.
func parse(family money.Family, text string) (key []byte, nets []Net, err error) {
	if len(text) > longest {
		return nil, nil, ErrShape
	}
	switch family {
	case money.Bitcoin:
		return parseBitcoin(text)
	case money.EVM:
		key, err = parseEVM(text)
	case money.Tron:
		key, err = parseTron(text)
	case money.Solana:
		key, err = parseSolana(text)
	default:
		err = fmt.Errorf("unknown family %q", family)
	}
	return key, every, err
}

// Check reports why money must not be sent to an address of the family: Parse's faults, and the zero address of EVM
// networks and of tron. A net refuses the addresses of other nets; Any refuses none of them.
func Check(family money.Family, net Net, text string) error {
	key, nets, err := parse(family, text)
	switch foreign := net != Any && len(nets) > 0 && !slices.Contains(nets, net); {
	case foreign && net == Mainnet:
		return errTestNet
	case foreign:
		return ErrNet
	case err != nil:
		return err
	case (family == money.EVM || family == money.Tron) && !slices.ContainsFunc(key, func(b byte) bool { return b != 0 }):
		return errZero
	}
	return nil
}

// Canonical is the one spelling of an address that Parse or Check accepts, which is how addresses are stored and
// compared: the checksum of EIP-55 on EVM networks, and lower case for bech32. Base58 has one spelling alone.
func Canonical(family money.Family, text string) string {
	switch family {
	case money.EVM:
		if key, err := parseEVM(text); err == nil {
			return encodeEVM(key)
		}
	case money.Bitcoin:
		return canonicalBitcoin(text)
	case money.Tron, money.Solana:
	}
	return text
}
