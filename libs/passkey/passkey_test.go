package passkey_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/passkey"
	"causeway.internal/libs/testkit/authenticator"
)

var site = passkey.Site{RPID: "ops.example.com", Origin: "https://ops.example.com"}

// An approval is one change's: of one operator, with one of the operator's passkeys, at the operators' site, now, by a
// person whom the authenticator has verified.
func TestVerify(t *testing.T) {
	now := time.UnixMilli(1775000000000)
	change := passkey.Change{Operator: "ada.obi", Method: "POST", Path: "/v1/admin/payouts/po_1/ask", Body: []byte(`{"a":1}`), IdempotencyKey: "k", At: now}
	a, other := authenticator.New(t, site), authenticator.New(t, site)
	keys := []passkey.Key{other.Key(t), a.Key(t)}
	given, err := passkey.Parse(a.Approve(t, change).Header())
	if err != nil {
		t.Fatal(err)
	}
	if err := given.Verify(change, site, keys, now.Add(passkey.Life)); err != nil {
		t.Fatalf("verify an approval: %v", err)
	}
	for name, alter := range map[string]func(*passkey.Change){
		"operator": func(c *passkey.Change) { c.Operator = "ben.ade" }, "method": func(c *passkey.Change) { c.Method = "PATCH" },
		"path": func(c *passkey.Change) { c.Path += "?x=1" }, "body": func(c *passkey.Change) { c.Body = []byte(`{"a":2}`) },
		"key": func(c *passkey.Change) { c.IdempotencyKey = "l" },
	} {
		of := change
		if alter(&of); given.Verify(of, site, keys, now) == nil {
			t.Errorf("an approval of another %s passes", name)
		}
	}
	for _, off := range []time.Duration{passkey.Life + 1, -passkey.Life - 1} {
		if given.Verify(change, site, keys, now.Add(off)) == nil {
			t.Errorf("an approval passes %s from its time", off)
		}
	}
	moved := given
	if moved.At++; moved.Verify(change, site, keys, now) == nil {
		t.Error("an approval with another time passes")
	}
	if given.Verify(change, site, keys[:1], now) == nil {
		t.Error("an approval by a passkey that is not the operator's passes")
	}
	swapped := []passkey.Key{{ID: a.ID, Public: other.Key(t).Public}}
	if given.Verify(change, site, swapped, now) == nil {
		t.Error("an approval with the key of another passkey passes")
	}
	phished := authenticator.New(t, passkey.Site{RPID: site.RPID, Origin: "https://evil.example.com"})
	if phished.Approve(t, change).Verify(change, site, []passkey.Key{phished.Key(t)}, now) == nil {
		t.Error("an approval at another origin passes")
	}
	elsewhere := authenticator.New(t, passkey.Site{RPID: "example.com", Origin: site.Origin})
	if elsewhere.Approve(t, change).Verify(change, site, []passkey.Key{elsewhere.Key(t)}, now) == nil {
		t.Error("an approval for another site passes")
	}
	present := authenticator.New(t, site)
	present.Flag = 0x01
	if present.Approve(t, change).Verify(change, site, []passkey.Key{present.Key(t)}, now) == nil {
		t.Error("an approval by a person who is not verified passes")
	}
	for name, bad := range map[string]passkey.Approval{
		"nothing":        {},
		"no signature":   {At: given.At, CredentialID: given.CredentialID, AuthenticatorData: given.AuthenticatorData, ClientDataJSON: given.ClientDataJSON},
		"no client data": {At: given.At, CredentialID: given.CredentialID, AuthenticatorData: given.AuthenticatorData, Signature: given.Signature},
		"a wrong sum": {
			At: given.At, CredentialID: given.CredentialID, AuthenticatorData: given.AuthenticatorData, ClientDataJSON: given.ClientDataJSON,
			Signature: base64.RawURLEncoding.EncodeToString([]byte("no signature")),
		},
	} {
		if bad.Verify(change, site, keys, now) == nil {
			t.Errorf("an approval with %s passes", name)
		}
	}
	for _, header := range []string{"", "x", "e30=", strings.Repeat("e", 9<<10)} {
		if a, err := passkey.Parse(header); err == nil {
			t.Errorf("read %.20q: got %+v, want an error", header, a)
		}
	}
}

func TestCheck(t *testing.T) {
	good := authenticator.New(t, site).Key(t)
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, k := range map[string]passkey.Key{
		"no id": {Public: good.Public}, "no key": {ID: good.ID}, "a long id": {ID: make([]byte, 1024), Public: good.Public},
		"nonsense": {ID: good.ID, Public: []byte("nonsense")}, "a cut key": {ID: good.ID, Public: good.Public[:20]},
	} {
		if k.Check() == nil {
			t.Errorf("a key with %s passes", name)
		}
	}
}

func TestSiteOf(t *testing.T) {
	for public, want := range map[string]passkey.Site{
		"https://ops.example.com": site, "https://ops.example.com/": site, "http://localhost:8080": {RPID: "localhost", Origin: "http://localhost:8080"},
		"": {}, "ops.example.com": {}, "ftp://x": {}, "https://": {},
	} {
		if got, err := passkey.SiteOf(public); got != want || (err == nil) != (want != passkey.Site{}) {
			t.Errorf("the site of %q: got %+v, %v, want %+v", public, got, err, want)
		}
	}
}
