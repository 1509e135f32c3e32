// Package identity finds out who is calling: a merchant's key, an operator, or the public, and from which address. It
// answers from memory wherever the key cache can; it writes no response and forwards nothing.
package identity

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/wire"
)

// Keys finds the key that a secret belongs to.
type Keys interface {
	Find(ctx context.Context, secret string) (*apikey.Key, error)
}

// Caller is who makes a request. Key is nil for operators and the public.
type Caller struct {
	Subject  httpkit.Subject
	Key      *apikey.Key
	Operator string
	IP       netip.Addr
}

// Resolver resolves callers.
type Resolver struct {
	keys      Keys
	operators Operators
	now       func() time.Time
}

// NewResolver makes a resolver.
func NewResolver(keys Keys, operators Operators, now func() time.Time) *Resolver {
	return &Resolver{keys: keys, operators: operators, now: now}
}

// Resolve finds the caller of a route and whether it may call it. On open routes nothing that is sent along is looked
// at (contract.md §1, Public routes).
func (r *Resolver) Resolve(ctx context.Context, rt *route.Route, h http.Header, ip netip.Addr) (Caller, error) {
	switch rt.Access {
	case route.Open:
		return Caller{Subject: httpkit.Public, IP: ip}, nil
	case route.Operated:
		name, err := r.operators.find(h)
		return Caller{Subject: httpkit.Operator, Operator: name, IP: ip}, err
	case route.Keyed:
		key, err := r.key(ctx, rt, h, ip)
		return Caller{Subject: httpkit.Merchant, Key: key, IP: ip}, err
	}
	return Caller{}, httpkit.ErrRouteUnknown // NewRouter lets no other access in
}

func (r *Resolver) key(ctx context.Context, rt *route.Route, h http.Header, ip netip.Addr) (*apikey.Key, error) {
	text, err := credential(h)
	if err != nil {
		return nil, err
	}
	kind, mode, ok := apikey.Parse(text)
	switch {
	case !ok:
		return nil, apikey.ErrInvalid
	case kind == apikey.Public:
		return nil, apikey.ErrPublicOnly
	}
	key, err := r.keys.Find(ctx, text)
	if err != nil {
		return nil, err
	}
	if key.Mode != mode { // a stored key always has the mode its text names; this is the net under that
		return nil, apikey.ErrInvalid
	}
	if err := key.Usable(r.now(), ip); err != nil {
		return nil, err
	}
	if rt.TestOnly && key.Mode != wire.Test {
		return nil, httpkit.ErrRouteUnknown
	}
	if rt.Permission != "" && !key.Grants.Allows(rt.Permission) {
		return nil, fault.New(fault.Forbidden, "permission_missing", "This API key lacks the permission %s.", rt.Permission)
	}
	return key, nil
}

// credential reads Authorization: Bearer or X-API-Key. Sent twice, both must say the same.
func credential(h http.Header) (string, error) {
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
