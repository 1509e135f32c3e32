package livenet

import (
	"crypto/ecdh"
	"crypto/rand"
	"fmt"
	"strings"
)

// identity makes an age identity and its recipient. A passphrase would do as well, but opening a seed with one takes a
// second of computing, and a signer that is killed often opens it often.
func identity() (secret, recipient string, err error) {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return "", "", fmt.Errorf("making a key: %w", err)
	}
	return strings.ToUpper(bech32("age-secret-key-", key.Bytes())), bech32("age", key.PublicKey().Bytes()), nil
}

const digits32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// bech32 writes bytes as BIP-173 does.
func bech32(prefix string, data []byte) string {
	var groups []byte
	bits, rest := 0, 0
	for _, b := range data {
		rest, bits = rest<<8|int(b), bits+8
		for bits >= 5 {
			bits -= 5
			groups = append(groups, byte(rest>>bits&31))
		}
		rest &= 1<<bits - 1
	}
	if bits > 0 {
		groups = append(groups, byte(rest<<(5-bits)&31))
	}
	var expanded []byte
	for _, c := range []byte(prefix) {
		expanded = append(expanded, c>>5)
	}
	expanded = append(expanded, 0)
	for _, c := range []byte(prefix) {
		expanded = append(expanded, c&31)
	}
	sum := polymod(append(append(expanded, groups...), 0, 0, 0, 0, 0, 0)) ^ 1
	for i := range 6 {
		groups = append(groups, byte(sum>>(5*(5-i))&31))
	}
	var text strings.Builder
	text.WriteString(prefix + "1")
	for _, g := range groups {
		text.WriteByte(digits32[g])
	}
	return text.String()
}

// polymod is the checksum of BIP-173.
func polymod(values []byte) uint32 {
	sum := uint32(1)
	for _, v := range values {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ uint32(v)
		for i, generator := range []uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= generator
			}
		}
	}
	return sum
}
