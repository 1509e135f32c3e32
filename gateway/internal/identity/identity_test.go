package identity_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
)

func TestParseOperators(t *testing.T) {
	sum := func(token string) string { s := sha256.Sum256([]byte(token)); return hex.EncodeToString(s[:]) }
	two, err := identity.ParseOperators("ann:" + sum("first") + ", bob:" + strings.ToUpper(sum("second")))
	if err != nil {
		t.Fatal(err)
	}
	r := identity.NewResolver(nil, two, time.Now)
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
		if _, err := identity.NewResolver(nil, nobody, time.Now).Resolve(t.Context(), operated, http.Header{"Authorization": {"Bearer " + token}}, netip.Addr{}); err == nil {
			t.Errorf("%q is an operator although there is none", token)
		}
	}
	for _, bad := range []string{"ann", ":" + sum("x"), "ann:zz", "ann:" + sum("x")[:62], "ann:" + sum("x") + ",ann:" + sum("y"), ","} {
		if _, err := identity.ParseOperators(bad); err == nil || strings.Contains(err.Error(), sum("x")) {
			t.Errorf("%q: %v", bad, err)
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

// A public route answers the same whatever credential comes along, and asks nobody about it.
func TestResolve_openLooksAtNothing(t *testing.T) {
	r := identity.NewResolver(nil, nil, time.Now) // a look-up would panic
	h := http.Header{"Authorization": {"Bearer x", "Bearer y"}, "X-Api-Key": {apikey.Generate(apikey.Secret, "live")}}
	if c, err := r.Resolve(t.Context(), &route.Route{Access: route.Open}, h, netip.Addr{}); err != nil || c.Key != nil {
		t.Errorf("%+v %v", c, err)
	}
}
