// Package authenticator plays an operator's passkey in tests that need no browser.
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
	enc := base64.RawURLEncoding
	client, err := json.Marshal(map[string]any{
		"type": "webauthn.get", "challenge": enc.EncodeToString(c.Challenge()), "origin": a.Site.Origin, "crossOrigin": false,
	})
	if err != nil {
		t.Fatal(err)
	}
	site, clientHash := sha256.Sum256([]byte(a.Site.RPID)), sha256.Sum256(client)
	data := append(slices.Clone(site[:]), a.Flag, 0, 0, 0, 1)
	sum := sha256.Sum256(append(slices.Clone(data), clientHash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return passkey.Approval{
		At: c.At.UnixMilli(), CredentialID: enc.EncodeToString(a.ID), AuthenticatorData: enc.EncodeToString(data),
		ClientDataJSON: enc.EncodeToString(client), Signature: enc.EncodeToString(signature),
	}
}
