// Package person holds the statement by which a console calls the gateway's API as a person: who it is, for which
// merchant and mode, with which permissions, and for which one request. A console signs it with the key of its door;
// the gateway verifies it like a key (docs/architecture.md#people).
package person

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"causeway.internal/libs/tenant"
)

// Door is the console that a person uses. Each door has keys of its own: a key of the merchants' door names no
// operator.
type Door string

// The doors.
const (
	Merchant Door = "merchant"
	Operator Door = "operator"
)

// Cookie is the name of the session's cookie of a door's console. The name of each further cookie of that console
// begins with it and a hyphen. On https all have HostPrefix.
func (d Door) Cookie() string {
	if d == Operator {
		return "operators"
	}
	return "console"
}

// HostPrefix begins the name of a cookie that browsers take on https only, for one host and all its paths.
const HostPrefix = "__Host-"

// Owns reports whether the console of a door has made a cookie of a name.
func (d Door) Owns(name string) bool {
	name = strings.TrimPrefix(name, HostPrefix)
	return name == d.Cookie() || strings.HasPrefix(name, d.Cookie()+"-")
}

// Life is how far from now an assertion may have been issued, in both directions.
const Life = 10 * time.Second

// Prefix begins the text of an assertion, which is sent as Authorization: Bearer.
const Prefix = "cwp_"

// Bounds of an assertion.
const (
	textMax        = 12 << 10
	nameMax        = 254 // an e-mail address
	userMax        = 64
	merchantMax    = 200 // bytes of at most 50 characters
	permissionsMax = 64
)

// Assertion is a console's statement about one request of one person. MerchantID, Mode and Permissions are those of the
// merchants' door alone. Bind sets the fields of the request.
type Assertion struct {
	Door        Door        `json:"dor"`
	User        string      `json:"usr"` // id of the account
	Name        string      `json:"nam"` // the e-mail address, or the operator's name, such as ada.obi
	MerchantID  string      `json:"mer,omitempty"`
	Mode        tenant.Mode `json:"mod,omitempty"`
	Permissions []string    `json:"per,omitempty"`
	ClientIP    string      `json:"ip,omitempty"` // the person's address, as the gateway named it to the console

	Method         string `json:"met"`
	Path           string `json:"pth"` // with query
	BodyHash       []byte `json:"bod"` // SHA-256 of the body
	IdempotencyKey string `json:"idk,omitempty"`
	Nonce          string `json:"non"` // the gateway takes it once
	IssuedAt       int64  `json:"iat"` // unix milliseconds
}

// Bind ties an assertion to one request: its method, path with query, body and Idempotency-Key, the time and a nonce.
// Set the headers of the request before.
func (a Assertion) Bind(r *http.Request, body []byte, now time.Time) Assertion {
	sum := sha256.Sum256(body)
	a.Method, a.Path, a.BodyHash = r.Method, r.URL.RequestURI(), sum[:]
	a.IdempotencyKey = r.Header.Get("Idempotency-Key")
	a.Nonce, a.IssuedAt = rand.Text(), now.UnixMilli()
	return a
}

// domain separates these signatures from all others of the same key.
const domain = "causeway-person-v1\n"

// Sign returns the text of a bound assertion: the assertion and its signature.
func (a Assertion) Sign(key ed25519.PrivateKey) (string, error) {
	if err := a.check(); err != nil {
		return "", err
	}
	payload, err := json.Marshal(a)
	if err != nil {
		return "", fmt.Errorf("encode an assertion: %w", err)
	}
	enc := base64.RawURLEncoding
	signed := enc.EncodeToString(payload)
	return Prefix + signed + "." + enc.EncodeToString(ed25519.Sign(key, []byte(domain+signed))), nil
}

// check reports the first field that no assertion may have.
func (a Assertion) check() error {
	switch {
	case a.Door != Merchant && a.Door != Operator:
		return fmt.Errorf("assertion: the door %.20q is unknown", a.Door)
	case !visible(a.User, userMax) || !visible(a.Name, nameMax):
		return errors.New("assertion: the person is missing, too long, or has a character that is no visible ASCII")
	case a.Nonce == "" || len(a.Nonce) > userMax || a.Method == "" || a.Path == "" || len(a.BodyHash) != sha256.Size || a.IssuedAt == 0:
		return errors.New("assertion: it is bound to no request")
	case a.Door == Operator && (a.MerchantID != "" || a.Mode != "" || len(a.Permissions) > 0):
		return errors.New("assertion: an operator has no merchant, mode or permissions")
	case a.Door == Merchant && (a.MerchantID == "" || len(a.MerchantID) > merchantMax || !a.Mode.Valid() || len(a.Permissions) > permissionsMax):
		return errors.New("assertion: the merchant or the mode is missing, or a field is too long")
	}
	return nil
}

func visible(s string, most int) bool {
	return s != "" && len(s) <= most && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// ParseKey reads the base64 of the 32 bytes of a door key's seed. Its error does not show the text, which is a secret.
func ParseKey(seed string) (ed25519.PrivateKey, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(seed)
	if err != nil || len(raw) != ed25519.SeedSize {
		return nil, errors.New("is not the base64 of an ed25519 seed of 32 bytes")
	}
	return ed25519.NewKeyFromSeed(raw), nil
}

// Public is the text of a door key's public half, as the gateway's CONSOLE_KEYS lists it.
func Public(door Door, key ed25519.PrivateKey) string {
	public, _ := key.Public().(ed25519.PublicKey) // it is one
	return string(door) + ":" + base64.StdEncoding.EncodeToString(public)
}
