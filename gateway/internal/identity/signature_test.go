package identity_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
)

const signedSecret = "sk_test_0000000000000000000000000000002OMZgq"

type oneKey struct{ key apikey.Key }

func (o oneKey) Find(context.Context, string, netip.Addr) (*apikey.Key, error) {
	return nil, apikey.ErrInvalid
}

func (o oneKey) FindPublic(_ context.Context, public string, _ netip.Addr) (*apikey.Key, error) {
	if public != o.key.PublicKey {
		return nil, apikey.ErrInvalid
	}
	return &o.key, nil
}

// request is a signed request as a test changes it.
type request struct {
	public, stamp, method, target, body, signature string
	also                                           http.Header
}

// code resolves the request at 2026-03-31T23:33:20Z and returns the code of the refusal.
func (q request) code(t *testing.T, key apikey.Key, permission apikey.Permission) string {
	t.Helper()
	u, err := url.ParseRequestURI(q.target)
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{"X-Api-Key": {q.public}, "X-Timestamp": {q.stamp}, "X-Signature": {q.signature}}
	for name, values := range q.also {
		h[name] = values
	}
	r := identity.NewResolver(oneKey{key}, nil, nil, func() time.Time { return time.UnixMilli(1775000000000) })
	rt := &route.Route{Access: route.Keyed, Permission: permission}
	c, err := r.Resolve(t.Context(), rt, h, netip.MustParseAddr("203.0.113.7"))
	if err == nil {
		if c.Signature == nil {
			t.Fatal("a caller by public id without a signature to prove")
		}
		err = r.Prove(&c, rt, &http.Request{Method: q.method, URL: u}, []byte(q.body))
	}
	if err == nil {
		return ""
	}
	if f := fault.As(err); f.Kind == fault.Unauthenticated || f.Kind == fault.Forbidden {
		return f.Code
	}
	t.Fatal(err)
	return ""
}

// sign is a second implementation of docs/api-contract.md#signed-requests.
func sign(secret, text string) string {
	sum := sha256.Sum256([]byte(secret))
	mac := hmac.New(sha256.New, []byte(hex.EncodeToString(sum[:])))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

func hashed(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

func TestSignature(t *testing.T) {
	public := credential.Generate(credential.Public, tenant.Test)
	key := apikey.Key{PublicKey: public, Mode: tenant.Test, Permissions: []string{"*"}, Signing: apikey.SigningKey(signedSecret)}.Compiled()
	good := request{
		// the signature comes from Node's crypto, not from this repository
		public, "1775000000000", "POST", "/v1/payments", `{"a":1}`,
		"1c86769a0a9031c43630641028467c9336de69362cbbb97844963fce9fe8cd71", nil,
	}
	signed := func(stamp, method, path, body, target, sent string) request {
		return request{public, stamp, method, target, sent, sign(signedSecret, stamp+"|"+method+"|"+path+"|"+hashed(body)), nil}
	}
	at := func(offset time.Duration) string { return strconv.FormatInt(1775000000000+offset.Milliseconds(), 10) }
	with := func(change func(*request)) request { q := good; change(&q); return q }
	for name, tc := range map[string]struct {
		q    request
		want string
	}{
		"vector":                    {good, ""},
		"with its query":            {signed(at(0), "GET", "/v1/payments?a=%20b&c", "", "/v1/payments?a=%20b&c", ""), ""},
		"without its query":         {signed(at(0), "GET", "/v1/payments", "", "/v1/payments?a=%20b&c", ""), ""},
		"another query":             {signed(at(0), "GET", "/v1/payments?a=2", "", "/v1/payments?a=1", ""), "signature_invalid"},
		"a query of one only":       {signed(at(0), "GET", "/v1/payments?", "", "/v1/payments", ""), "signature_invalid"},
		"empty as {}":               {signed(at(0), "POST", "/v1/payments", "{}", "/v1/payments", ""), ""},
		"empty as {}, with query":   {signed(at(0), "GET", "/v1/payments?x=1", "{}", "/v1/payments?x=1", ""), ""},
		"{} as empty":               {signed(at(0), "POST", "/v1/payments", "", "/v1/payments", "{}"), "signature_invalid"},
		"an escaped path":           {signed(at(0), "GET", "/v1/payments/CW%2DX", "", "/v1/payments/CW%2DX", ""), ""},
		"five minutes old":          {signed(at(-5*time.Minute), "GET", "/v1/me", "", "/v1/me", ""), ""},
		"five minutes ahead":        {signed(at(5*time.Minute), "GET", "/v1/me", "", "/v1/me", ""), ""},
		"older":                     {signed(at(-5*time.Minute-time.Millisecond), "GET", "/v1/me", "", "/v1/me", ""), "signature_expired"},
		"further ahead":             {signed(at(5*time.Minute+time.Millisecond), "GET", "/v1/me", "", "/v1/me", ""), "signature_expired"},
		"seconds":                   {signed("1775000000", "GET", "/v1/me", "", "/v1/me", ""), "signature_expired"},
		"no number":                 {signed("now", "GET", "/v1/me", "", "/v1/me", ""), "signature_expired"},
		"a sign":                    {signed("+1775000000000", "GET", "/v1/me", "", "/v1/me", ""), "signature_expired"},
		"beyond all bounds":         {signed(strings.Repeat("9", 40), "GET", "/v1/me", "", "/v1/me", ""), "signature_expired"},
		"upper-case hex":            {with(func(q *request) { q.signature = strings.ToUpper(q.signature) }), "signature_invalid"},
		"a short signature":         {with(func(q *request) { q.signature = q.signature[:62] }), "signature_invalid"},
		"a longer signature":        {with(func(q *request) { q.signature += "00" }), "signature_invalid"},
		"no hex":                    {with(func(q *request) { q.signature = strings.Repeat("z", 64) }), "signature_invalid"},
		"another body":              {with(func(q *request) { q.body = `{"a":2}` }), "signature_invalid"},
		"another method":            {with(func(q *request) { q.method = "PUT" }), "signature_invalid"},
		"another path":              {with(func(q *request) { q.target = "/v1/wallets" }), "signature_invalid"},
		"another time":              {with(func(q *request) { q.stamp = "1775000000001" }), "signature_invalid"},
		"the same time, other text": {with(func(q *request) { q.stamp = "01775000000000" }), "signature_invalid"},
		"another key":               {with(func(q *request) { q.public = credential.Generate(credential.Public, tenant.Test) }), "api_key_invalid"},
		"a live id":                 {with(func(q *request) { q.public = credential.Generate(credential.Public, tenant.Live) }), "api_key_invalid"},
		"two signatures":            {with(func(q *request) { q.also = http.Header{"X-Signature": {q.signature, q.signature}} }), "signature_invalid"},
		"no signature":              {with(func(q *request) { q.also = http.Header{"X-Signature": nil} }), "signature_missing"},
		"no timestamp":              {with(func(q *request) { q.also = http.Header{"X-Timestamp": nil} }), "signature_missing"},
		"a secret beside it":        {with(func(q *request) { q.also = http.Header{"Authorization": {"Bearer " + signedSecret}} }), "api_key_ambiguous"},
		"the secret as the key": {with(func(q *request) {
			mac := hmac.New(sha256.New, []byte(signedSecret))
			mac.Write([]byte(q.stamp + "|" + q.method + "|" + q.target + "|" + hashed(q.body)))
			q.signature = hex.EncodeToString(mac.Sum(nil))
		}), "signature_invalid"},
	} {
		if got := tc.q.code(t, key, apikey.PaymentCreate); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// Only the holder of a key learns what is wrong with it: a caller who knows the public id learns that the signature is
// wrong.
func TestSignature_stateAfterProof(t *testing.T) {
	public := credential.Generate(credential.Public, tenant.Test)
	stamp := "1775000000000"
	good := request{public, stamp, "POST", "/v1/payments", "", sign(signedSecret, stamp+"|POST|/v1/payments|"+hashed("")), nil}
	forged := good
	forged.signature = strings.Repeat("0", 64)
	past := time.UnixMilli(1)
	for want, key := range map[string]apikey.Key{
		"api_key_revoked":    {RevokedAt: past},
		"api_key_expired":    {ExpiresAt: past},
		"ip_not_allowed":     {AllowedCIDRs: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}},
		"permission_missing": {Permissions: []string{"report:*"}},
	} {
		key.PublicKey, key.Mode, key.Signing = public, tenant.Test, apikey.SigningKey(signedSecret)
		if got := good.code(t, key.Compiled(), apikey.PaymentCreate); got != want {
			t.Errorf("%s: the holder got %q, want %q", want, got, want)
		}
		if got := forged.code(t, key.Compiled(), apikey.PaymentCreate); got != "signature_invalid" {
			t.Errorf("%s: a forged signature got %q, want signature_invalid", want, got)
		}
	}
}
