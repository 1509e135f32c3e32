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
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail"
)

// Watch is told what happens at the rails, for metrics. Every field may be nil.
type Watch struct {
	Outcome func(rail string, cur money.Currency, outcome string)
	Breaker func(rail string, cur money.Currency, open bool)
	Float   func(rail string, cur money.Currency, left decimal.Decimal)
	Hint    func(rail, outcome string)
}

// Bounds of the gate.
const (
	breakAfter = 5                // sends in a row without a clear answer
	breakFor   = 30 * time.Second // before one order may try again
	floatKeep  = 15 * time.Second // how long a balance is believed, less what was sent since
	tellAgain  = time.Minute      // between two alerts about one float
)

// gate is what an order passes before it is claimed: a breaker and the float, by rail and currency (R10). It holds payouts
// back that have not left, and knows nothing of those that have. Simulated rails have no gate.
type gate struct {
	now   func() time.Time
	watch Watch
	calls singleflight.Group

	mu    sync.Mutex
	lanes map[lane]*laneState
}

type lane struct {
	rail string
	cur  money.Currency
}

type laneState struct {
	unclear int       // sends in a row without a clear answer
	until   time.Time // the breaker is open
	left    decimal.Decimal
	read    time.Time // when left was the balance
	told    time.Time
}

func newGate(now func() time.Time, watch Watch) *gate {
	return &gate{now: now, watch: watch, lanes: map[lane]*laneState{}}
}

// at gives the state of a lane; the caller holds the lock.
func (g *gate) at(k lane) *laneState {
	s := g.lanes[k]
	if s == nil {
		s = &laneState{}
		g.lanes[k] = s
	}
	return s
}

// pass lets an order through or says why it has to wait.
func (g *gate) pass(ctx context.Context, p rail.Provider, o payout.Payout) (held payout.Observation, ok bool) {
	if p.Caps().Simulated {
		return held, true
	}
	held = payout.Observation{Seen: payout.NotNow}
	k := lane{p.Name(), o.Currency}
	g.mu.Lock()
	open := g.now().Before(g.at(k).until)
	g.mu.Unlock()
	if open {
		return held, false
	}
	if err := g.balance(ctx, p, k); err != nil {
		g.report(p, o.Currency, payout.Unsure)
		return held, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.at(k)
	if now := g.now(); now.Before(s.until) {
		return held, false
	} else if s.unclear >= breakAfter {
		s.until = now.Add(breakFor) // this one tries; the others wait for what becomes of it
	}
	if s.left.LessThan(o.Amount) {
		if now := g.now(); now.Sub(s.told) >= tellAgain {
			s.told, held.Alert = now, payout.AlertNoFloat
		}
		return held, false
	}
	return held, true
}

// balance reads the float of a lane unless it is known.
func (g *gate) balance(ctx context.Context, p rail.Provider, k lane) error {
	g.mu.Lock()
	s := g.at(k)
	known := !s.read.IsZero() && g.now().Sub(s.read) < floatKeep
	g.mu.Unlock()
	if known {
		return nil
	}
	_, err, _ := g.calls.Do(k.rail+" "+string(k.cur), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), provider.CallTimeout/2)
		defer cancel()
		left, err := p.Balance(ctx, k.cur)
		if err != nil {
			return nil, err
		}
		g.mu.Lock()
		s := g.at(k)
		s.left, s.read = left, g.now()
		g.mu.Unlock()
		if g.watch.Float != nil {
			g.watch.Float(k.rail, k.cur, left)
		}
		return nil, nil
	})
	return err
}

// sent takes an order off the float and notes what came of it.
func (g *gate) sent(p rail.Provider, o payout.Payout, seen payout.Seen) {
	g.mu.Lock()
	s := g.at(lane{p.Name(), o.Currency})
	s.left = s.left.Sub(o.Amount)
	g.mu.Unlock()
	g.report(p, o.Currency, seen)
}

// report notes what came of a call. Only answers that leave a doubt count against a rail: a refusal is an answer.
func (g *gate) report(p rail.Provider, cur money.Currency, seen payout.Seen) {
	if p.Caps().Simulated {
		return
	}
	g.mu.Lock()
	s := g.at(lane{p.Name(), cur})
	if seen == payout.Unsure || seen == payout.NotSent {
		if s.unclear++; s.unclear >= breakAfter {
			s.until = g.now().Add(breakFor)
		}
	} else {
		s.unclear, s.until = 0, time.Time{}
	}
	open := g.now().Before(s.until)
	g.mu.Unlock()
	if g.watch.Breaker != nil {
		g.watch.Breaker(p.Name(), cur, open)
	}
}

// ReadFloats reads our balance at every rail of an open mode, so that it is seen before it is needed. Call it now and then.
// A rail that does not answer keeps nobody from seeing the others.
func (w *Worker) ReadFloats(ctx context.Context) error {
	var failures []error
	for _, mode := range []tenant.Mode{tenant.Live, tenant.Test} {
		world, ok := w.Providers[mode]
		if !ok {
			continue
		}
		for _, p := range world.Rails() {
			if p.Caps().Simulated {
				continue
			}
			for cur := range p.Caps().Currencies {
				failures = append(failures, w.gate.balance(ctx, p, lane{p.Name(), cur}))
			}
		}
	}
	return errors.Join(failures...)
}
