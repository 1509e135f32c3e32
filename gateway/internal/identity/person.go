package identity

import (
	"context"
	"net/http"
	"net/netip"
	"regexp"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/person"
)

// errAssertion is the one refusal of an assertion, so that it says nothing to somebody who makes them up.
var errAssertion = fault.New(fault.Unauthenticated, "assertion_invalid", "The console's statement about its caller is not valid for this request.")

var errPasskeys = fault.New(fault.Unavailable, "operators_unavailable",
	"The operator's passkeys cannot be read right now. Try again shortly.").After(2 * time.Second)

// open reads the assertion of a person at a door. The address is that of the person where the console tells it.
func (r *Resolver) open(text string, at person.Door, from netip.Addr) (*person.Assertion, netip.Addr, error) {
	if r.people == nil {
		return nil, from, errAssertion
	}
	a, err := r.people.Open(text, r.now())
	if err == nil && a.Door != at {
		err = person.ErrForged
	}
	if err != nil {
		return nil, from, errAssertion.Because(err)
	}
	if ip, err := netip.ParseAddr(a.ClientIP); err == nil {
		from = ip.Unmap().WithZone("")
	}
	return &a, from, nil
}

// operatorName is what the name of an operator looks like (internal/operator). Names with other spellings could pass
// for two people.
var operatorName = regexp.MustCompile(`^[a-z][a-z0-9._-]{1,62}$`)

// operatorInPerson resolves an operator who uses the operators' console.
func (r *Resolver) operatorInPerson(ctx context.Context, rt *route.Route, text string, ip netip.Addr) (Caller, error) {
	a, ip, err := r.open(text, person.Operator, ip)
	if err != nil {
		return Caller{}, err
	}
	if !operatorName.MatchString(a.Name) {
		return Caller{}, errAssertion
	}
	c := Caller{Subject: httpkit.Operator, Operator: a.Name, Person: a, IP: ip}
	if rt.Method == http.MethodGet || r.passkeys == nil {
		return c, nil
	}
	keys, err := r.passkeys.PasskeysOf(ctx, a.Name)
	if err != nil {
		return c, errPasskeys.Because(err)
	}
	c.Approver = &httpkit.Approver{Site: r.site, Keys: keys}
	return c, nil
}

// merchantInPerson resolves a person of a merchant, who acts under the merchant's console key. A person without a
// merchant yet acts under no key: it can only register one.
func (r *Resolver) merchantInPerson(ctx context.Context, rt *route.Route, text string, ip netip.Addr) (Caller, error) {
	a, from, err := r.open(text, person.Merchant, ip)
	c := Caller{Subject: httpkit.Merchant, Person: a, IP: from}
	if err != nil {
		return c, err
	}
	key := &apikey.Key{MerchantID: a.MerchantID, Mode: a.Mode, Kind: apikey.KindConsole}
	if rt.Permission != apikey.MerchantCreate {
		if key, err = r.consoles.Find(ctx, a.MerchantID, a.Mode, ip); err != nil {
			return c, err
		}
	}
	c.Key = key.Of(a.Permissions)
	return c, r.allowed(rt, c.Key, from)
}

// taken uses up the assertion of a caller for its request.
func (r *Resolver) taken(c *Caller, q *http.Request, body []byte) error {
	err := r.people.Take(*c.Person, person.Request{
		Method: q.Method, Path: q.URL.RequestURI(), IdempotencyKey: q.Header.Get(httpkit.IdempotencyHeader), Body: body,
	}, r.now())
	if err != nil {
		return errAssertion.Because(err)
	}
	return nil
}
