package address

import (
	"encoding/hex"
	"errors"
	"strings"

	"causeway.internal/libs/money"
)

var errTransaction = errors.New("is no transaction of the payment's network")

// CheckTransaction reports why a text cannot be the hash of a transaction on a network of the family: 32 bytes in hexadecimal
// digits, after 0x on EVM networks; on solana a signature of 64 bytes in base 58.
func CheckTransaction(family money.Family, text string) error {
	const hashLength, signatureLength = 32, 64
	if family == money.Solana {
		if b, ok := base58(text, signatureMax); !ok || len(b) != signatureLength {
			return errTransaction
		}
		return nil
	}
	digits, prefixed := strings.CutPrefix(text, "0x")
	if b, err := hex.DecodeString(digits); err != nil || len(b) != hashLength || prefixed != (family == money.EVM) {
		return errTransaction
	}
	return nil
}
