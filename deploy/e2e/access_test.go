//go:build integration

package e2e

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestNoGoodCredential: every way not to be known is a 401 that says how to authenticate.
func TestNoGoodCredential(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	broken := s.APIKey[:len(s.APIKey)-1] + string(rune('a'+(s.APIKey[len(s.APIKey)-1]-'a'+1)%26))
	for name, options := range map[string][]api.Option{
		"nothing":               nil,
		"an empty bearer":       {api.Header("Authorization", "Bearer")},
		"a word":                {api.Header("Authorization", "Bearer hello")},
		"a basic credential":    {api.Header("Authorization", "Basic aGVsbG86d29ybGQ=")},
		"a mistyped key":        {api.Header("Authorization", "Bearer "+broken)},
		"an operator's token":   {api.Header("Authorization", "Bearer "+s.AdminToken)},
		"a word as X-API-Key":   {api.Header("X-API-Key", "hello")},
		"a forged identity":     {api.Header("X-Causeway-Identity", "e30.AAAA")},
		"a very long key":       {api.Header("X-API-Key", "sk_test_"+strings.Repeat("a", 5000))},
		"the public id alone":   {api.Header("X-API-Key", "pk_test_"+strings.Repeat("a", 36))},
		"a key of another kind": {api.Header("Authorization", "Bearer whsec_"+strings.Repeat("a", 36))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, call := range [][2]string{{http.MethodPost, "/v1/payments"}, {http.MethodGet, "/v1/payments/CW-ABCDEFGHJKMN"}} {
				var body any
				if call[0] == http.MethodPost {
					body = transfer(nil)
				}
				a := c.With("").Call(t, call[0], call[1], body, options...).Want(t, http.StatusUnauthorized)
				if a.Header.Get("WWW-Authenticate") == "" {
					t.Error("no WWW-Authenticate")
				}
			}
		})
	}
}

// TestBothHeaders: a key is taken as a bearer token or in X-API-Key.
func TestBothHeaders(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	create(t, c, transfer(nil))
	c.With("").Call(t, http.MethodPost, "/v1/payments", transfer(nil), api.Header("X-API-Key", s.APIKey)).Want(t, http.StatusCreated)
}

// TestPermissions: docs/api-contract.md#permissions; the refusal names the permission that is missing.
func TestPermissions(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	merchant := unique("perm")
	creator, reader := key(t, s, c, "test", merchant, "payment:create"), key(t, s, c, "test", merchant, "payment:read")
	ref := create(t, creator, transfer(nil)).Text(t, "payment.reference")
	get(t, reader, ref)
	for permission, a := range map[string]*api.Answer{
		"payment:create": reader.Call(t, http.MethodPost, "/v1/payments", transfer(nil)),
		"payment:read":   creator.Call(t, http.MethodGet, "/v1/payments/"+ref, nil),
	} {
		if a.Want(t, http.StatusForbidden); !strings.Contains(a.Text(t, "message"), permission) {
			t.Errorf("the refusal does not name %s: %s", permission, a.Body)
		}
	}
	get(t, key(t, s, c, "test", merchant, "*"), ref)
	get(t, key(t, s, c, "test", merchant, "payment:*"), ref)
}

// TestForeignObjects: another merchant's and the other mode's objects do not exist, just like unknown and malformed
// references.
func TestForeignObjects(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
	other := key(t, s, c, "test", unique("other"), "*")
	live := key(t, s, c, "live", unique("other"), "*")
	for name, call := range map[string]struct {
		client *api.Client
		ref    string
	}{
		"another merchant": {other, ref},
		"the other mode":   {live, ref},
		"unknown":          {c, "CW-ABCDEFGHJKMN"},
		"too short":        {c, "CW-ABC"},
		"lower case":       {c, strings.ToLower(ref)},
		"malformed":        {c, "hello"},
		"percent":          {c, "%00"},
		"an id":            {c, "pay_01hzzzzzzzzzzzzzzzzzzzzzzz"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call.client.Call(t, http.MethodGet, "/v1/payments/"+call.ref, nil, bad).Want(t, http.StatusNotFound)
			call.client.Call(t, http.MethodPost, "/v1/sandbox/payments/"+call.ref+"/deposits", api.Object{}, bad).Want(t, http.StatusNotFound)
			call.client.Call(t, http.MethodPost, "/v1/sandbox/payments/"+call.ref+"/expire", api.Object{}, bad).Want(t, http.StatusNotFound)
		})
	}
	if got := get(t, c, ref).Text(t, "payment.status"); got != "pending" {
		t.Errorf("other callers moved the payment to %s", got)
	}
}

// TestUnknownRoutes and methods: the shape of every refusal is checked on the way.
func TestUnknownRoutes(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	for _, path := range []string{"/", "/v1", "/v1/", "/v2/payments", "/v1/payment", "/v1/payments/a/b/c", "/healthz", "/metrics", "/v1/admin", "/%2e%2e/etc"} {
		for _, one := range []*api.Client{c, c.With("")} {
			one.Call(t, http.MethodGet, path, nil, bad).Want(t, http.StatusNotFound)
		}
	}
	for _, call := range []struct{ method, path, allow string }{
		{http.MethodDelete, "/v1/payments", http.MethodPost},
		{http.MethodPut, "/v1/payments", http.MethodPost},
		{http.MethodPost, "/v1/payments/CW-ABCDEFGHJKMN", http.MethodGet},
		{http.MethodPatch, "/v1/payments/CW-ABCDEFGHJKMN", http.MethodGet},
	} {
		a := c.Call(t, call.method, call.path, nil, bad).Want(t, http.StatusMethodNotAllowed)
		if allow := a.Header.Get("Allow"); !strings.Contains(allow, call.allow) || strings.Contains(allow, call.method) {
			t.Errorf("%s %s: Allow is %q", call.method, call.path, allow)
		}
	}
}

// TestBodies: size and declared type.
func TestBodies(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	pad := func(size int) string {
		body := rawTransfer(t, `"x":"",`)
		return strings.Replace(body, `"x":""`, `"x":"`+strings.Repeat("y", size-len(body))+`"`, 1)
	}
	c.Call(t, http.MethodPost, "/v1/payments", pad(256<<10)).Want(t, http.StatusCreated)
	c.Call(t, http.MethodPost, "/v1/payments", pad(256<<10+1), bad).Want(t, http.StatusRequestEntityTooLarge)
	c.Call(t, http.MethodPost, "/v1/payments", pad(2<<20), bad).Want(t, http.StatusRequestEntityTooLarge)
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/xml", "nonsense"} {
		c.Call(t, http.MethodPost, "/v1/payments", transfer(nil), api.Header("Content-Type", kind), bad).Want(t, http.StatusUnsupportedMediaType)
	}
	c.Call(t, http.MethodPost, "/v1/payments", transfer(nil), api.Header("Content-Type", "Application/JSON; charset=utf-8")).Want(t, http.StatusCreated)
}

// TestRequestIDs: a well-formed id comes back, any other is replaced; refusals carry it too (checked on the way).
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	made := regexp.MustCompile(`^req_[0-9A-Za-z_-]{8,}$`)
	for _, path := range []string{"/v1/payments/CW-ABCDEFGHJKMN", "/v1/nothing"} {
		if got := c.Call(t, http.MethodGet, path, nil, bad, api.Header("X-Request-Id", "order-77.a_b")).Header.Get("X-Request-Id"); got != "order-77.a_b" {
			t.Errorf("%s: sent order-77.a_b, came back %q", path, got)
		}
		for _, odd := range []string{"", "two words", "a<b>", strings.Repeat("x", 300), `"quoted"`} {
			if got := c.Call(t, http.MethodGet, path, nil, bad, api.Header("X-Request-Id", odd)).Header.Get("X-Request-Id"); !made.MatchString(got) {
				t.Errorf("%s: sent %q, came back %q", path, odd, got)
			}
		}
	}
}

// TestHeaders: security headers on every answer, and keyed routes answer no other origin.
func TestHeaders(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	a := c.Call(t, http.MethodGet, "/v1/payments/CW-ABCDEFGHJKMN", nil, bad, api.Header("Origin", "https://example.com"))
	if got := a.Header.Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("a keyed route allows the origin %q", got)
	}
	if a.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Error("no X-Content-Type-Options: nosniff")
	}
	for _, name := range []string{"Server", "X-Powered-By", "X-Causeway-Identity"} {
		if got := a.Header.Get(name); got != "" {
			t.Errorf("the answer shows %s: %s", name, got)
		}
	}
}

// TestForgedIdentity: identity headers of a client are worth nothing.
func TestForgedIdentity(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
	forged := api.Header("X-Causeway-Identity", "eyJzdWJqZWN0Ijoib3BlcmF0b3IifQ.AAAA")
	c.Call(t, http.MethodGet, "/v1/payments/"+ref, nil, forged).Want(t, http.StatusOK)
	c.With("").Call(t, http.MethodGet, "/v1/payments/"+ref, nil, forged).Want(t, http.StatusUnauthorized)
}

// TestAdminKeys: only operators make keys; what they make is shown once and can be used at once.
func TestAdminKeys(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	good := api.Object{"merchantId": unique("m"), "name": "till 1", "mode": "test", "permissions": []string{"payment:create", "payment:read"}}
	c.Call(t, http.MethodPost, "/v1/admin/keys", good).Want(t, http.StatusUnauthorized)
	c.With("").Call(t, http.MethodPost, "/v1/admin/keys", good).Want(t, http.StatusUnauthorized)
	operator := c.With(s.AdminToken)
	made := operator.Call(t, http.MethodPost, "/v1/admin/keys", good).Want(t, http.StatusCreated)
	sameSet(t, "a new key", made.Keys(t, "key"),
		"id", "publicKey", "secret", "merchantId", "name", "mode", "permissions", "tier", "createdAt", "expiresAt")
	if !strings.HasPrefix(made.Text(t, "key.secret"), "sk_test_") || !strings.HasPrefix(made.Text(t, "key.publicKey"), "pk_test_") {
		t.Errorf("key %s", made.Body)
	}
	if !made.Number(t, "key.id").IsInt() || !made.Null("key.expiresAt") || made.Text(t, "key.tier") != "standard" {
		t.Errorf("key %s", made.Body)
	}
	create(t, c.With(made.Text(t, "key.secret")), transfer(nil))
	for field, value := range map[string]any{
		"merchantId": "", "name": 5, "mode": "both", "permissions": []string{"payment:steal"}, "tier": "gold", "allowedCidrs": []string{"home"}, "expiresAt": "soon",
	} {
		body := api.Object{}
		for name, v := range good {
			body[name] = v
		}
		body[field] = value
		a := operator.Call(t, http.MethodPost, "/v1/admin/keys", body, bad).Want(t, http.StatusBadRequest)
		if fields := a.FieldErrors(); len(fields) == 0 || !strings.HasPrefix(fields[0], field) {
			t.Errorf("%s = %v: the error names %v", field, value, fields)
		}
	}
}
