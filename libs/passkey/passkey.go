// Package passkey holds the approvals of operators: a WebAuthn assertion over one change that an operator makes through
// the operators' console. The service that acts verifies it, so that a console whose machine is taken over changes
// nothing by itself (docs/operators.md#passkeys).
package passkey

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
)

// Header carries an approval from the console to the service.
const Header = "X-Causeway-Approval"

// Life is how far from now an approval may have been given, in both directions.
const Life = 5 * time.Minute

// Bounds of a passkey. An RSA key of 4096 bits fits.
const (
	idMax     = 1023 // WebAuthn's own
	publicMax = 1024
	headerMax = 8 << 10
)

// Key is the public half of a passkey, as its authenticator gave it (COSE).
type Key struct {
	ID     []byte `json:"id"`
	Public []byte `json:"pub"`
}

// Check reports why a key is none that an approval can be verified with.
func (k Key) Check() error {
	if len(k.ID) == 0 || len(k.ID) > idMax {
		return errors.New("the credential id is missing or too long")
	}
	if len(k.Public) > publicMax {
		return errors.New("the public key is too long")
	}
	if _, err := webauthncose.ParsePublicKey(k.Public); err != nil {
		return errors.New("the public key is not a COSE key of a supported algorithm")
	}
	return nil
}

// Site is where operators use their passkeys.
type Site struct {
	RPID   string `json:"rp"`
	Origin string `json:"org"`
}

// SiteOf is the site of a public URL.
func SiteOf(public string) (Site, error) {
	u, err := url.Parse(public)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" {
		return Site{}, fmt.Errorf("%q is not the URL of a site", public)
	}
	return Site{RPID: u.Hostname(), Origin: u.Scheme + "://" + u.Host}, nil
}

// Change is the change that an operator approves: one request, and the time at which the operator was asked.
type Change struct {
	Operator       string
	Method, Path   string // with query
	Body           []byte
	IdempotencyKey string
	At             time.Time // to the millisecond
}

// Challenge is what the operator's authenticator signs.
func (c Change) Challenge() []byte {
	body := sha256.Sum256(c.Body)
	sum := sha256.Sum256([]byte("causeway-approval-v1\n" + c.Operator + "\n" + c.Method + "\n" + c.Path + "\n" + hex.EncodeToString(body[:]) + "\n" +
		c.IdempotencyKey + "\n" + strconv.FormatInt(c.At.UnixMilli(), 10)))
	return sum[:]
}

// Approval is the assertion of an operator's authenticator over a change. Its texts are base64url, as browsers and
// their JSON have them.
type Approval struct {
	At                int64  `json:"at"` // unix milliseconds, of the change
	CredentialID      string `json:"credentialId"`
	AuthenticatorData string `json:"authenticatorData"`
	ClientDataJSON    string `json:"clientDataJSON"`
	Signature         string `json:"signature"`
}

// Header is the value of the header.
func (a Approval) Header() string {
	text, _ := json.Marshal(a) // texts and a number always encode
	return base64.RawURLEncoding.EncodeToString(text)
}

// Parse reads the value of the header.
func Parse(header string) (a Approval, err error) {
	if len(header) > headerMax {
		return a, errors.New("the approval is too long")
	}
	text, err := base64.RawURLEncoding.DecodeString(header)
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return Approval{}, errors.New("the approval is not the base64url of its JSON")
	}
	return a, nil
}

// Verify reports why an approval is not one of a change, at a site, with one of the keys, now. The authenticator must
// have verified the person. c.At is that of the approval. A caller that acts must also take the challenge only once.
func (a Approval) Verify(c Change, at Site, keys []Key, now time.Time) error {
	c.At = time.UnixMilli(a.At)
	if age := now.Sub(c.At); age > Life || age < -Life {
		return errors.New("the approval is from another time")
	}
	var raw [4][]byte
	for i, text := range []string{a.CredentialID, a.AuthenticatorData, a.ClientDataJSON, a.Signature} {
		var err error
		if raw[i], err = base64.RawURLEncoding.DecodeString(text); err != nil {
			return errors.New("the approval is not base64url")
		}
	}
	for _, k := range keys {
		if string(k.ID) == string(raw[0]) {
			return verify(raw, c, at, k)
		}
	}
	return errors.New("the approval is by another passkey than the operator's")
}

func verify(raw [4][]byte, c Change, at Site, k Key) error {
	response := protocol.CredentialAssertionResponse{
		PublicKeyCredential: protocol.PublicKeyCredential{
			Credential: protocol.Credential{ID: base64.RawURLEncoding.EncodeToString(raw[0]), Type: string(protocol.PublicKeyCredentialType)},
			RawID:      raw[0],
		},
		AssertionResponse: protocol.AuthenticatorAssertionResponse{
			AuthenticatorResponse: protocol.AuthenticatorResponse{ClientDataJSON: raw[2]}, AuthenticatorData: raw[1], Signature: raw[3],
		},
	}
	parsed, err := response.Parse()
	if err != nil {
		return fmt.Errorf("read the approval: %w", err)
	}
	challenge := base64.RawURLEncoding.EncodeToString(c.Challenge())
	if err := parsed.Verify(challenge, at.RPID, "", []string{at.Origin}, nil, nil, protocol.TopOriginExplicitVerificationMode,
		false, true, true, k.Public, protocol.SignaturePolicy{}); err != nil {
		return fmt.Errorf("verify the approval: %w", err)
	}
	return nil
}
