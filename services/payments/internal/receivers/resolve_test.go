package receivers

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail"
)

// namer answers for the banks that are up, with an error of its own or none.
type namer struct {
	rail.Provider
	simulated bool
	down      map[string]bool
	err       error
	calls     map[string]int
}

func (*namer) Name() string      { return "namer" }
func (n *namer) Caps() rail.Caps { return rail.Caps{Simulated: n.simulated} }
func (n *namer) Resolve(_ context.Context, _ money.Currency, bank, number string) (rail.Account, error) {
	n.calls[bank]++
	if n.down[bank] {
		return rail.Account{}, rail.ErrUnavailable
	}
	return rail.Account{Number: number, Name: "ADA EZE"}, n.err
}

// A bank that does not answer is asked five times, and then once in ten seconds until it does. Other banks are asked
// meanwhile.
func TestNames_outage(t *testing.T) {
	for name, answer := range map[string]error{"with a name": nil, "that there is no such account": rail.ErrNotFound} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1e9, 0)
			names := newNames(func() time.Time { return now })
			p := &namer{down: map[string]bool{"058": true}, err: answer, calls: map[string]int{}}
			number := 0
			resolve := func(bank string) (ok bool, err error) {
				number++
				r := payment.Receiver{BankCode: bank, AccountNumber: strconv.Itoa(number)}
				_, ok, err = names.resolve(t.Context(), p, tenant.Live, money.NGN, r)
				return ok, err
			}
			for range 20 {
				if ok, err := resolve("058"); ok || err != nil {
					t.Fatalf("a bank that is down: %t, %v", ok, err)
				}
			}
			if p.calls["058"] != 5 {
				t.Errorf("the bank was asked %d times, want 5", p.calls["058"])
			}
			if ok, err := resolve("011"); ok != (answer == nil) || !errors.Is(err, answer) || p.calls["011"] != 1 {
				t.Errorf("another bank: %t, %v after %d calls", ok, err, p.calls["011"])
			}
			p.calls["058"] = 0
			if _, _, err := names.resolve(t.Context(), p, tenant.Test, money.NGN, payment.Receiver{BankCode: "058"}); err != nil || p.calls["058"] != 1 {
				t.Errorf("the same bank in the other mode: %v after %d calls, want one", err, p.calls["058"])
			}
			for range 3 {
				now = now.Add(outageRest)
				p.calls["058"] = 0
				for range 20 {
					_, _ = resolve("058")
				}
				if p.calls["058"] != 1 {
					t.Errorf("the bank was asked %d times in ten seconds, want once", p.calls["058"])
				}
			}
			p.down["058"], p.calls["058"], now = false, 0, now.Add(outageRest)
			for range 20 {
				if ok, err := resolve("058"); ok != (answer == nil) || !errors.Is(err, answer) {
					t.Fatalf("a bank that is up again: %t, %v", ok, err)
				}
			}
			if p.calls["058"] != 20 {
				t.Errorf("a bank that is up again was asked %d times, want 20", p.calls["058"])
			}
		})
	}
}

// An outage that one merchant plays with a magic account is nobody else's.
func TestNames_simulatedOutage(t *testing.T) {
	names := newNames(time.Now)
	p := &namer{simulated: true, down: map[string]bool{"058": true}, calls: map[string]int{}}
	r := payment.Receiver{BankCode: "058", AccountNumber: "0123456789"}
	for range 20 {
		if _, ok, err := names.resolve(t.Context(), p, tenant.Test, money.NGN, r); ok || err != nil {
			t.Fatalf("a bank that is down: %t, %v", ok, err)
		}
	}
	if p.calls["058"] != 20 {
		t.Errorf("the simulated bank was asked %d times, want 20", p.calls["058"])
	}
}
