package delivery

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"
	"strconv"
	"strings"
	"sync"
	"time"
)

// SecretPrefix starts every signing secret (Standard Webhooks 1.0).
const SecretPrefix = "whsec_"

const secretBytes = 32

// NewSecret makes a secret: whsec_ and the base64 of 32 random bytes.
func NewSecret() string {
	var b [secretBytes]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never fails: it crashes the program instead (Go 1.24)
	return SecretPrefix + base64.StdEncoding.EncodeToString(b[:])
}

// Key signs with a secret. It is safe for concurrent use.
type Key struct {
	hashes sync.Pool // of hashes that have taken the secret in, which is a good part of the work for a short body
}

// KeyOf returns what a secret signs with.
func KeyOf(secret string) (*Key, error) {
	encoded, ok := strings.CutPrefix(secret, SecretPrefix)
	if !ok {
		return nil, errors.New("a signing secret must start with whsec_")
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("a signing secret must hold the base64 of 24 to 64 bytes")
	}
	return &Key{hashes: sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}, nil
}

// sum appends the base64 of the HMAC-SHA256 of both parts.
func (k *Key) sum(out, head, body []byte) []byte {
	mac := k.hashes.Get().(hash.Hash) // New makes no other
	defer k.hashes.Put(mac)
	mac.Reset()
	mac.Write(head)
	mac.Write(body) // streamed: the body is never copied
	var sum [sha256.Size]byte
	return base64.StdEncoding.AppendEncode(out, mac.Sum(sum[:0]))
}

// Sign returns the value of webhook-signature: one "v1,<base64>" per key, separated by spaces, each the HMAC-SHA256 of
// id.timestamp.body with the timestamp in seconds. While a rotation is under way there are two keys, the new one first.
func Sign(keys []*Key, id string, at time.Time, body []byte) string {
	head := make([]byte, 0, len(id)+22)
	head = append(append(head, id...), '.')
	head = append(strconv.AppendInt(head, at.Unix(), 10), '.')
	out := make([]byte, 0, len(keys)*(4+44))
	for i, key := range keys {
		if i > 0 {
			out = append(out, ' ')
		}
		out = key.sum(append(out, "v1,"...), head, body)
	}
	return string(out)
}

// ValidID reports whether an event id may be signed: the signature joins its parts with dots, so an id must have none,
// nor anything that a header cannot carry.
func ValidID(id string) bool {
	return id != "" && len(id) <= 64 && strings.IndexFunc(id, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || c == '.'
	}) < 0
}
