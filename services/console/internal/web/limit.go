package web

import (
	"context"
	"net/netip"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/services/console/internal/store"
)

// The bounds of failed attempts in store's window; docs/threat-model.md has the guesses of a day that they leave.
const (
	ownMax     = 10 // against an account from one network, in a browser that knows the account, and in a session
	addressMax = 60 // in one way from one network, which may be that of a whole office, against all accounts
	letterMax  = 5  // letters to one address
	lettersMax = 30 // letters that one person sends
	limitAfter = 15 * time.Minute
)

// guess is the way of passwords and codes, which count together.
const guess = "guess"

// accountMax bounds the failures against an account from all networks together. To try a code one needs the password.
var accountMax = map[string]int{"password": 100, "code": 10}

var errLimited = fault.New(fault.RateLimited, "too_many_attempts", "Too many failed attempts. Wait a quarter of an hour and try again.").After(limitAfter)

// limits bound the attempts to sign in. They count in the database, so that all replicas share them. An attempt counts
// before the console verifies its proof, and no longer counts if it succeeds: so parallel attempts cannot exceed the
// limit.
type limits struct {
	store *store.Store
	count func(way, result string)
}

// bound is the most failed attempts that count against a subject.
type bound struct {
	subject string
	most    int
}

// anybody are the bounds of an attempt that names no account. Each way counts for itself, so that wrong passwords from
// a network lock neither its passkeys nor its links, which nobody can guess.
func (v *Visit) anybody(way string) []bound {
	return []bound{{way + " from " + network(v.Address()), addressMax}}
}

// guesses are the bounds of an attempt to sign in to an account. A browser that knows the account counts alone, so that
// the failures of others do not lock its person out.
func (v *Visit) guesses(way, login string) []bound {
	if id := v.knownBrowser(login); id != "" {
		return []bound{{"browser " + id, ownMax}}
	}
	return append(v.anybody(guess), bound{way + " of " + login + " at " + network(v.Address()), ownMax}, bound{way + " of " + login, accountMax[way]})
}

// proofs are the bounds of a person who is signed in and proves their identity again. They belong to the session, so
// that nobody else can use them up.
func (v *Visit) proofs() []bound {
	return []bound{{"session " + v.console.sessions.ID(v.Context()), ownMax}}
}

// network returns the unit that counts as one address: of an IPv6 address the /64, because one subscriber has all of
// it.
func network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Unmap().Is4() {
		return address
	}
	return netip.PrefixFrom(a.WithZone(""), 64).Masked().Addr().String()
}

// begin counts an attempt. If too many have failed, it refuses the attempt and does not count it.
func (l limits) begin(ctx context.Context, way string, bounds []bound) error {
	for i, b := range bounds {
		n, err := l.store.Attempt(ctx, b.subject)
		if err != nil {
			return err
		}
		if n > b.most {
			l.count(way, "limited")
			if err := l.takeBack(ctx, bounds[:i+1]); err != nil {
				return err
			}
			return errLimited
		}
	}
	return nil
}

// takeBack uncounts an attempt that succeeded or was none.
func (l limits) takeBack(ctx context.Context, bounds []bound) error {
	for _, b := range bounds {
		if err := l.store.TakeBack(ctx, b.subject); err != nil {
			return err
		}
	}
	return nil
}

// failed records that an attempt was refused. begin has counted it.
func (l limits) failed(way string) { l.count(way, "refused") }

var errLetters = fault.New(fault.RateLimited, "too_many_letters", "Too many letters were sent. Wait a quarter of an hour and try again.").After(limitAfter)

// letter counts a letter to an address, and by the person who sends it, "" without a sign-in.
func (l limits) letter(ctx context.Context, by, to string) error {
	bounds := []bound{{"letter to " + to, letterMax}}
	if by != "" {
		bounds = append(bounds, bound{"letter by " + by, lettersMax})
	}
	for _, b := range bounds {
		n, err := l.store.Attempt(ctx, b.subject)
		if err != nil {
			return err
		}
		if n > b.most {
			return errLetters
		}
	}
	return nil
}
