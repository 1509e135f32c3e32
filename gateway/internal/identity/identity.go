// Package identity resolves the caller of a request: a merchant's key, an operator or the public, and the address. It
// answers from memory where the key cache can. It writes no response and forwards no request.
package identity

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/passkey"
	"causeway.internal/libs/person"
	"causeway.internal/libs/tenant"
)

// Keys finds the key of a secret, or of a public id, for the address that sent it.
type Keys interface {
	Find(ctx context.Context, secret string, from netip.Addr) (*apikey.Key, error)
	FindPublic(ctx context.Context, publicKey string, from netip.Addr) (*apikey.Key, error)
}

// Forgeries bounds the bad signatures that an address may send for a key.
type Forgeries interface {
	Allow(key int64, from netip.Addr) error // its error is the answer to the caller, before the body is read
	Forged(key int64, from netip.Addr)
}

// Consoles find the key under which the people of a merchant act.
type Consoles interface {
	Find(ctx context.Context, merchantID string, mode tenant.Mode, from netip.Addr) (*apikey.Key, error)
}

// Passkeys are those of operators.
type Passkeys interface {
	// PasskeysOf are the passkeys of an operator that are not revoked.
	PasskeysOf(ctx context.Context, operator string) ([]passkey.Key, error)
}

// Caller makes a request. Key is nil for operators and the public. With a Signature the key is only claimed until Prove
// has checked the body. A Person acts through a console; Prove has to check that the assertion is for this request.
type Caller struct {
	Subject   httpkit.Subject
	Key       *apikey.Key
	Signature *Signature
	Person    *person.Assertion
	Operator  string
	Approver  *httpkit.Approver // of a change through the operators' console
	IP        netip.Addr
}

// Unproved reports whether Prove has to check the caller over the whole body.
func (c Caller) Unproved() bool { return c.Signature != nil || c.Person != nil }

// Resolver resolves callers.
type Resolver struct {
	keys      Keys
	operators Operators
	forgeries Forgeries
	people    *person.Verifier
	consoles  Consoles
	passkeys  Passkeys
	site      passkey.Site
	now       func() time.Time
}

// NewResolver makes a resolver. Without forgeries, bad signatures are not bounded. Without people, nobody calls through
// a console.
func NewResolver(keys Keys, operators Operators, forgeries Forgeries, now func() time.Time) *Resolver {
	return &Resolver{keys: keys, operators: operators, forgeries: forgeries, now: now}
}

// Admitting lets people call through consoles.
func (r *Resolver) Admitting(people *person.Verifier, consoles Consoles) *Resolver {
	r.people, r.consoles = people, consoles
	return r
}

// Approving lets services recognise operators' approvals, which are given at a site. Without it no change through the
// operators' console passes.
func (r *Resolver) Approving(at passkey.Site, passkeys Passkeys) *Resolver {
	r.site, r.passkeys = at, passkeys
	return r
}

// Resolve finds the caller of a route and whether it may call it. Open routes ignore every credential
// (docs/api-contract.md#public-routes), unless the route knows keys; even those ignore a bad one. A key that cannot be
// checked is refused: otherwise its merchant would get the public's answer, as if the key were bad.
func (r *Resolver) Resolve(ctx context.Context, rt *route.Route, h http.Header, ip netip.Addr) (Caller, error) {
	switch rt.Access {
	case route.Open:
		if rt.Knows && sent(h) {
			if c, err := r.keyed(ctx, rt, h, ip); !ignorable(err) {
				return c, err
			}
		}
		return public(ip), nil
	case route.Operated:
		token, err := tokenOf(h)
		if err != nil {
			return Caller{}, err
		}
		if person.Is(token) {
			return r.operatorInPerson(ctx, rt, token, ip)
		}
		name, err := r.operators.Operator(ctx, token, ip)
		return Caller{Subject: httpkit.Operator, Operator: name, IP: ip}, err
	case route.Keyed:
		return r.keyed(ctx, rt, h, ip)
	}
	return Caller{}, httpkit.ErrRouteUnknown // NewRouter refuses a table with any other access
}

// ignorable reports whether an error means a bad credential, which a public route may ignore.
func ignorable(err error) bool {
	if err == nil {
		return false
	}
	kind := fault.As(err).Kind
	return kind == fault.Unauthenticated || kind == fault.Forbidden
}

func public(ip netip.Addr) Caller { return Caller{Subject: httpkit.Public, IP: ip} }

func (r *Resolver) keyed(ctx context.Context, rt *route.Route, h http.Header, ip netip.Addr) (c Caller, err error) {
	c = Caller{Subject: httpkit.Merchant, IP: ip}
	text, err := presented(h)
	if err != nil {
		return c, err
	}
	if person.Is(text) {
		return r.merchantInPerson(ctx, rt, text, ip)
	}
	kind, mode, ok := credential.Parse(text)
	if !ok {
		return c, apikey.ErrInvalid
	}
	find := r.keys.Find
	if kind == credential.Public {
		if c.Signature, err = readSignature(h, r.now()); err != nil {
			return c, err
		}
		find = r.keys.FindPublic
	}
	if c.Key, err = find(ctx, text, ip); err != nil {
		return c, err
	}
	if c.Key.Mode != mode { // a stored key always has the mode of its text; this is a second check
		return c, apikey.ErrInvalid
	}
	if c.Signature != nil { // who only knows the public id learns nothing of the key, not even its expiry
		return c, r.allowProof(c)
	}
	return c, r.allowed(rt, c.Key, ip)
}

// allowProof returns why a signature may not be checked now, or nil.
func (r *Resolver) allowProof(c Caller) error {
	if r.forgeries == nil {
		return nil
	}
	return r.forgeries.Allow(c.Key.ID, c.IP)
}

// Prove checks the signature of a caller over the request with its whole body, and then the rules that Resolve checks
// for other callers, or that a person's assertion is for this request. On an open route a bad signature makes the
// caller the public.
func (r *Resolver) Prove(c *Caller, rt *route.Route, q *http.Request, body []byte) error {
	var err error = errSignature
	if c.Person != nil {
		err = r.taken(c, q, body)
	} else if c.Signature.signs(c.Key.Signing, q.Method, q.URL, body) {
		err = r.allowed(rt, c.Key, c.IP)
	} else if r.forgeries != nil {
		r.forgeries.Forged(c.Key.ID, c.IP)
	}
	if rt.Access == route.Open && ignorable(err) {
		*c, err = public(c.IP), nil
	}
	return err
}

// allowed returns why a key may not call a route now, or nil.
func (r *Resolver) allowed(rt *route.Route, key *apikey.Key, ip netip.Addr) error {
	if err := key.Usable(r.now(), ip); err != nil {
		return err
	}
	if rt.TestOnly && key.Mode != tenant.Test {
		return httpkit.ErrRouteUnknown
	}
	if rt.Permission != "" && !key.Grants.Allows(rt.Permission) {
		return fault.New(fault.Forbidden, "permission_missing", "This %s lacks the permission %s.", whose(key), rt.Permission)
	}
	switch {
	case rt.Creates:
		return key.Merchant.MayCreate(key.Mode)
	case rt.Method != http.MethodGet && rt.Upstream != route.Self:
		return key.Merchant.MayAct(key.Mode)
	}
	return nil
}

func whose(key *apikey.Key) string {
	if key.Kind == apikey.KindConsole {
		return "person"
	}
	return "API key"
}

// sent reports whether a request carries a credential.
func sent(h http.Header) bool { return len(h["Authorization"]) > 0 || len(h["X-Api-Key"]) > 0 }

// presented reads Authorization: Bearer or X-API-Key. If both are sent, they must be equal.
func presented(h http.Header) (string, error) {
	auth, keys := h["Authorization"], h["X-Api-Key"]
	if len(auth) > 1 || len(keys) > 1 {
		return "", apikey.ErrAmbiguous
	}
	var fromAuth, fromKey string
	if len(auth) == 1 {
		fromAuth, _ = bearer(auth[0])
	}
	if len(keys) == 1 {
		fromKey = strings.TrimSpace(keys[0])
	}
	switch {
	case fromAuth == "" && fromKey == "":
		return "", apikey.ErrMissing
	case fromAuth == "" || fromAuth == fromKey:
		return fromKey, nil
	case fromKey == "":
		return fromAuth, nil
	}
	return "", apikey.ErrAmbiguous
}

// bearer reads a Bearer credential; the scheme's name is compared without case (RFC 9110 §11.1).
func bearer(value string) (string, bool) {
	const scheme = "bearer "
	if len(value) < len(scheme) || !strings.EqualFold(value[:len(scheme)], scheme) {
		return "", false
	}
	return strings.TrimSpace(value[len(scheme):]), true
}
