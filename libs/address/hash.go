package address

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/mr-tron/base58"
	"golang.org/x/crypto/ripemd160" //nolint:gosec,staticcheck // bitcoin's hash160 is defined with it
	"golang.org/x/crypto/sha3"

	"causeway.internal/libs/money"
)

// Keccak256 is the hash of Ethereum and Tron (the SHA-3 candidate, not the standard).
func Keccak256(data ...[]byte) [32]byte {
	h := sha3.NewLegacyKeccak256()
	for _, d := range data {
		_, _ = h.Write(d)
	}
	var out [32]byte
	h.Sum(out[:0])
	return out
}

// Hash160 is RIPEMD-160 of SHA-256, by which bitcoin names a key or a script.
func Hash160(b []byte) [20]byte {
	sum := sha256.Sum256(b)
	h := ripemd160.New() //nolint:gosec // see the import
	_, _ = h.Write(sum[:])
	var out [20]byte
	h.Sum(out[:0])
	return out
}

// BlockHash writes 32 bytes as the family's explorers write a block's hash.
func BlockHash(family money.Family, b [32]byte) string {
	switch family {
	case money.EVM:
		return "0x" + hex.EncodeToString(b[:])
	case money.Solana:
		return base58.Encode(b[:])
	default:
		return hex.EncodeToString(b[:])
	}
}

// TxHash writes 32 bytes as the family's explorers write a transaction. On solana, where that is a signature of 64
// bytes, it writes them twice.
func TxHash(family money.Family, b [32]byte) string {
	if family == money.Solana {
		return base58.Encode(append(b[:], b[:]...))
	}
	return BlockHash(family, b)
}

// IsTransaction reports whether a text can be the hash of a transaction on a network of the family: 32 bytes in
// hexadecimal digits, after 0x on EVM networks; on solana a signature of 64 bytes in base58.
func IsTransaction(family money.Family, text string) bool {
	const hashLength, signatureLength, signatureMost = 32, 64, 88
	if family == money.Solana {
		b, err := base58.Decode(text)
		return len(text) <= signatureMost && err == nil && len(b) == signatureLength
	}
	digits, prefixed := strings.CutPrefix(text, "0x")
	b, err := hex.DecodeString(digits)
	return err == nil && len(b) == hashLength && prefixed == (family == money.EVM)
}
