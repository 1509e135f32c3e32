package payouts

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/sync/singleflight"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail"
)

// Metrics holds the callbacks of the metrics of rails. Every field may be nil.
type Metrics struct {
	Outcome func(rail string, cur money.Currency, outcome string)
	Breaker func(rail string, cur money.Currency, open bool)
	Float   func(rail string, cur money.Currency, left decimal.Decimal)
	Hint    func(rail, outcome string)
}

// Limits of the checks before a send.
const (
	breakAfter = 5                // sends in a row without a clear answer
	breakFor   = 30 * time.Second // before one order may try again
	floatKeep  = 15 * time.Second // how long a balance is used, less the orders sent since
	tellAgain  = time.Minute      // between two alerts about one float
)

// corridors holds the checks before a send: the breaker and the float of each corridor (R10). It holds back payouts
// that have not left; it does not touch those that have. Simulated rails have no such checks.
type corridors struct {
	now     func() time.Time
	metrics Metrics
	calls   singleflight.Group

	mu     sync.Mutex
	states map[corridor]*corridorState
}

type corridor struct {
	rail string
	cur  money.Currency
}

type corridorState struct {
	unclear int       // sends in a row without a clear answer
	until   time.Time // the breaker is open
	left    decimal.Decimal
	read    time.Time // when left was read
	alerted time.Time
}

func newCorridors(now func() time.Time, metrics Metrics) *corridors {
	return &corridors{now: now, metrics: metrics, states: map[corridor]*corridorState{}}
}

// at returns the state of a corridor; the caller holds the lock.
func (c *corridors) at(k corridor) *corridorState {
	s := c.states[k]
	if s == nil {
		s = &corridorState{}
		c.states[k] = s
	}
	return s
}

// pass lets an order through or returns the reason to wait.
func (c *corridors) pass(ctx context.Context, p rail.Provider, o payout.Payout) (held payout.Observation, ok bool) {
	if p.Caps().Simulated {
		return held, true
	}
	held = payout.Observation{Seen: payout.NotNow}
	k := corridor{p.Name(), o.Currency}
	c.mu.Lock()
	open := c.now().Before(c.at(k).until)
	c.mu.Unlock()
	if open {
		return held, false
	}
	if err := c.balance(ctx, p, k); err != nil {
		c.report(p, o.Currency, payout.Unsure)
		return held, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.at(k)
	if now := c.now(); now.Before(s.until) {
		return held, false
	} else if s.unclear >= breakAfter {
		s.until = now.Add(breakFor) // this order is the probe; the others wait for its result
	}
	if s.left.LessThan(o.Amount) {
		if now := c.now(); now.Sub(s.alerted) >= tellAgain {
			s.alerted, held.Alert = now, alert.FloatShort
		}
		return held, false
	}
	return held, true
}

// balance reads the float of a corridor unless it is known.
func (c *corridors) balance(ctx context.Context, p rail.Provider, k corridor) error {
	c.mu.Lock()
	s := c.at(k)
	known := !s.read.IsZero() && c.now().Sub(s.read) < floatKeep
	c.mu.Unlock()
	if known {
		return nil
	}
	_, err, _ := c.calls.Do(k.rail+" "+string(k.cur), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), provider.CallTimeout/2)
		defer cancel()
		left, err := p.Balance(ctx, k.cur)
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		s := c.at(k)
		s.left, s.read = left, c.now()
		c.mu.Unlock()
		if c.metrics.Float != nil {
			c.metrics.Float(k.rail, k.cur, left)
		}
		return nil, nil
	})
	return err
}

// sent subtracts an order from the float and counts its result.
func (c *corridors) sent(p rail.Provider, o payout.Payout, seen payout.Seen) {
	c.mu.Lock()
	s := c.at(corridor{p.Name(), o.Currency})
	s.left = s.left.Sub(o.Amount)
	c.mu.Unlock()
	c.report(p, o.Currency, seen)
}

// report counts the result of a call. Only unclear answers count against a rail: a refusal is a clear answer.
func (c *corridors) report(p rail.Provider, cur money.Currency, seen payout.Seen) {
	if p.Caps().Simulated {
		return
	}
	c.mu.Lock()
	s := c.at(corridor{p.Name(), cur})
	if seen == payout.Unsure || seen == payout.NotSent {
		if s.unclear++; s.unclear >= breakAfter {
			s.until = c.now().Add(breakFor)
		}
	} else {
		s.unclear, s.until = 0, time.Time{}
	}
	open := c.now().Before(s.until)
	c.mu.Unlock()
	if c.metrics.Breaker != nil {
		c.metrics.Breaker(p.Name(), cur, open)
	}
}

// ReadFloats reads our balance at every rail of an open mode, so that the metric shows it before a payout needs it.
// Call it every minute. It reads the other rails when one does not answer.
func (w *Worker) ReadFloats(ctx context.Context) error {
	var failures []error
	for _, mode := range []tenant.Mode{tenant.Live, tenant.Test} {
		set, ok := w.Providers[mode]
		if !ok {
			continue
		}
		for _, p := range set.Rails() {
			if p.Caps().Simulated {
				continue
			}
			for cur := range p.Caps().Currencies {
				failures = append(failures, w.corridors.balance(ctx, p, corridor{p.Name(), cur}))
			}
		}
	}
	return errors.Join(failures...)
}

// TellRails stores the states of the rails at this worker, for operators. Call it every few seconds.
func (w *Worker) TellRails(ctx context.Context) error {
	return w.Store.TellRails(ctx, w.id, w.corridors.all())
}

// all lists the states of the corridors.
func (c *corridors) all() []provider.RailState {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]provider.RailState, 0, len(c.states))
	for k, s := range c.states {
		one := provider.RailState{Rail: k.rail, Currency: k.cur, Unclear: s.unclear, Balance: s.left, ReadAt: s.read}
		if c.now().Before(s.until) {
			one.OpenUntil = s.until
		}
		out = append(out, one)
	}
	return out
}
