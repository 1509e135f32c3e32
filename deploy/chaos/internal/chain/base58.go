package chain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
)

const digits58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// Base58 reads a text of base 58.
func Base58(text string) ([]byte, error) {
	n, base := new(big.Int), big.NewInt(int64(len(digits58)))
	for _, c := range text {
		digit := strings.IndexRune(digits58, c)
		if digit < 0 {
			return nil, fmt.Errorf("%q is not in base 58", text)
		}
		n.Add(n.Mul(n, base), big.NewInt(int64(digit)))
	}
	zeros := len(text) - len(strings.TrimLeft(text, digits58[:1]))
	return append(make([]byte, zeros), n.Bytes()...), nil
}

// tronSum is the length of the checksum behind a tron address.
const tronSum = 4

// tronHex writes a tron address as nodes do.
func tronHex(text string) (string, error) {
	b, err := Base58(text)
	if err != nil || len(b) <= tronSum {
		return "", fmt.Errorf("%q is no address of tron", text)
	}
	body, sum := b[:len(b)-tronSum], b[len(b)-tronSum:]
	first := sha256.Sum256(body)
	second := sha256.Sum256(first[:])
	if string(second[:tronSum]) != string(sum) {
		return "", fmt.Errorf("%q has a wrong checksum", text)
	}
	return hex.EncodeToString(body), nil
}
