package person

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"causeway.internal/libs/nonce"
)

// Verifier checks assertions at the gateway. It is safe for use by many goroutines.
type Verifier struct {
	keys   map[Door][]ed25519.PublicKey
	nonces *nonce.Memory
}

// NewVerifier reads CONSOLE_KEYS: comma separated door:base64 of an ed25519 public key. Several keys of one door
// verify, so that a key can be changed without a gap. An empty text verifies nothing. No key may stand for both doors.
func NewVerifier(text string) (*Verifier, error) {
	v := &Verifier{keys: map[Door][]ed25519.PublicKey{}, nonces: nonce.NewMemory(Life)}
	if strings.TrimSpace(text) == "" {
		return v, nil
	}
	doors := map[string]Door{}
	for part := range strings.SplitSeq(text, ",") {
		name, digits, _ := strings.Cut(strings.TrimSpace(part), ":")
		raw, err := base64.StdEncoding.Strict().DecodeString(digits)
		door := Door(name)
		if err != nil || len(raw) != ed25519.PublicKeySize || (door != Merchant && door != Operator) {
			return nil, errors.New("want comma separated merchant: or operator: and the base64 of an ed25519 public key")
		}
		if other, taken := doors[string(raw)]; taken && other != door {
			return nil, errors.New("one key is named for both doors")
		}
		doors[string(raw)] = door
		v.keys[door] = append(v.keys[door], raw)
	}
	return v, nil
}

// The reasons why an assertion is refused; callers learn only that it was.
var (
	ErrForged  = errors.New("the assertion is malformed, or its signature is not that of a key of its door")
	ErrExpired = errors.New("the assertion is from another time")
	ErrForeign = errors.New("the assertion is for another request")
	ErrUsed    = errors.New("the assertion was used before")
)

// Is reports whether a credential has the form of an assertion.
func Is(text string) bool { return strings.HasPrefix(text, Prefix) }

// Open reads an assertion and checks its signature, by the keys of the door that it names, and its time. The request is
// not checked yet: Take does that once the body is whole.
func (v *Verifier) Open(text string, now time.Time) (Assertion, error) {
	signed, sum, ok := strings.Cut(strings.TrimPrefix(text, Prefix), ".")
	if !ok || !Is(text) || len(text) > textMax {
		return Assertion{}, ErrForged
	}
	enc := base64.RawURLEncoding.Strict()
	signature, err := enc.DecodeString(sum)
	if err != nil {
		return Assertion{}, ErrForged
	}
	payload, err := enc.DecodeString(signed)
	if err != nil {
		return Assertion{}, ErrForged
	}
	var a Assertion
	if json.Unmarshal(payload, &a) != nil || !v.signed(a.Door, signed, signature) || a.check() != nil {
		return Assertion{}, ErrForged
	}
	if age := now.Sub(time.UnixMilli(a.IssuedAt)); age > Life || age < -Life {
		return Assertion{}, ErrExpired
	}
	return a, nil
}

func (v *Verifier) signed(door Door, payload string, signature []byte) bool {
	for _, key := range v.keys[door] {
		if ed25519.Verify(key, []byte(domain+payload), signature) {
			return true
		}
	}
	return false
}

// Request is what an assertion binds of a request.
type Request struct {
	Method, Path, IdempotencyKey string // Path has its query
	Body                         []byte
}

// Take uses up an opened assertion for a request, once.
func (v *Verifier) Take(a Assertion, r Request, now time.Time) error {
	sum := sha256.Sum256(r.Body)
	if a.Method != r.Method || a.Path != r.Path || a.IdempotencyKey != r.IdempotencyKey || !bytes.Equal(a.BodyHash, sum[:]) {
		return ErrForeign
	}
	if age := now.Sub(time.UnixMilli(a.IssuedAt)); age > Life { // the body may have taken its time
		return ErrExpired
	}
	if !v.nonces.First(a.Nonce, now) {
		return ErrUsed
	}
	return nil
}
