// Package credential holds the texts of API keys and of operators' tokens: how they are made, read and checked. It does
// not know whose they are, and depends on nothing, so the merchants' tool uses it too.
package credential

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"strings"

	"causeway.internal/libs/tenant"
)

// Kind names the half of a key pair.
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

// tokenPrefix begins an operator's token, which has the form of a key.
const tokenPrefix = "op_"

// Generate makes a new key text from crypto/rand.
func Generate(kind Kind, mode tenant.Mode) string {
	return generate(string(kind) + "k_" + string(mode) + "_")
}

// GenerateToken makes the text of a new operator's token.
func GenerateToken() string { return generate(tokenPrefix) }

// TokenDigest is by what others name a token that only its person knows: the SHA-256 of its text, in lower-case hex.
func TokenDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// IsToken reports whether a text has the form of an operator's token and a valid checksum.
func IsToken(text string) bool {
	return strings.HasPrefix(text, tokenPrefix) && intact(text, len(tokenPrefix))
}

func generate(prefix string) string {
	var b strings.Builder
	b.Grow(keyLen)
	b.WriteString(prefix)
	const full = 256 - 256%len(base62) // bytes beyond the last full multiple are drawn again, so there is no bias
	var buf [64]byte
	for b.Len() < len(prefix)+randomLen {
		_, _ = rand.Read(buf[:]) // never fails: the program crashes instead
		for _, c := range buf {
			if int(c) < full && b.Len() < len(prefix)+randomLen {
				b.WriteByte(base62[int(c)%len(base62)])
			}
		}
	}
	sum := checksum(b.String())
	b.Write(sum[:])
	return b.String()
}

// Parse reads a key text; ok is false when the form or the checksum is wrong.
func Parse(text string) (kind Kind, mode tenant.Mode, ok bool) {
	if len(text) != keyLen || text[1:3] != "k_" || text[prefixLen-1] != '_' {
		return 0, "", false
	}
	kind, mode = Kind(text[0]), tenant.Mode(text[3:prefixLen-1])
	if (kind != Secret && kind != Public) || (mode != tenant.Live && mode != tenant.Test) {
		return 0, "", false
	}
	return kind, mode, intact(text, prefixLen)
}

// intact reports whether the text after a prefix is random characters and a valid checksum.
func intact(text string, prefix int) bool {
	if len(text) != prefix+randomLen+checksumLen {
		return false
	}
	for i := prefix; i < prefix+randomLen; i++ {
		if !isBase62(text[i]) {
			return false
		}
	}
	sum := checksum(text[:prefix+randomLen])
	return text[prefix+randomLen:] == string(sum[:])
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
