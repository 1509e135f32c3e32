package httpkit

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"causeway.internal/libs/config"
	"causeway.internal/libs/passkey"
	"causeway.internal/libs/person"
	"causeway.internal/libs/tenant"
)

// IdentityHeader carries the caller's identity from the gateway, which strips any inbound one.
const IdentityHeader = "X-Causeway-Identity"

// MerchantHeader says to the gateway alone whose object an answer is about; the gateway passes no such header on.
const MerchantHeader = "X-Causeway-Merchant"

// How far from now an identity may have been issued, in both directions. One that binds its whole request lives for as
// long as an endpoint may take (handleMax): no caller waits for the answer of an older one.
const (
	identityLife = handleMax
	unboundLife  = 30 * time.Second
)

// Subject says what kind of caller an identity names.
type Subject string

// The subjects.
const (
	Merchant Subject = "merchant"
	Operator Subject = "operator"
	Public   Subject = "public"
)

// Identity is the gateway's signed statement about one request to one service (docs/architecture.md#identity). Bind
// ties it to that request.
type Identity struct {
	Subject     Subject     `json:"sub"`
	MerchantID  string      `json:"mer,omitempty"`
	KeyID       int64       `json:"key,omitempty"`
	Mode        tenant.Mode `json:"mod,omitempty"`
	Permissions []string    `json:"per,omitempty"`
	Networks    []string    `json:"net,omitempty"` // that the merchant may use, for wallets alone; empty: all
	Operator    string      `json:"opr,omitempty"` // name of the operator
	Door        person.Door `json:"dor,omitempty"` // of the console that the caller uses; "" for keys and tokens
	User        string      `json:"usr,omitempty"` // id of the person's account, with Door
	Person      string      `json:"psn,omitempty"` // the person's name, with Door
	Approver    *Approver   `json:"apr,omitempty"` // of a change through the operators' console
	Elsewhere   bool        `json:"els,omitempty"` // another shard makes the object, or has a part of the list; this one answers for what it has
	ClientIP    string      `json:"ip,omitempty"`
	RequestID   string      `json:"req"`
	Method      string      `json:"met"`
	Path        string      `json:"pth"` // with query, as sent to the service
	Audience    string      `json:"aud"`
	IssuedAt    int64       `json:"iat"` // unix milliseconds

	// The fields that a copy would need to change. Gateways of earlier releases send none of the three.
	BodyHash       []byte `json:"bod,omitempty"` // SHA-256 of the body
	IdempotencyKey string `json:"idk,omitempty"`
	Nonce          string `json:"non,omitempty"` // a service takes it once
}

// Approver says by what a service recognises the approval of an operator.
type Approver struct {
	Site passkey.Site  `json:"site"`
	Keys []passkey.Key `json:"keys"`
}

// Bind ties an identity to one request: its method, path with query, body and Idempotency-Key, and a nonce.
func (i Identity) Bind(r *http.Request, body []byte) Identity {
	sum := sha256.Sum256(body)
	i.Method, i.Path, i.BodyHash = r.Method, r.URL.RequestURI(), sum[:]
	i.IdempotencyKey, i.Nonce = r.Header.Get(IdempotencyHeader), rand.Text()
	return i
}

// bound reports whether an identity binds body and nonce.
func (i Identity) bound() bool { return i.Nonce != "" && len(i.BodyHash) == sha256.Size }

// Sign returns the header value: the identity and its HMAC-SHA256 under the audience's key.
func (i Identity) Sign(key []byte) (string, error) {
	payload, err := json.Marshal(i)
	if err != nil {
		return "", fmt.Errorf("encode identity: %w", err)
	}
	enc := base64.RawURLEncoding
	header := make([]byte, 0, enc.EncodedLen(len(payload))+1+enc.EncodedLen(sha256.Size))
	header = enc.AppendEncode(header, payload)
	sum := identityMAC(key, header)
	return string(enc.AppendEncode(append(header, '.'), sum)), nil
}

func identityMAC(key, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(body)
	return mac.Sum(nil)
}

// IdentitySettings are the settings of a service's verifier.
type IdentitySettings struct {
	Keys      config.Secret `env:"IDENTITY_KEYS,required" doc:"comma separated base64 keys of 32 bytes that verify the gateway's identity header"`
	BoundOnly bool          `env:"BOUND_IDENTITIES_ONLY" envDefault:"false" doc:"true refuses identities that bind no body and no nonce, as gateways of earlier releases sign them; turn it on once every gateway is new"`
}

// Verifier makes the verifier of a service.
func (s IdentitySettings) Verifier(audience string) (Verifier, error) {
	keys, err := ParseIdentityKeys(s.Keys.Reveal())
	if err != nil {
		return Verifier{}, fmt.Errorf("IDENTITY_KEYS: %w", err)
	}
	return Verifier{Audience: audience, Keys: keys, BoundOnly: s.BoundOnly, Now: time.Now}, nil
}

// Verifier checks identities for one service. Several keys verify, so that a key can be changed without a gap.
type Verifier struct {
	Audience  string
	Keys      [][]byte
	BoundOnly bool // refuse identities that bind no body and no nonce
	Now       func() time.Time
}

// The reasons why an identity is refused; callers learn only that it was.
var (
	errIdentityMissing = errors.New("identity header is missing")
	errIdentityForged  = errors.New("identity signature does not verify")
	errIdentityForeign = errors.New("identity is for another request, audience or time")
	errIdentityUnbound = errors.New("identity binds no body and no nonce")
	errIdentityBody    = errors.New("identity is for another body")
	errIdentityUsed    = errors.New("identity was used before")
)

// Verify returns the identity of a request, or the reason of its refusal. It does not read the body.
func (v Verifier) Verify(r *http.Request) (Identity, error) {
	values := r.Header.Values(IdentityHeader)
	if len(values) != 1 {
		return Identity{}, errIdentityMissing
	}
	body, sum, ok := bytes.Cut([]byte(values[0]), []byte{'.'})
	if !ok {
		return Identity{}, errIdentityForged
	}
	got, err := base64.RawURLEncoding.AppendDecode(nil, sum)
	if err != nil || !v.signed(body, got) {
		return Identity{}, errIdentityForged
	}
	payload, err := base64.RawURLEncoding.AppendDecode(nil, body)
	if err != nil {
		return Identity{}, errIdentityForged
	}
	var id Identity
	if err := json.Unmarshal(payload, &id); err != nil {
		return Identity{}, errIdentityForged
	}
	life := identityLife
	if !id.bound() {
		if v.BoundOnly {
			return Identity{}, errIdentityUnbound
		}
		life = unboundLife
	} else if id.IdempotencyKey != r.Header.Get(IdempotencyHeader) {
		return Identity{}, errIdentityForeign
	}
	age := v.Now().Sub(time.UnixMilli(id.IssuedAt))
	if id.Audience != v.Audience || id.Method != r.Method || id.Path != r.URL.RequestURI() || age > life || age < -life {
		return Identity{}, errIdentityForeign
	}
	return id, nil
}

func (v Verifier) signed(body, sum []byte) bool {
	for _, key := range v.Keys {
		if hmac.Equal(identityMAC(key, body), sum) {
			return true
		}
	}
	return false
}

// ParseIdentityKeys reads IDENTITY_KEYS: comma separated base64 keys of at least 32 bytes, the first of which signs.
func ParseIdentityKeys(text string) ([][]byte, error) {
	var keys [][]byte
	for part := range strings.SplitSeq(text, ",") {
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(part))
		if err != nil || len(key) < 32 {
			return nil, errors.New("identity keys: want comma separated base64 of at least 32 bytes each")
		}
		keys = append(keys, key)
	}
	return keys, nil
}
