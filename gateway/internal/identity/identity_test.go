package identity_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/tenant"
)

func TestParseOperators(t *testing.T) {
	sum := func(token string) string { s := sha256.Sum256([]byte(token)); return hex.EncodeToString(s[:]) }
	two, err := identity.ParseOperators("ann:" + sum("first") + ", bob:" + strings.ToUpper(sum("second")))
	if err != nil {
		t.Fatal(err)
	}
	r := identity.NewResolver(nil, two, nil, time.Now)
	operated := &route.Route{Access: route.Operated}
	for header, want := range map[string]string{
		"Bearer first": "ann", "Bearer second": "bob", "bearer  second ": "bob", "Bearer third": "", "Bearer ": "", "": "", "Basic first": "", "first": "",
		"Bearer " + sum("first"): "", // the hash is no token
	} {
		c, err := r.Resolve(t.Context(), operated, http.Header{"Authorization": {header}}, netip.Addr{})
		if c.Operator != want || (err == nil) != (want != "") || (err != nil && fault.As(err).Kind != fault.Unauthenticated) {
			t.Errorf("%q is %q (%v), want %q", header, c.Operator, err, want)
		}
	}
	nobody, err := identity.ParseOperators(" ")
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"", "x"} {
		if _, err := identity.NewResolver(nil, nobody, nil, time.Now).Resolve(t.Context(), operated, http.Header{"Authorization": {"Bearer " + token}}, netip.Addr{}); err == nil {
			t.Errorf("%q is an operator although there is none", token)
		}
	}
	for _, bad := range []string{"ann", ":" + sum("x"), "ann:zz", "ann:" + sum("x")[:62], "ann:" + sum("x") + ",ann:" + sum("y"), ","} {
		if _, err := identity.ParseOperators(bad); err == nil || strings.Contains(err.Error(), sum("x")) {
			t.Errorf("parse the operators %q: got %v, want an error without the sum", bad, err)
		}
	}
}

func TestParsePrefix(t *testing.T) {
	for text, want := range map[string]string{
		"203.0.113.7": "203.0.113.7/32", "203.0.113.7/24": "203.0.113.0/24", "2001:db8::1": "2001:db8::1/128", "::ffff:203.0.113.7": "203.0.113.7/32",
		"": "", "203.0.113.7/33": "", "example.com": "", "fe80::1%eth0": "", "203.0.113": "",
	} {
		got, err := identity.ParsePrefix(text)
		if (err == nil) != (want != "") || (want != "" && got.String() != want) {
			t.Errorf("%q is %s (%v), want %q", text, got, err, want)
		}
	}
	if _, err := identity.ParseProxies("10.0.0.0/8,nonsense"); err == nil {
		t.Error("a nonsense proxy is taken")
	}
}

// A public route that knows keys resolves the merchant of a good one. It treats the holder of a bad one as the public
// and refuses no request.
func TestResolve_knows(t *testing.T) {
	now := time.UnixMilli(1775000000000)
	public := credential.Generate(credential.Public, tenant.Test)
	key := apikey.Key{ID: 7, MerchantID: "acme", PublicKey: public, Mode: tenant.Test, Signing: apikey.SigningKey(signedSecret)}.Compiled()
	revoked := key
	revoked.RevokedAt = now.Add(-time.Hour)
	ip := netip.MustParseAddr("203.0.113.7")
	const stamp, target = "1775000000000", "/v1/reports/lookup?phoneNumber=1"
	u, err := url.ParseRequestURI(target)
	if err != nil {
		t.Fatal(err)
	}
	signature := sign(signedSecret, stamp+"|GET|"+target+"|"+hashed(""))
	rt := &route.Route{Access: route.Open, Knows: true}
	for name, tc := range map[string]struct {
		keys identity.Keys
		sent http.Header
		want string
	}{
		"nothing":         {nil, http.Header{}, ""},
		"nonsense":        {nil, http.Header{"Authorization": {"Bearer nonsense"}}, ""},
		"two":             {nil, http.Header{"Authorization": {"Bearer x", "Bearer y"}}, ""},
		"a good one":      {bearer{key}, http.Header{"Authorization": {"Bearer " + signedSecret}}, "acme"},
		"a revoked one":   {bearer{revoked}, http.Header{"X-Api-Key": {signedSecret}}, ""},
		"an unknown one":  {oneKey{key}, http.Header{"X-Api-Key": {signedSecret}}, ""},
		"a signed one":    {oneKey{key}, http.Header{"X-Api-Key": {public}, "X-Timestamp": {stamp}, "X-Signature": {signature}}, "acme"},
		"a forged one":    {oneKey{key}, http.Header{"X-Api-Key": {public}, "X-Timestamp": {stamp}, "X-Signature": {hashed("x")}}, ""},
		"one not signed":  {oneKey{key}, http.Header{"X-Api-Key": {public}}, ""},
		"a revoked signs": {oneKey{revoked}, http.Header{"X-Api-Key": {public}, "X-Timestamp": {stamp}, "X-Signature": {signature}}, ""},
	} {
		r := identity.NewResolver(tc.keys, nil, nil, func() time.Time { return now })
		c, err := r.Resolve(t.Context(), rt, tc.sent, ip)
		if err == nil && c.Signature != nil {
			err = r.Prove(&c, rt, &http.Request{Method: http.MethodGet, URL: u}, nil)
		}
		got := ""
		if c.Key != nil {
			got = c.Key.MerchantID
		}
		if err != nil || got != tc.want || (got == "") != (c.Subject == httpkit.Public) || c.IP != ip {
			t.Errorf("%s: %q (%s), %v, want %q", name, got, c.Subject, err, tc.want)
		}
	}
}

// A public route that knows keys answers with the fault when it cannot check one, instead of treating its merchant as
// the public.
func TestResolve_knowsOutage(t *testing.T) {
	rt := &route.Route{Access: route.Open, Knows: true}
	h := http.Header{"X-Api-Key": {signedSecret}}
	for _, refusal := range []*fault.Error{
		fault.New(fault.Unavailable, "keys_unavailable", "Not now."), fault.New(fault.RateLimited, "too_many_guesses", "Too many."),
		fault.New(fault.Internal, "internal", "A defect."),
	} {
		r := identity.NewResolver(failing{refusal}, nil, nil, time.Now)
		if _, err := r.Resolve(t.Context(), rt, h, netip.Addr{}); fault.As(err).Code != refusal.Code {
			t.Errorf("resolve when the look-up says %s: got %v, want that code", refusal.Code, err)
		}
	}
}

// failing finds no key because of a fault that is not the key's.
type failing struct{ err error }

func (f failing) Find(context.Context, string, netip.Addr) (*apikey.Key, error) { return nil, f.err }

func (f failing) FindPublic(context.Context, string, netip.Addr) (*apikey.Key, error) {
	return nil, f.err
}

// bearer knows one key, by its secret.
type bearer struct{ key apikey.Key }

func (b bearer) Find(context.Context, string, netip.Addr) (*apikey.Key, error) { return &b.key, nil }

func (b bearer) FindPublic(context.Context, string, netip.Addr) (*apikey.Key, error) {
	return nil, apikey.ErrInvalid
}

// A public route answers the same with any credential, and looks none up.
func TestResolve_openLooksAtNothing(t *testing.T) {
	r := identity.NewResolver(nil, nil, nil, time.Now) // a look-up would panic
	h := http.Header{"Authorization": {"Bearer x", "Bearer y"}, "X-Api-Key": {credential.Generate(credential.Secret, "live")}}
	if c, err := r.Resolve(t.Context(), &route.Route{Access: route.Open}, h, netip.Addr{}); err != nil || c.Key != nil {
		t.Errorf("resolve a key on an open route: got %+v, %v, want nobody", c, err)
	}
}
