package httpkit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"causeway.internal/libs/wire"
)

// IdentityHeader carries who the gateway says is calling. The gateway strips any inbound one.
const IdentityHeader = "X-Causeway-Identity"

// identitySkew bounds how old, or how far ahead, an identity may be.
const identitySkew = 30 * time.Second

// Subject says what kind of caller an identity names.
type Subject string

// The subjects.
const (
	Merchant Subject = "merchant"
	Operator Subject = "operator"
	Public   Subject = "public"
)

// Identity is the gateway's signed statement about one request to one service (design.md §2). It is bound to the
// method, the path with its query, and the audience, so that it serves no other request.
type Identity struct {
	Subject     Subject   `json:"sub"`
	MerchantID  string    `json:"mer,omitempty"`
	KeyID       int64     `json:"key,omitempty"`
	Mode        wire.Mode `json:"mod,omitempty"`
	Permissions []string  `json:"per,omitempty"`
	Operator    string    `json:"opr,omitempty"` // name of the operator token
	ClientIP    string    `json:"ip,omitempty"`
	RequestID   string    `json:"req"`
	Method      string    `json:"met"`
	Path        string    `json:"pth"` // with query, as sent to the service
	Audience    string    `json:"aud"`
	IssuedAt    int64     `json:"iat"` // unix milliseconds
}

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

// Verifier checks identities for one service. Several keys verify, so that a key can be changed without a gap.
type Verifier struct {
	Audience string
	Keys     [][]byte
	Now      func() time.Time
}

// Reasons an identity is refused; callers learn only that it was.
var (
	errIdentityMissing = errors.New("identity header is missing")
	errIdentityForged  = errors.New("identity signature does not verify")
	errIdentityForeign = errors.New("identity is for another request, audience or time")
)

// Verify returns the identity of a request, or the reason why it has none.
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
	age := v.Now().Sub(time.UnixMilli(id.IssuedAt))
	if id.Audience != v.Audience || id.Method != r.Method || id.Path != r.URL.RequestURI() || age > identitySkew || age < -identitySkew {
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
