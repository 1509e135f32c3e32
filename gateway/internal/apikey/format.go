// Package apikey holds API keys: their text, what they may do, how they are made, revoked and found again. It decides
// and remembers; it speaks no HTTP and no SQL (the store does), and keeps no secret after handing it out.
package apikey

import (
	"crypto/rand"
	"hash/crc32"
	"strings"

	"causeway.internal/libs/wire"
)

// Kind says which half of a key pair a text is.
type Kind byte

// The halves of a key pair.
const (
	Secret Kind = 's' // sk_…: authenticates by itself
	Public Kind = 'p' // pk_…: names the key on a signed request
)

// A key is sk_live_, sk_test_, pk_live_ or pk_test_, then 30 random base62 characters (178 bits), then the CRC-32
// (IEEE) of everything before it as six base62 digits. Secret scanners can verify it, and a typo needs no look-up.
const (
	prefixLen   = len("sk_test_")
	randomLen   = 30
	checksumLen = 6
	keyLen      = prefixLen + randomLen + checksumLen
	base62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Generate makes a new key text from crypto/rand.
func Generate(kind Kind, mode wire.Mode) string {
	var b strings.Builder
	b.Grow(keyLen)
	b.WriteByte(byte(kind))
	b.WriteString("k_" + string(mode) + "_")
	const full = 256 - 256%len(base62) // bytes beyond the last full multiple are drawn again, so there is no bias
	var buf [64]byte
	for b.Len() < prefixLen+randomLen {
		_, _ = rand.Read(buf[:]) // never fails: the program crashes instead
		for _, c := range buf {
			if int(c) < full && b.Len() < prefixLen+randomLen {
				b.WriteByte(base62[int(c)%len(base62)])
			}
		}
	}
	sum := checksum(b.String())
	b.Write(sum[:])
	return b.String()
}

// Parse reads a key text; ok is false when it is none or was mistyped.
func Parse(text string) (kind Kind, mode wire.Mode, ok bool) {
	if len(text) != keyLen || text[1:3] != "k_" || text[prefixLen-1] != '_' {
		return 0, "", false
	}
	kind, mode = Kind(text[0]), wire.Mode(text[3:prefixLen-1])
	if (kind != Secret && kind != Public) || (mode != wire.Live && mode != wire.Test) {
		return 0, "", false
	}
	for i := prefixLen; i < prefixLen+randomLen; i++ {
		if !isBase62(text[i]) {
			return 0, "", false
		}
	}
	sum := checksum(text[:prefixLen+randomLen])
	return kind, mode, text[prefixLen+randomLen:] == string(sum[:])
}

func isBase62(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

func checksum(text string) (out [checksumLen]byte) {
	n := crc32.ChecksumIEEE([]byte(text))
	for i := checksumLen - 1; i >= 0; i-- {
		out[i] = base62[n%uint32(len(base62))]
		n /= uint32(len(base62))
	}
	return out
}
