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
	outageAfter    = 5                // calls in a row about a bank without an answer,
	outageRest     = 10 * time.Second // after which only one in so long is made
)

// names caches resolved accounts, so that a merchant's usual receivers need no call of the rail.
type names struct {
	now   func() time.Time
	calls singleflight.Group

	mu      sync.Mutex
	kept    map[account]keptName
	outages map[outage]failures
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

// outage is what may not answer: a rail, or one bank behind it. A rail has other keys and limits in each mode.
type outage struct {
	mode     tenant.Mode
	rail     string
	currency money.Currency
	bank     string
}

type failures struct {
	inARow int
	until  time.Time // nobody asks
}

func newNames(now func() time.Time) *names {
	return &names{now: now, kept: map[account]keptName{}, outages: map[outage]failures{}}
}

// resolve is Complete with the rail p as the name service.
func (n *names) resolve(ctx context.Context, p rail.Provider, mode tenant.Mode, currency money.Currency, r payment.Receiver) (named payment.Receiver, ok bool, err error) {
	key := account{mode, currency, r.BankCode, r.AccountNumber}
	found, hit := n.get(key)
	if !hit {
		if !n.asks(p, mode, currency, r.BankCode) {
			return r, false, nil
		}
		v, err, _ := n.calls.Do(string(mode)+"|"+string(currency)+"|"+r.BankCode+"|"+r.AccountNumber, func() (any, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
			defer cancel()
			v, err := p.Resolve(ctx, currency, r.BankCode, r.AccountNumber)
			n.note(p, mode, currency, r.BankCode, err == nil || errors.Is(err, rail.ErrNotFound) || errors.Is(err, rail.ErrUnsupported))
			return v, err
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

// asks reports whether a call may be made. Payouts without a name would otherwise wait for the same silence one by one,
// each in a slot of the worker. A simulated rail answers at once, and each merchant has outages of its own there.
func (n *names) asks(p rail.Provider, mode tenant.Mode, currency money.Currency, bank string) bool {
	if p.Caps().Simulated {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	k, now := outage{mode, p.Name(), currency, bank}, n.now()
	f := n.outages[k]
	if f.inARow < outageAfter {
		return true
	}
	if now.Before(f.until) {
		return false
	}
	f.until = now.Add(outageRest) // this call finds out; the others wait for its result
	n.outages[k] = f
	return true
}

// note counts a call that was answered or not.
func (n *names) note(p rail.Provider, mode tenant.Mode, currency money.Currency, bank string, answered bool) {
	if p.Caps().Simulated {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	k := outage{mode, p.Name(), currency, bank}
	if answered {
		delete(n.outages, k)
		return
	}
	f := n.outages[k]
	if f.inARow++; f.inARow >= outageAfter {
		f.until = n.now().Add(outageRest)
	}
	if len(n.outages) >= resolveMost {
		clear(n.outages) // bounds the memory
	}
	n.outages[k] = f
}

func AccountNotFound() error {
	var p fault.Problems
	p.Add("receiver.accountNumber", "no such account at this bank")
	return p.Err()
}
