package proxy_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/person"
	"causeway.internal/libs/tenant"
)

var (
	merchantDoor = ed25519.NewKeyFromSeed([]byte(strings.Repeat("m", ed25519.SeedSize)))
	operatorDoor = ed25519.NewKeyFromSeed([]byte(strings.Repeat("o", ed25519.SeedSize)))
)

// consoleKeys has a console key for every merchant.
type consoleKeys struct{}

func (consoleKeys) Find(_ context.Context, merchantID string, mode tenant.Mode, _ netip.Addr) (*apikey.Key, error) {
	k := apikey.Key{ID: 70, MerchantID: merchantID, Mode: mode, Kind: apikey.KindConsole, Permissions: []string{"*"}}.Compiled()
	return &k, nil
}

// people lets people call through both consoles.
func people(t *testing.T) option {
	t.Helper()
	sum := sha256.Sum256([]byte(operatorKey))
	operators, err := identity.ParseOperators("ops:" + hex.EncodeToString(sum[:]))
	if err != nil {
		t.Fatal(err)
	}
	v, err := person.NewVerifier(person.Public(person.Merchant, merchantDoor) + "," + person.Public(person.Operator, operatorDoor))
	if err != nil {
		t.Fatal(err)
	}
	return func(o *proxy.Options) {
		o.Callers = identity.NewResolver(ring(), operators, nil, time.Now).Admitting(v, consoleKeys{})
	}
}

var ann = person.Assertion{
	Door: person.Merchant, User: "usr_ann", Name: "ann@shop.example", MerchantID: "acme", Mode: tenant.Test,
	Permissions: []string{"payment:create", "payment:read", "key:manage"}, ClientIP: "198.51.100.9",
}

var ada = person.Assertion{Door: person.Operator, User: "usr_ada", Name: "ada.obi", ClientIP: "198.51.100.8"}

// as makes the assertion of a request, such as "GET /v1/me".
func as(t *testing.T, who person.Assertion, key ed25519.PrivateKey, request, body string, at time.Time) string {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, "http://gateway"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := who.Bind(r, []byte(body), at).Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A person of a merchant reaches a service under the merchant's console key, with the person's own permissions, and is
// named to the service.
func TestProxy_person(t *testing.T) {
	w := start(t, http.HandlerFunc(echo), people(t))
	const path, body = "/v1/payments", `{"a": 1}`
	e := w.do(t, "POST", path, as(t, ann, merchantDoor, "POST "+path, body, time.Now()), body).echoed(t)
	who := e.Identity
	if who.Subject != httpkit.Merchant || who.MerchantID != "acme" || who.Mode != tenant.Test || who.KeyID != 70 || who.Door != person.Merchant ||
		who.Person != ann.Name || who.User != ann.User || who.ClientIP != ann.ClientIP || strings.Join(who.Permissions, " ") != "payment:create payment:read key:manage" {
		t.Errorf("the service saw %+v", who)
	}
	if _, there := e.Headers["Authorization"]; there {
		t.Error("the assertion reached the service")
	}
	get := "/v1/payments/CW-X"
	if e := w.do(t, "GET", get, as(t, ann, merchantDoor, "GET "+get, "", time.Now()), "").echoed(t); e.Identity.Person != ann.Name {
		t.Errorf("the service saw %+v", e.Identity)
	}
	ops := w.do(t, "GET", "/v1/admin/payouts", as(t, ada, operatorDoor, "GET /v1/admin/payouts", "", time.Now()), "").echoed(t).Identity
	if ops.Subject != httpkit.Operator || ops.Operator != "ada.obi" || ops.Door != person.Operator || ops.KeyID != 0 || ops.ClientIP != ada.ClientIP {
		t.Errorf("the service saw the operator %+v", ops)
	}
	if old := w.do(t, "GET", "/v1/admin/payouts", operatorKey, "").echoed(t).Identity; old.Operator != "ops" || old.Door != "" {
		t.Errorf("the service saw the operator of a token as %+v", old)
	}
}

// An assertion is refused unless it is fresh, from its door's key, at that door's routes, and for this very request,
// once. A merchants' console whose key is stolen names no operator.
func TestProxy_personRefused(t *testing.T) {
	w := start(t, http.HandlerFunc(echo), people(t))
	const path, body = "/v1/payments", `{"a": 1}`
	now := time.Now()
	stranger := ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", ed25519.SeedSize)))
	named := func(change func(*person.Assertion)) person.Assertion { a := ann; change(&a); return a }
	used := as(t, ann, merchantDoor, "POST "+path, body, now)
	w.do(t, "POST", path, used, body).echoed(t)
	odd := ada
	odd.Name = "Ada.Obi"
	for name, tc := range map[string]struct {
		method, path, body, text, code string
	}{
		"again":                            {"POST", path, body, used, "assertion_invalid"},
		"forged":                           {"POST", path, body, as(t, ann, stranger, "POST "+path, body, now), "assertion_invalid"},
		"by the operators' key":            {"POST", path, body, as(t, ann, operatorDoor, "POST "+path, body, now), "assertion_invalid"},
		"another body":                     {"POST", path, `{"a": 2}`, as(t, ann, merchantDoor, "POST "+path, body, now), "assertion_invalid"},
		"another path":                     {"POST", path + "/CW-X/cancel", body, as(t, ann, merchantDoor, "POST "+path, body, now), "assertion_invalid"},
		"another query":                    {"GET", path + "?limit=2", "", as(t, ann, merchantDoor, "GET "+path+"?limit=1", "", now), "assertion_invalid"},
		"another method":                   {"GET", path, "", as(t, ann, merchantDoor, "POST "+path, "", now), "assertion_invalid"},
		"old":                              {"POST", path, body, as(t, ann, merchantDoor, "POST "+path, body, now.Add(-11*time.Second)), "assertion_invalid"},
		"ahead":                            {"POST", path, body, as(t, ann, merchantDoor, "POST "+path, body, now.Add(20*time.Second)), "assertion_invalid"},
		"a merchant at operators' routes":  {"GET", "/v1/admin/payouts", "", as(t, ann, merchantDoor, "GET /v1/admin/payouts", "", now), "assertion_invalid"},
		"an operator at merchants' routes": {"GET", path, "", as(t, ada, operatorDoor, "GET "+path, "", now), "assertion_invalid"},
		"an operator by the merchants' key": {
			"GET", "/v1/admin/payouts", "", as(t, ada, merchantDoor, "GET /v1/admin/payouts", "", now), "assertion_invalid",
		},
		"an operator in capitals": {"GET", "/v1/admin/payouts", "", as(t, odd, operatorDoor, "GET /v1/admin/payouts", "", now), "assertion_invalid"},
		"nonsense":                {"GET", path, "", "cwp_nonsense.x", "assertion_invalid"},
	} {
		a := w.do(t, tc.method, tc.path, tc.text, tc.body)
		if a.StatusCode != http.StatusUnauthorized || !strings.Contains(string(a.body), tc.code) {
			t.Errorf("%s: got %d %s, want 401 %s", name, a.StatusCode, a.body, tc.code)
		}
	}
	reader := named(func(a *person.Assertion) { a.Permissions = []string{"payment:read", "*", "payment:*"} })
	w.do(t, "POST", path, as(t, reader, merchantDoor, "POST "+path, body, now), body).refused(t, http.StatusForbidden, "permission_missing")
	live := named(func(a *person.Assertion) { a.Mode = tenant.Live })
	const sandbox = "/v1/sandbox/payments/CW-X/expire"
	w.do(t, "POST", sandbox, as(t, live, merchantDoor, "POST "+sandbox, "", now), "").refused(t, http.StatusNotFound, "route_not_found")

	bound := as(t, ann, merchantDoor, "POST "+path, body, now)
	w.do(t, "POST", path, bound, body, "Idempotency-Key", "another").refused(t, http.StatusUnauthorized, "assertion_invalid")

	for _, rt := range route.Table() {
		if rt.Access != route.Operated {
			continue
		}
		path := strings.NewReplacer("{", "", "}", "").Replace(rt.Pattern)
		for _, who := range []person.Assertion{ann, ada} {
			w.do(t, rt.Method, path, as(t, who, merchantDoor, rt.Method+" "+path, "", time.Now()), "").refused(t, http.StatusUnauthorized, "assertion_invalid")
		}
	}

	closed := start(t, http.HandlerFunc(echo))
	closed.do(t, "POST", path, as(t, ann, merchantDoor, "POST "+path, body, now), body).refused(t, http.StatusUnauthorized, "assertion_invalid")
}

// parties remembers the parties of calls.
type parties struct {
	mu   sync.Mutex
	seen map[proxy.Party]int
}

func (p *parties) Admit(_ context.Context, c *proxy.Call) (func(int), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[c.Party()]++
	return nil, nil
}

// Limits count for each person, wherever they come from, and not for the merchant as a whole.
func TestProxy_personsLimits(t *testing.T) {
	gate := &parties{seen: map[proxy.Party]int{}}
	w := start(t, http.HandlerFunc(echo), people(t), func(o *proxy.Options) { o.Gates = []proxy.Gate{gate} })
	bob := ann
	bob.User, bob.Name = "usr_bob", "bob@shop.example"
	const path = "/v1/payments"
	for _, who := range []person.Assertion{ann, bob, ann} {
		w.do(t, "GET", path, as(t, who, merchantDoor, "GET "+path, "", time.Now()), "").echoed(t)
	}
	if len(gate.seen) != 2 {
		t.Errorf("two people count as %d parties", len(gate.seen))
	}
}
