// Package passkey runs the ceremonies of WebAuthn: it registers passkeys and verifies sign-ins. It keeps no state; the
// session keeps the state of a ceremony between its two requests.
package passkey

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"causeway.internal/services/console/internal/people"
)

// Keys runs the ceremonies of one origin.
type Keys struct{ web *webauthn.WebAuthn }

// New makes the ceremonies for the origin of a console, such as https://pay.example.
func New(origin *url.URL) (*Keys, error) {
	web, err := webauthn.New(&webauthn.Config{
		RPID: origin.Hostname(), RPDisplayName: "Causeway", RPOrigins: []string{origin.Scheme + "://" + origin.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("passkeys: %w", err)
	}
	return &Keys{web}, nil
}

// user is a person as the library wants it.
type user struct {
	people.Person
	credentials []webauthn.Credential
}

func (u user) WebAuthnID() []byte                         { return u.Handle }
func (u user) WebAuthnName() string                       { return u.Login }
func (u user) WebAuthnDisplayName() string                { return u.Called() }
func (u user) WebAuthnCredentials() []webauthn.Credential { return u.credentials }

func known(of people.Person, credentials [][]byte) (user, error) {
	u := user{Person: of}
	for _, raw := range credentials {
		var c webauthn.Credential
		if err := json.Unmarshal(raw, &c); err != nil {
			return u, fmt.Errorf("read a passkey: %w", err)
		}
		u.credentials = append(u.credentials, c)
	}
	return u, nil
}

// Ceremony is the first half of a ceremony: options for the browser, and the state for the second half.
type Ceremony struct{ Options, State []byte }

func begun(options, state any, err error) (Ceremony, error) {
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin a ceremony: %w", err)
	}
	var c Ceremony
	if c.Options, err = json.Marshal(options); err == nil {
		c.State, err = json.Marshal(state)
	}
	return c, err
}

// Register begins the registration of a passkey for a person who has these credentials.
func (k *Keys) Register(of people.Person, credentials [][]byte) (Ceremony, error) {
	u, err := known(of, credentials)
	if err != nil {
		return Ceremony{}, err
	}
	options, state, err := k.web.BeginRegistration(u, webauthn.WithExclusions(webauthn.Credentials(u.credentials).CredentialDescriptors()))
	return begun(options, state, err)
}

// ErrRefused is the answer for a response of a browser that does not fit its ceremony.
var ErrRefused = errors.New("the passkey is refused")

func refused(err error) error { return fmt.Errorf("%w: %w", ErrRefused, err) }

// Registered ends a registration: it returns the new credential and its id.
func (k *Keys) Registered(of people.Person, state, response []byte) (credentialID, credential []byte, err error) {
	session, err := readState(state)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return nil, nil, refused(err)
	}
	c, err := k.web.CreateCredential(user{Person: of}, session, parsed)
	if err != nil {
		return nil, nil, refused(err)
	}
	c.Attestation = webauthn.CredentialAttestation{} // none was asked for
	raw, err := json.Marshal(c)
	return c.ID, raw, err
}

// Public is the public key of a stored credential, as its authenticator gave it.
func Public(credential []byte) ([]byte, error) {
	var c webauthn.Credential
	if err := json.Unmarshal(credential, &c); err != nil {
		return nil, fmt.Errorf("read a passkey: %w", err)
	}
	return c.PublicKey, nil
}

// SignIn begins a sign-in with any passkey that the browser has.
func (k *Keys) SignIn() (Ceremony, error) {
	options, state, err := k.web.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	return begun(options, state, err)
}

// SignedIn ends a sign-in: it returns the person whom the passkey names, and the credential after its use. find returns
// the person behind a handle with its credentials.
func (k *Keys) SignedIn(state, response []byte, find func(handle []byte) (people.Person, [][]byte, error)) (who people.Person, credentialID, credential []byte, err error) {
	session, err := readState(state)
	if err != nil {
		return people.Person{}, nil, nil, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return people.Person{}, nil, nil, refused(err)
	}
	_, c, err := k.web.ValidatePasskeyLogin(func(_, handle []byte) (webauthn.User, error) {
		person, credentials, err := find(handle)
		if err != nil {
			return nil, err
		}
		who = person
		return known(person, credentials)
	}, session, parsed)
	if err != nil {
		return people.Person{}, nil, nil, refused(err)
	}
	if c.Authenticator.CloneWarning {
		return people.Person{}, nil, nil, refused(errors.New("its counter went back: the passkey may be a copy"))
	}
	raw, err := json.Marshal(c)
	return who, c.ID, raw, err
}

func readState(state []byte) (webauthn.SessionData, error) {
	var session webauthn.SessionData
	if err := json.Unmarshal(state, &session); err != nil {
		return session, fmt.Errorf("read the state of a ceremony: %w", err)
	}
	return session, nil
}
