package web

import (
	"context"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/services/console/internal/store"
)

// The failed attempts that may be made in store's window, against one account and from one address. An address may be
// that of a whole office.
const (
	accountMax = 10
	addressMax = 60
	limitAfter = 15 * time.Minute
)

var errLimited = fault.New(fault.RateLimited, "too_many_attempts", "Too many failed attempts. Wait a quarter of an hour and try again.").After(limitAfter)

// limits bound the attempts to sign in. They count in the database, so that all replicas share them.
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
		out["address "+address] = addressMax
	}
	return out
}

// check refuses an attempt where too many have failed.
func (l limits) check(ctx context.Context, way, account, address string) error {
	for subject, most := range subjects(account, address) {
		n, err := l.store.Failures(ctx, subject)
		if err != nil {
			return err
		}
		if n >= most {
			l.count(way, "limited")
			return errLimited
		}
	}
	return nil
}

// failed counts an attempt that was refused.
func (l limits) failed(ctx context.Context, way, account, address string) error {
	l.count(way, "refused")
	for subject := range subjects(account, address) {
		if err := l.store.Failed(ctx, subject); err != nil {
			return err
		}
	}
	return nil
}

// done counts an attempt that succeeded and forgets the failures of the account.
func (l limits) done(ctx context.Context, way, account string) error {
	l.count(way, "done")
	return l.store.Succeeded(ctx, "account "+account)
}
