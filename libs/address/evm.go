package address

import (
	"encoding/hex"
	"strings"
)

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

// parseEVM reads 0x and 40 hexadecimal digits.
func parseEVM(text string) ([]byte, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	key, err := hex.DecodeString(digits)
	if !ok || err != nil || len(key) != 20 {
		return nil, ErrShape
	}
	mixed := strings.ToLower(digits) != digits && strings.ToUpper(digits) != digits
	if mixed && encodeEVM(key) != text {
		return nil, ErrChecksum
	}
	return key, nil
}
