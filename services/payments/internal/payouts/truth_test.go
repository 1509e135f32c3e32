//go:build integration

package payouts_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/sim"
)

// gauntlet is one payment with a faulty bank, dying workers, a chain with reorgs, and operators who hold and retry. The
// bank makes a transfer for every order that reaches it, even for a reference that it has. An order arrives while it is
// being sent, or never.
type gauntlet struct {
	*fixture.Payments
	rt      *rapid.T // of the action that runs
	p       payment.Payment
	n       int // of the run
	version int64
	depth   int // of actions inside calls of the bank

	made    map[string]int        // transfers by reference
	verdict map[string]rail.State // of each
	orders  map[string]int        // orders put on the wire, whether they arrived or not
	misses  map[string]int        // answers that a reference is not known, since its last order
	noFunds map[string]bool       // the last order was refused for lack of balance
	over    map[string]bool       // references that a person has concluded, or has begun to
	sending bool                  // an order is on its way to the bank
	calm    bool
}

func (g *gauntlet) yes(what string) bool {
	return !g.calm && rapid.Bool().Draw(g.rt, what)
}

func (g *gauntlet) pick(what string, of ...string) string {
	return rapid.SampledFrom(of).Draw(g.rt, what)
}

// truth is the result of a query now.
func (g *gauntlet) truth(ref string) (rail.Status, error) {
	if g.made[ref] == 0 {
		return rail.Status{}, rail.ErrNoSuchRef
	}
	o := g.Find(g.p.Reference).Payout
	return rail.Status{Ref: ref, State: g.verdict[ref], Amount: o.Amount, Currency: o.Currency, RailID: "r-" + ref}, nil
}

func (g *gauntlet) send(o rail.Order) (rail.Status, error) {
	if state := fixture.Ask[string](g.Payments, `SELECT state FROM payouts WHERE reference = $1`, o.Ref); state != "sending" {
		g.rt.Fatalf("an order leaves while its row says %s", state)
	}
	if g.over[o.Ref] {
		g.rt.Fatalf("%s leaves after a person began to conclude it", o.Ref)
	}
	if g.orders[o.Ref]++; g.orders[o.Ref] > 1 && g.misses[o.Ref] < 3 && !g.noFunds[o.Ref] {
		g.rt.Fatalf("%s was sent again after %d answers that it is not known", o.Ref, g.misses[o.Ref])
	}
	g.misses[o.Ref], g.noFunds[o.Ref] = 0, false
	if g.yes("a person looks into the bank's books before the order arrives") {
		g.sending = true
		g.conclude()
		g.sending = false
	}
	fate := "answered"
	if !g.calm {
		fate = g.pick("fate of the order", "answered", "answer lost", "lost", "refused", "no funds")
	}
	switch fate {
	case "lost":
		return rail.Status{}, sim.ErrTimeout
	case "refused":
		return rail.Status{}, rail.ErrRefused
	case "no funds":
		g.noFunds[o.Ref] = true
		return rail.Status{}, rail.ErrNoFunds
	}
	g.made[o.Ref]++
	g.verdict[o.Ref] = rail.Pending
	g.check()
	g.meanwhile()
	if fate == "answer lost" {
		return rail.Status{}, sim.ErrTimeout
	}
	return g.truth(o.Ref)
}

func (g *gauntlet) query(ref string) (rail.Status, error) {
	if g.yes("no answer") {
		return rail.Status{}, sim.ErrTimeout
	}
	status, err := g.truth(ref)
	if err != nil {
		g.misses[ref]++
	}
	g.meanwhile()
	return status, err
}

// meanwhile runs another action during a call of the bank.
func (g *gauntlet) meanwhile() {
	if g.calm || g.depth >= 2 || !g.yes("something happens meanwhile") {
		return
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.pick("meanwhile", "work", "time", "chain", "hint", "verdict", "conclude") {
	case "conclude":
		g.conclude()
	case "work":
		g.work1()
	case "time":
		g.Hurry()
	case "chain":
		g.chain()
	case "hint":
		g.hint()
	case "verdict":
		g.decideVerdict()
	}
}

// work1 makes a worker process every due payout, and perhaps crash.
func (g *gauntlet) work1() {
	at := ""
	if !g.calm {
		at = g.pick("the worker dies when it has", "not", "not", "claimed", "sent", "queried")
	}
	g.CrashAt(func(step string) bool { return step == at })
	worker := g.NewWorker(g.yes("the worker is in recovery"))
	due, err := g.Due(4)
	if err != nil {
		g.rt.Fatal(err)
	}
	for _, o := range due {
		if err := worker.Step(g.T.Context(), o); err != nil && g.calm {
			g.rt.Fatalf("step of a payout in state %s: %v", o.State, err)
		}
	}
}

// chain puts the deposit into a block or takes it out.
func (g *gauntlet) chain() {
	g.version++
	g.See(g.p, fixture.Coin{Key: fmt.Sprint("g", g.n), Amount: "31.25", Version: g.version, Depth: fixture.Enough, Reverted: g.yes("reorged away")})
}

// hint is a webhook of the rail: look now.
func (g *gauntlet) hint() {
	g.SQL(`UPDATE payouts SET next_at = now(), taken_until = NULL WHERE next_at IS NOT NULL AND payment_id = $1`, g.p.ID)
}

// decideVerdict makes the bank decide a pending transfer.
func (g *gauntlet) decideVerdict() {
	for ref := range g.made {
		if g.verdict[ref] == rail.Pending { // of one at most
			g.verdict[ref] = rail.State(g.pick("verdict", string(rail.Succeeded), string(rail.Succeeded), string(rail.Failed)))
		}
	}
}

// person is an operator who holds the payment or decides on it.
func (g *gauntlet) person() {
	err := g.Store.Update(g.T.Context(), g.p.ID, func(v change.View, now time.Time) (change.Result, error) {
		var trigger payment.Trigger = payment.Screened{Verdict: payment.Hit, Rows: v.Rows}
		switch {
		case v.Payment.Payout == payment.PayoutFailed:
			trigger = payment.Retry{Refunds: v.Refunds}
		case v.Payment.Hold != payment.NotHeld:
			trigger = payment.Accept{Rows: v.Rows, Refunds: v.Refunds}
		}
		p, facts, err := g.Deps.Policy.Apply(v.Payment, trigger, now)
		return change.Result{Payment: p, Facts: facts}, err
	})
	if err != nil && g.calm {
		g.rt.Fatal(err)
	}
}

// conclude makes an operator conclude the payout by the bank's books, the operator's only source.
func (g *gauntlet) conclude() {
	o := g.Find(g.p.Reference).Payout
	if o == nil {
		return
	}
	order := operators.PayoutOrder{Operator: "ada", Outcome: "failed", Evidence: "the bank's books", Reason: "stuck", Sends: -1}
	if g.made[o.Reference] > 0 {
		switch g.verdict[o.Reference] {
		case rail.Succeeded:
			order.Outcome = "paid"
		case rail.Pending: // the bank does not know yet
			return
		}
	}
	onWire := g.sending
	_, err := g.Operators.ConcludePayout(g.T.Context(), o.ID, order, &fault.Problems{}, idempotency.Key{})
	if err == nil && onWire {
		g.rt.Fatalf("concluded as %s while an order is on the wire", order.Outcome)
	}
	if err == nil {
		g.over[o.Reference] = true
		return
	}
	switch code := fault.As(err).Code; code {
	case "payout_in_flight":
		g.over[o.Reference] = true
	case "payout_not_sent", "payout_concluded":
	default:
		g.rt.Fatalf("concluded as %s: %v", order.Outcome, err)
	}
}

// stuck reports a payout that only an operator can continue.
func (g *gauntlet) stuck() bool {
	return fixture.Ask[bool](g.Payments, `SELECT EXISTS (SELECT FROM payouts WHERE payment_id = $1 AND state IN ('sending', 'pending', 'unknown') AND (frozen OR paged OR stopped))`, g.p.ID)
}

// check tests the guarantee: at most one success per payment.
func (g *gauntlet) check() {
	paid := 0
	for ref, n := range g.made {
		if n > 1 {
			g.rt.Fatalf("the bank made %d transfers for %s", n, ref)
		}
		if g.verdict[ref] != rail.Failed {
			paid++
		}
	}
	if paid > 1 {
		g.rt.Fatalf("%d transfers of one payment may succeed: %v", paid, g.verdict)
	}
}

// finish ends all faults: the payment settles with exactly one success.
func (g *gauntlet) finish() {
	g.calm = true
	g.chain()
	for range 60 {
		for ref, v := range g.verdict {
			if v == rail.Pending {
				g.verdict[ref] = rail.Succeeded
			}
		}
		switch status := fixture.Ask[string](g.Payments, `SELECT status FROM payments WHERE id = $1`, g.p.ID); status {
		case "settled":
			if len(g.made) == 0 {
				g.rt.Fatal("settled without a transfer")
			}
			succeeded := 0
			for _, v := range g.verdict {
				if v == rail.Succeeded {
					succeeded++
				}
			}
			if succeeded != 1 {
				g.rt.Fatalf("settled with %d successes", succeeded)
			}
			return
		case "needs_review":
			g.person()
		}
		if g.stuck() {
			g.conclude()
		}
		g.Hurry()
		g.work1()
	}
	g.rt.Fatalf("not settled: %s %s, verdicts %v", g.Status(g.p), g.PayoutRow(g.p), g.verdict)
}

// For any interleaving of send, lost and late answers, poll, webhook, reorg, hold, retry, an operator's conclusion and
// crash, a payment is paid at most once, and exactly once when it has settled. A row in state sending is queried and
// never sent, and no order leaves after an operator began to conclude its payout.
func TestPayout_truthOverAnyInterleaving(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	fixture.FewerLives(t)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		w.SQL(`UPDATE payouts SET next_at = NULL`) // of earlier runs
		w.Fill(1)
		g := &gauntlet{
			Payments: w, rt: rt, p: w.Make(fixture.Command()), n: runs, made: map[string]int{}, verdict: map[string]rail.State{},
			orders: map[string]int{}, misses: map[string]int{}, noFunds: map[string]bool{}, over: map[string]bool{},
		}
		w.Rig(fixture.Rigged{
			OnResolve: func() (rail.Account, error) {
				return rail.Account{BankName: "GTB", Name: "ADA EZE", Verified: true}, nil
			},
			OnSend: g.send, OnQuery: g.query,
		})
		g.chain()
		action := func(f func()) func(*rapid.T) {
			return func(rt *rapid.T) {
				g.rt = rt
				f()
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"work": action(g.work1), "work more": action(g.work1), "time": action(g.Hurry), "hint": action(g.hint), "chain": action(g.chain),
			"verdict": action(g.decideVerdict), "person": action(g.person), "conclude": action(g.conclude), "": action(g.check),
		})
		g.rt = rt
		g.finish()
		if !rt.Failed() {
			w.Balanced()
		}
	})
}
