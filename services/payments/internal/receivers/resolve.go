package receivers

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail"
)

// Bounds of name resolution (docs/api-contract.md#receivers).
const (
	resolveTimeout = 3 * time.Second
	resolveKeep    = 10 * time.Minute
	resolveMost    = 10_000
)

// names caches resolved accounts, so that a merchant's usual receivers need no call of the rail.
type names struct {
	now   func() time.Time
	calls singleflight.Group

	mu   sync.Mutex
	kept map[account]keptName
}

type account struct {
	mode         tenant.Mode
	currency     money.Currency
	bank, number string
}

type keptName struct {
	account rail.Account
	until   time.Time
}

func newNames(now func() time.Time) *names { return &names{now: now, kept: map[account]keptName{}} }

// resolve is Complete with the rail p as the name service.
func (n *names) resolve(ctx context.Context, p rail.Provider, mode tenant.Mode, currency money.Currency, r payment.Receiver) (named payment.Receiver, ok bool, err error) {
	key := account{mode, currency, r.BankCode, r.AccountNumber}
	found, hit := n.get(key)
	if !hit {
		v, err, _ := n.calls.Do(string(mode)+"|"+string(currency)+"|"+r.BankCode+"|"+r.AccountNumber, func() (any, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
			defer cancel()
			return p.Resolve(ctx, currency, r.BankCode, r.AccountNumber)
		})
		switch {
		case errors.Is(err, rail.ErrNotFound):
			return r, false, err
		case errors.Is(err, rail.ErrUnsupported): // cached too: this corridor has no names
			found, _ = v.(rail.Account)
			found.Name, found.Verified = "", false
		case err != nil:
			return r, false, nil
		default:
			found, _ = v.(rail.Account)
		}
		n.put(key, found)
	}
	r.BankName, r.AccountName, r.NameVerified = found.BankName, found.Name, found.Verified
	return r, true, nil
}

func (n *names) get(key account) (rail.Account, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	k, ok := n.kept[key]
	return k.account, ok && n.now().Before(k.until)
}

func (n *names) put(key account, a rail.Account) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.kept) >= resolveMost {
		clear(n.kept) // bounds the memory; the next requests ask the rail again
	}
	n.kept[key] = keptName{a, n.now().Add(resolveKeep)}
}

func AccountNotFound() error {
	var p fault.Problems
	p.Add("receiver.accountNumber", "no such account at this bank")
	return p.Err()
}
