package causeway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"regexp"
)

var keys = regexp.MustCompile(`^(sk|pk)_(live|test)_[0-9A-Za-z]{36}$`)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// The messages never show the key.
var (
	errSecret = errors.New("causeway: APIKey is no secret of an API key (sk_live_… or sk_test_…)")
	errPublic = errors.New("causeway: PublicKey is no public id of an API key (pk_live_… or pk_test_…)")
)

// keyMode is the mode of a key, from its own letters. Its checksum finds a typo or a cut before it is sent anywhere.
func keyMode(key, kind string) (Mode, error) {
	m := keys.FindStringSubmatch(key)
	if m == nil || m[1] != kind || checksum(key[:len(key)-6]) != key[len(key)-6:] {
		if kind == "pk" {
			return "", errPublic
		}
		return "", errSecret
	}
	return Mode(m[2]), nil
}

// checksum is the CRC-32 (IEEE) of a text as six base62 digits.
func checksum(text string) string {
	rest := crc32.ChecksumIEEE([]byte(text))
	var digits [6]byte
	for i := range digits {
		digits[len(digits)-1-i] = base62[rest%62]
		rest /= 62
	}
	return string(digits[:])
}

// requestSignature is the X-Signature of a request. The path has its query.
func requestSignature(secret string, timestamp int64, method, path string, body []byte) string {
	key, digest := sha256.Sum256([]byte(secret)), sha256.Sum256(body)
	mac := hmac.New(sha256.New, []byte(hex.EncodeToString(key[:])))
	_, _ = fmt.Fprintf(mac, "%d|%s|%s|%x", timestamp, method, path, digest) // writing to a hash never fails
	return hex.EncodeToString(mac.Sum(nil))
}
