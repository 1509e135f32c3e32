package address

import (
	"encoding/hex"

	"causeway.internal/libs/money"
)

// BlockHash writes 32 bytes as the family's explorers write a block's hash.
func BlockHash(family money.Family, b [32]byte) string {
	switch family {
	case money.EVM:
		return "0x" + hex.EncodeToString(b[:])
	case money.Solana:
		return encodeBase58(b[:])
	default:
		return hex.EncodeToString(b[:])
	}
}

// TxHash writes 32 bytes as the family's explorers write a transaction; on solana, where that is a signature of 64 bytes,
// they are written twice.
func TxHash(family money.Family, b [32]byte) string {
	if family == money.Solana {
		return encodeBase58(append(b[:], b[:]...))
	}
	return BlockHash(family, b)
}
