package change

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// NewToken draws a settlement token. Only its hash is kept.
func NewToken() (token string, hash []byte) {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // crypto/rand.Read never fails: it crashes the program instead (Go 1.24)
	token = "stl_" + base64.RawURLEncoding.EncodeToString(raw[:])
	return token, TokenHash(token)
}

// TokenHash is the kept form of a settlement token.
func TokenHash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
