// Package keyring seals secrets at rest with AES-256-GCM under named master keys (docs/api-contract.md#keys: sealed
// values carry a key id, rotate-master re-seals online). It holds keys in memory and nothing else: it reads no
// environment, stores nothing and logs nothing, and no error of it holds key or secret material.
package keyring

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

const (
	version  = 1
	keyBytes = 32
	overhead = 12 + 16 // random nonce and tag of GCM
	maxID    = 32
	maxKeys  = 16
)

// ErrUnknownKey means that a value is sealed under a master key that this ring does not hold.
var ErrUnknownKey = errors.New("the value is sealed under an unknown master key")

// ErrOpen means that a sealed value is damaged or was copied from another place, or that a key's bytes are wrong.
var ErrOpen = errors.New("the sealed value does not open")

// Ring is an immutable set of master keys. The first one seals, all of them open. It is safe for concurrent use.
type Ring struct {
	first  string
	keys   map[string]cipher.AEAD
	blinds [][]byte // one key for blind indexes of each master key, the first one's first
}

// Parse reads MASTER_KEYS: comma separated id:base64(32 bytes), the first seals. An id is 1..32 characters of
// a-z, A-Z, 0-9, - and _. Standard and URL base64 are read, padded or not.
func Parse(text string) (*Ring, error) {
	r := &Ring{keys: map[string]cipher.AEAD{}}
	for i, part := range strings.Split(text, ",") {
		if i >= maxKeys {
			return nil, fmt.Errorf("more than %d master keys", maxKeys)
		}
		id, encoded, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok || !validID(id) {
			return nil, fmt.Errorf("master key %d is not of the form id:base64", i+1)
		}
		if _, twice := r.keys[id]; twice {
			return nil, fmt.Errorf("master key id %s is given twice", id)
		}
		raw, err := decode(encoded)
		if err != nil || len(raw) != keyBytes {
			return nil, fmt.Errorf("master key %s is not the base64 of %d bytes", id, keyBytes)
		}
		aead, err := newAEAD(raw)
		if err != nil {
			return nil, fmt.Errorf("master key %s: %w", id, err)
		}
		r.keys[id] = aead
		r.blinds = append(r.blinds, mac(raw, "causeway blind index v1"))
		if i == 0 {
			r.first = id
		}
	}
	return r, nil
}

func newAEAD(raw []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func decode(s string) ([]byte, error) {
	s = strings.TrimRight(s, "=")
	if strings.ContainsAny(s, "-_") {
		return base64.RawURLEncoding.Strict().DecodeString(s)
	}
	return base64.RawStdEncoding.Strict().DecodeString(s)
}

func validID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	return strings.IndexFunc(id, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	}) < 0
}

// First returns the id of the key that seals.
func (r *Ring) First() string { return r.first }

// Seal encrypts plain under the first key. It authenticates the place, such as "webhook-secret/m_1/live": a sealed
// value that is copied to another row does not open there. Under one key at most 2^32 values may be sealed (random
// 96-bit nonces, NIST SP 800-38D §8.3), far more than secrets at rest need.
func (r *Ring) Seal(plain []byte, place string) []byte {
	head := append([]byte{version, byte(len(r.first))}, r.first...) //nolint:gosec // a name has at most 32 bytes
	out := make([]byte, len(head), len(head)+len(plain)+overhead)
	copy(out, head)
	return r.keys[r.first].Seal(out, nil, plain, bind(head, place)) //nolint:gosec // the AEAD draws its nonce itself
}

// Open decrypts a sealed value at its place. The error is ErrUnknownKey or ErrOpen.
func (r *Ring) Open(sealed []byte, place string) ([]byte, error) {
	head, id, err := header(sealed)
	if err != nil {
		return nil, err
	}
	aead, ok := r.keys[id]
	if !ok {
		return nil, fmt.Errorf("key id %s: %w", id, ErrUnknownKey)
	}
	plain, err := aead.Open(nil, nil, sealed[len(head):], bind(head, place))
	if err != nil {
		return nil, ErrOpen
	}
	return plain, nil
}

// Blind returns the blind index of a value: an HMAC-SHA-256 of it at its place, under a separate key that derives from
// the first master key. Without the master key an index reveals only which values of one place are equal.
func (r *Ring) Blind(plain, place string) []byte { return blind(r.blinds[0], plain, place) }

// Blinds returns the blind indexes of a value under every master key, the first one's first, so that rows from before a
// rotation are still found.
func (r *Ring) Blinds(plain, place string) [][]byte {
	out := make([][]byte, len(r.blinds))
	for i, key := range r.blinds {
		out[i] = blind(key, plain, place)
	}
	return out
}

// blind keeps the border between place and value unambiguous: a place holds no zero byte.
func blind(key []byte, plain, place string) []byte { return mac(key, place+"\x00"+plain) }

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// Stale reports whether a value is not sealed under the first key and should be sealed again.
func (r *Ring) Stale(sealed []byte) bool {
	id, err := KeyID(sealed)
	return err != nil || id != r.first
}

// KeyID returns the id of the key that sealed a value, in the clear so that a rotation finds what is left.
func KeyID(sealed []byte) (string, error) {
	_, id, err := header(sealed)
	return id, err
}

func header(sealed []byte) (head []byte, id string, err error) {
	if len(sealed) < 2 || sealed[0] != version {
		return nil, "", ErrOpen
	}
	end := 2 + int(sealed[1])
	if len(sealed) < end+overhead || !validID(string(sealed[2:end])) {
		return nil, "", ErrOpen
	}
	return sealed[:end], string(sealed[2:end]), nil
}

// bind joins header and place; the header's own length byte keeps the border between them unambiguous.
func bind(head []byte, place string) []byte {
	return append(append(make([]byte, 0, len(head)+len(place)), head...), place...)
}
