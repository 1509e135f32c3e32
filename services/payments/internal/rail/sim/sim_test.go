package sim

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/rail"
)

// paper is a statement in memory.
type paper struct {
	mu      sync.Mutex
	lines   map[string]Transfer
	ordered map[string]Outcome
}

func (p *paper) Record(_ context.Context, t Transfer) (Transfer, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if recorded, ok := p.lines[t.Ref]; ok {
		return recorded, false, nil
	}
	if o := p.ordered[t.Ref]; o != "" {
		t.Outcome = o
	}
	p.lines[t.Ref] = t
	return t, true, nil
}

func (p *paper) Lookup(_ context.Context, ref string) (Transfer, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.lines[ref]
	return t, ok, nil
}

func (p *paper) Order(_ context.Context, ref string, o Outcome, change func(*Transfer) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.lines[ref]
	if !ok {
		p.ordered[ref] = o
		return nil
	}
	err := change(&t)
	if err == nil {
		p.lines[ref] = t
	}
	return err
}

func (p *paper) Ordered(_ context.Context, ref string) (Outcome, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ordered[ref], nil
}

// customer is a small payout worker: one row, the rules of package payout, and a clock that the test sets.
type customer struct {
	t     *testing.T
	rail  *Rail
	paper *paper
	now   time.Time
	p     payout.Payout
	said  []payout.Outcome
}

func newCustomer(t *testing.T, account string) *customer {
	c := &customer{
		t: t, paper: &paper{lines: map[string]Transfer{}, ordered: map[string]Outcome{}}, now: time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC),
		p: payout.Payout{Reference: "cw-a-1", Amount: decimal.NewFromInt(159000), Currency: money.NGN, AccountNumber: account, BankCode: "058", State: payout.Created},
	}
	c.rail = New(c.paper, func() time.Time { return c.now })
	return c
}

func (c *customer) order() rail.Order {
	return rail.Order{
		Ref: c.p.Reference, Amount: c.p.Amount, Currency: c.p.Currency, BankCode: c.p.BankCode, AccountNumber: c.p.AccountNumber, Resend: c.p.Sends > 1,
	}
}

func (c *customer) see(o payout.Observation) payout.Step {
	var d payout.Decision
	c.p, d = payout.TestTiming().Next(c.p, o, c.now)
	if d.Outcome != payout.None {
		c.said = append(c.said, d.Outcome)
	}
	return d.Step
}

// work runs the worker for a time.
func (c *customer) work(d time.Duration) {
	c.t.Helper()
	ctx := c.t.Context()
	for end := c.now.Add(d); c.now.Before(end); c.now = c.now.Add(50 * time.Millisecond) {
		switch c.see(payout.Observation{Seen: payout.Tick}) {
		case payout.Send:
			if c.see(payout.Observation{Seen: payout.Claimed}) == payout.Send {
				c.see(rail.Sent(c.rail.Send(ctx, c.order())))
			}
		case payout.Query:
			o := rail.Queried(c.rail.Query(ctx, c.p.Currency, c.p.Reference))
			o.Sends = c.p.Sends
			c.see(o)
		case payout.Wait, payout.Done:
		}
	}
}

// Every magic account number of docs/api-contract.md#sandbox has its outcome within two seconds, by the payout rules.
func TestMagicAccounts(t *testing.T) {
	for account, c := range map[string]struct {
		want  payout.State
		sends int
		said  []payout.Outcome
	}{
		"0123456789":       {payout.Succeeded, 1, []payout.Outcome{payout.IsSending, payout.IsPaid}},
		AccountFails:       {payout.Failed, 1, []payout.Outcome{payout.IsSending, payout.IsFailed}},
		AccountTimesOut:    {payout.Succeeded, 1, []payout.Outcome{payout.IsSending, payout.IsUnknown, payout.IsPaid}},
		AccountNeverArrive: {payout.Succeeded, 2, []payout.Outcome{payout.IsSending, payout.IsUnknown, payout.IsSending, payout.IsPaid}},
		AccountReturns:     {payout.Succeeded, 1, []payout.Outcome{payout.IsSending, payout.IsPaid}},
	} {
		m := newCustomer(t, account)
		window := 2 * time.Second
		if account == AccountReturns {
			window = time.Second
		}
		m.work(window)
		if m.p.State != c.want || m.p.Sends != c.sends || len(m.said) != len(c.said) {
			t.Errorf("%s: %s after %d sends, outcomes %v; want %+v", account, m.p.State, m.p.Sends, m.said, c)
		}
		if len(m.paper.lines) != 1 {
			t.Errorf("%s: %d lines on the statement", account, len(m.paper.lines))
		}
		if account == AccountReturns {
			m.work(3 * time.Second)
			if m.p.State != payout.Returned || m.said[len(m.said)-1] != payout.IsReturned {
				t.Errorf("%s: %s, outcomes %v", account, m.p.State, m.said)
			}
		}
	}
}

// The bank says which of its successes it returns, and a time well after the return. Nobody asks about the others
// again.
func TestAgain(t *testing.T) {
	const margin = 400 * time.Millisecond
	for _, account := range []string{"0123456789", AccountReturns} {
		m := newCustomer(t, account)
		m.work(time.Second)
		if m.p.State != payout.Succeeded {
			t.Fatalf("%s: the payout is %s after a second, want succeeded", account, m.p.State)
		}
		again, returned := m.p.NextAt, m.paper.lines[m.p.Reference].DoneAt.Add(returnAfter)
		switch returns := account == AccountReturns; {
		case returns && again.Before(returned.Add(margin)):
			t.Errorf("%s: asked again at %s, want at least %s after the return at %s", account, again, margin, returned)
		case !returns && !again.IsZero():
			t.Errorf("%s: asked again at %s, want never", account, again)
		}
	}
}

func TestNames(t *testing.T) {
	r := newCustomer(t, "").rail
	if _, err := r.Resolve(t.Context(), money.NGN, "058", AccountNotFound); !errors.Is(err, rail.ErrNotFound) {
		t.Error(err)
	}
	if _, err := r.Resolve(t.Context(), money.NGN, "058", AccountNameDown); !errors.Is(err, rail.ErrUnavailable) {
		t.Error(err)
	}
	for _, c := range []struct {
		cur        money.Currency
		code, bank string
	}{
		{money.NGN, "058", "Guaranty Trust Bank"}, {money.GHS, "058", "Guaranty Trust Bank"}, {money.ZAR, "ABC9", "Test Bank ABC9"},
	} {
		a, err := r.Resolve(t.Context(), c.cur, c.code, "0123456789")
		b, _ := r.Resolve(t.Context(), c.cur, c.code, "0123456789")
		if err != nil || a != b || a.BankName != c.bank || a.Name == "" || !a.Verified {
			t.Errorf("Resolve(%s, %s) = %+v, %v; want the same verified name each time, at %s", c.cur, c.code, a, err, c.bank)
		}
	}
	a, _ := r.Resolve(t.Context(), money.NGN, "058", "0123456789")
	b, _ := r.Resolve(t.Context(), money.NGN, "058", "0123456780")
	if a.Name == b.Name {
		t.Error("neighbours have one name; the sandbox should show different ones")
	}
}

func TestOneReferenceIsOneTransfer(t *testing.T) {
	c := newCustomer(t, "0123456789")
	var wait sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for range 16 {
		wait.Go(func() {
			_, err := c.rail.Send(t.Context(), c.order())
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				taken++
			case !errors.Is(err, rail.ErrDuplicate):
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if taken != 1 || len(c.paper.lines) != 1 {
		t.Errorf("taken %d times, %d lines", taken, len(c.paper.lines))
	}
}

func TestOrderedOutcomes(t *testing.T) {
	ctx := t.Context()
	c := newCustomer(t, "0123456789")
	if err := c.rail.SetOutcome(ctx, "cw-a-1", Fail); err != nil { // before it was sent
		t.Fatal(err)
	}
	c.work(2 * time.Second)
	if c.p.State != payout.Failed {
		t.Errorf("ordered to fail: %s", c.p.State)
	}
	if err := c.rail.SetOutcome(ctx, "cw-a-1", Succeed); !fault.Is(err, "payout_concluded") {
		t.Errorf("a failure was rewritten: %v", err)
	}

	c = newCustomer(t, "0123456789")
	if err := c.rail.SetOutcome(ctx, "cw-a-1", Timeout); err != nil {
		t.Fatal(err)
	}
	c.work(30 * time.Second)
	if c.p.State != payout.Unknown || len(c.paper.lines) != 1 {
		t.Errorf("ordered to time out: %s, %d lines", c.p.State, len(c.paper.lines))
	}
	if err := c.rail.SetOutcome(ctx, "cw-a-1", Succeed); err != nil {
		t.Fatal(err)
	}
	c.work(20 * time.Second)
	if c.p.State != payout.Succeeded || c.p.Sends != 1 {
		t.Errorf("after the time-out was lifted: %s, %d sends", c.p.State, c.p.Sends)
	}
	if err := c.rail.SetOutcome(ctx, "cw-a-1", Fail); !fault.Is(err, "payout_concluded") {
		t.Errorf("a success was made a failure: %v", err)
	}
	if err := c.rail.SetOutcome(ctx, "cw-a-1", Return); err != nil {
		t.Fatal(err)
	}
	if s, err := c.rail.Query(ctx, money.NGN, "cw-a-1"); err != nil || s.State != rail.Returned {
		t.Errorf("ordered to return: %+v %v", s, err)
	}
	if err := c.rail.SetOutcome(ctx, "cw-a-1", "explode"); !fault.Is(err, "validation_failed") {
		t.Errorf("an unknown outcome: %v", err)
	}
}

func TestTheRestOfTheInterface(t *testing.T) {
	ctx := context.Background()
	r := newCustomer(t, "").rail
	if !r.Caps().Simulated || len(r.Caps().Currencies) != len(money.Currencies()) || r.Name() != Name {
		t.Errorf("Caps() = %+v, want a simulated rail for all currencies", r.Caps())
	}
	if b := r.Banks(money.KES); len(b) == 0 {
		t.Errorf("Banks(KES) = %v, want some", b)
	}
	if b, err := r.Balance(ctx, money.NGN); err != nil || !b.IsPositive() {
		t.Errorf("Balance(NGN) = %s, %v; want a positive amount", b, err)
	}
	if _, err := r.ParseWebhook(nil, nil); !errors.Is(err, rail.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := r.Query(ctx, money.NGN, "cw-none-1"); !errors.Is(err, rail.ErrNoSuchRef) {
		t.Error(err)
	}
}
