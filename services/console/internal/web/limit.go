package web

import (
	"context"
	"net/netip"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/services/console/internal/store"
)

// accountMax and addressMax bound the failed attempts in store's window, against one account and from one address,
// which may be that of a whole office. letterMax bounds the letters to one address, lettersMax the letters that one
// person sends.
const (
	accountMax = 10
	addressMax = 60
	letterMax  = 5
	lettersMax = 30
	limitAfter = 15 * time.Minute
)

var errLimited = fault.New(fault.RateLimited, "too_many_attempts", "Too many failed attempts. Wait a quarter of an hour and try again.").After(limitAfter)

// limits bound the attempts to sign in. They count in the database, so that all replicas share them. An attempt counts
// before the console verifies its proof, and no longer counts if it succeeds: so parallel attempts cannot exceed the
// limit.
type limits struct {
	store *store.Store
	count func(way, result string)
}

func subjects(account, address string) map[string]int {
	out := map[string]int{}
	if account != "" {
		out["account "+account] = accountMax
	}
	if address != "" {
		out["address "+network(address)] = addressMax
	}
	return out
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
func (l limits) begin(ctx context.Context, way, account, address string) error {
	limited := false
	for subject, most := range subjects(account, address) {
		n, err := l.store.Attempt(ctx, subject)
		if err != nil {
			return err
		}
		limited = limited || n > most
	}
	if !limited {
		return nil
	}
	l.count(way, "limited")
	if err := l.takeBack(ctx, account, address); err != nil {
		return err
	}
	return errLimited
}

// takeBack uncounts an attempt that succeeded or was none.
func (l limits) takeBack(ctx context.Context, account, address string) error {
	for subject := range subjects(account, address) {
		if err := l.store.TakeBack(ctx, subject); err != nil {
			return err
		}
	}
	return nil
}

// failed records that an attempt was refused. begin has counted it.
func (l limits) failed(way string) { l.count(way, "refused") }

// done counts a sign-in and forgets the failures of the account.
func (l limits) done(ctx context.Context, way, account string) error {
	l.count(way, "done")
	return l.store.Succeeded(ctx, "account "+account)
}

var errLetters = fault.New(fault.RateLimited, "too_many_letters", "Too many letters were sent. Wait a quarter of an hour and try again.").After(limitAfter)

// letter counts a letter to an address, and by the person who sends it, "" without a sign-in.
func (l limits) letter(ctx context.Context, by, to string) error {
	bounds := map[string]int{"letter to " + to: letterMax}
	if by != "" {
		bounds["letter by "+by] = lettersMax
	}
	for subject, most := range bounds {
		n, err := l.store.Attempt(ctx, subject)
		if err != nil {
			return err
		}
		if n > most {
			return errLetters
		}
	}
	return nil
}
