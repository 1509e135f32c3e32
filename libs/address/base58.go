package address

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"github.com/mr-tron/base58"
)

const (
	tronVersion    = 0x41
	checksumLength = 4
	hashLength     = 20
)

func checksum(b []byte) []byte {
	first := sha256.Sum256(b)
	second := sha256.Sum256(first[:])
	return second[:checksumLength]
}

// EncodeCheck writes bytes in base58check. The first of them is the version.
func EncodeCheck(body []byte) string {
	return base58.Encode(slices.Concat(body, checksum(body)))
}

// DecodeCheck reads a text in base58check and returns version and payload together, without the checksum.
func DecodeCheck(text string) ([]byte, error) {
	b, err := base58.Decode(text)
	if err != nil || len(b) <= checksumLength {
		return nil, ErrShape
	}
	body, sum := b[:len(b)-checksumLength], b[len(b)-checksumLength:]
	if !bytes.Equal(checksum(body), sum) {
		return body, ErrChecksum
	}
	return body, nil
}

// parseHash reads an address that is a version, one of versions, and a hash. Only a text of that form fails by its
// checksum.
func parseHash(text string, versions ...byte) (version byte, hash []byte, err error) {
	body, err := DecodeCheck(text)
	if len(body) != 1+hashLength || !slices.Contains(versions, body[0]) {
		return 0, nil, ErrShape
	}
	return body[0], body[1:], err
}

func parseTron(text string) ([]byte, error) {
	_, key, err := parseHash(text, tronVersion)
	return key, err
}

// parseSolana checks the length alone: a solana address has no checksum, and a program address is off the curve.
func parseSolana(text string) ([]byte, error) {
	b, err := base58.Decode(text)
	if err != nil || len(b) != 32 {
		return nil, ErrShape
	}
	return b, nil
}
