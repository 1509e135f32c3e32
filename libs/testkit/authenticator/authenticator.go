// Package authenticator plays a passkey in tests that need no browser.
package authenticator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"causeway.internal/libs/passkey"
)

// Authenticator holds one passkey.
type Authenticator struct {
	ID   []byte
	Site passkey.Site // where its browser believes to be
	Flag byte         // of the authenticator's data; New sets that the person is present and verified

	key *ecdsa.PrivateKey
}

const presentAndVerified = 0x05

// New makes an authenticator with a fresh passkey.
func New(t testing.TB, at passkey.Site) *Authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &Authenticator{ID: []byte(rand.Text()), Site: at, Flag: presentAndVerified, key: key}
}

// Key is the public half.
func (a *Authenticator) Key(t testing.TB) passkey.Key {
	t.Helper()
	point, err := a.key.PublicKey.Bytes() // 4, X and Y
	if err != nil {
		t.Fatal(err)
	}
	public, err := cbor.Marshal(map[int]any{1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]})
	if err != nil {
		t.Fatal(err)
	}
	return passkey.Key{ID: a.ID, Public: public}
}

// Approve approves a change.
func (a *Authenticator) Approve(t testing.TB, c passkey.Change) passkey.Approval {
	t.Helper()
	data, client, signature := a.assert(t, enc.EncodeToString(c.Challenge()))
	return passkey.Approval{
		At: c.At.UnixMilli(), CredentialID: enc.EncodeToString(a.ID), AuthenticatorData: enc.EncodeToString(data),
		ClientDataJSON: enc.EncodeToString(client), Signature: enc.EncodeToString(signature),
	}
}

// SignIn answers the challenge of a sign-in for the person with a handle, as a browser's script sends it.
func (a *Authenticator) SignIn(t testing.TB, challenge string, handle []byte) []byte {
	t.Helper()
	data, client, signature := a.assert(t, challenge)
	answer, err := json.Marshal(map[string]any{
		"id": enc.EncodeToString(a.ID), "rawId": enc.EncodeToString(a.ID), "type": "public-key", "response": map[string]string{
			"clientDataJSON": enc.EncodeToString(client), "authenticatorData": enc.EncodeToString(data),
			"signature": enc.EncodeToString(signature), "userHandle": enc.EncodeToString(handle),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

var enc = base64.RawURLEncoding

// assert signs a challenge, which is base64url.
func (a *Authenticator) assert(t testing.TB, challenge string) (data, client, signature []byte) {
	t.Helper()
	client, err := json.Marshal(map[string]any{
		"type": "webauthn.get", "challenge": challenge, "origin": a.Site.Origin, "crossOrigin": false,
	})
	if err != nil {
		t.Fatal(err)
	}
	site, clientHash := sha256.Sum256([]byte(a.Site.RPID)), sha256.Sum256(client)
	data = append(slices.Clone(site[:]), a.Flag, 0, 0, 0, 1)
	sum := sha256.Sum256(append(slices.Clone(data), clientHash[:]...))
	signature, err = ecdsa.SignASN1(rand.Reader, a.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return data, client, signature
}
