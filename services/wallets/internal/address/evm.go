package address

import (
	"encoding/hex"
	"errors"
	"strings"

	"golang.org/x/crypto/sha3"
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

// encodeEVM writes 20 bytes with the mixed-case checksum of EIP-55.
func encodeEVM(key []byte) string {
	lower := hex.EncodeToString(key)
	sum := Keccak256([]byte(lower))
	out := []byte("0x" + lower)
	for i := range lower {
		nibble := sum[i/2] >> 4
		if i%2 == 1 {
			nibble = sum[i/2] & 0xf
		}
		if c := lower[i]; c >= 'a' && nibble >= 8 {
			out[i+2] = c - 'a' + 'A'
		}
	}
	return string(out)
}

var errEVM = errors.New("is not an EVM address: 0x and 40 hexadecimal digits")

func parseEVM(text string) ([]byte, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok || len(digits) != 40 {
		return nil, errEVM
	}
	key, err := hex.DecodeString(digits)
	if err != nil {
		return nil, errEVM
	}
	mixed := strings.ToLower(digits) != digits && strings.ToUpper(digits) != digits
	if mixed && encodeEVM(key) != text {
		return nil, errors.New("fails the EIP-55 checksum: a letter was changed")
	}
	return key, nil
}
