//go:build integration

package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/merchants"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail/sim"
)

// walker is one payment of any type under random actions, over the real database. Every action is a use case; most are
// refused, and some run in parallel with another.
type walker struct {
	*fixture.Payments
	screener *fixture.Screener
	p        payment.Payment
	n        int
	mu       sync.Mutex
	versions map[string]int64 // of the transfers
	amounts  map[string]string
	broken   error // what must not happen and did, on any goroutine
}

func (g *walker) fault(err error) {
	if err == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.broken = errors.Join(g.broken, err)
}

// step is an action with everything that it has drawn.
type step func()

// draw chooses an action.
func (g *walker) draw(rt *rapid.T) step {
	ctx, ref := g.T.Context(), g.p.Reference
	pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, what) }
	switch what := pick("action", "money", "money", "money", "deeper", "deeper", "gone", "work", "work", "work", "bank", "window", "deadline", "claim", "claim",
		"fulfil", "fulfil", "cancel", "settle", "accept", "retry", "refund", "list", "down", "rescreen", "pause"); what {
	case "money", "deeper", "gone":
		key, amount := pick("transfer", "a", "b", "c"), pick("amount", "31.25", "31.25", "32.2", "15", "40", "0.01")
		depth := int64(0)
		if what == "deeper" {
			depth = fixture.Enough
		}
		sender := pick("sender", fixture.CleanSender, fixture.CleanSender, fixture.CleanSender, fixture.DirtySender)
		block := pick("block", "h", "h", "other")
		return func() {
			g.coin(fixture.Coin{Key: key, Amount: amount, Depth: depth, Reverted: what == "gone", Block: block}, sender)
		}
	case "work":
		dies := pick("the worker dies when it has", "not", "not", "not", "claimed", "sent", "queried")
		return func() { g.worked(dies) }
	case "bank":
		return func() { g.exec(`UPDATE sim_transfers SET done_at = now() - interval '1 minute'`) }
	case "window":
		return func() {
			g.exec(`UPDATE payments SET expires_at = now() - interval '2 minutes', due_at = CASE WHEN due_at IS NULL THEN NULL ELSE now() END
				WHERE id = $1 AND expires_at > now()`, g.p.ID)
			m := wire.ScannedThrough{Mode: tenant.Test, Network: "tron", Height: 200, BlockTime: time.Now().Add(time.Hour)}
			_ = admission.Scanned(g.Store.Advance)(ctx, "scanned", m)
			_ = g.Deposits.ExpireDue(ctx)
		}
	case "deadline":
		return func() {
			g.exec(`UPDATE payments SET deadline_at = now() - interval '1 second', due_at = now() WHERE id = $1 AND deadline_at IS NOT NULL AND status = 'confirmed'`, g.p.ID)
			_ = g.Deposits.ExpireDue(ctx)
		}
	case "claim":
		account := pick("account", "0123456789", sim.AccountFails, sim.AccountReturns, sim.AccountTimesOut)
		return func() { _, _ = g.Claim(ref, account, idempotency.Key{}) }
	case "fulfil":
		return func() { _, _ = g.Fulfil(ref, idempotency.Key{}) }
	case "cancel":
		return func() { _, _ = g.Merchants.Cancel(ctx, fixture.Owner, ref, idempotency.Key{}) }
	case "settle":
		return g.settleOwn
	case "accept", "retry":
		order := operators.Order{Operator: "ada", Action: operators.ActionAccept, Reason: "walk"}
		if what == "retry" {
			order = operators.Order{Operator: "ada", Action: operators.ActionRetry, Receiver: &payment.ReceiverInput{BankCode: "058", AccountNumber: pick("other account", "0123456789", sim.AccountFails)}}
		}
		return func() { _, _ = g.Operators.Resolve(ctx, ref, order, &fault.Problems{}, idempotency.Key{}) }
	case "refund":
		return func() {
			_, _ = g.Merchants.RefundAddress(ctx, fixture.Owner, ref, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", &fault.Problems{}, idempotency.Key{})
			_, _ = g.Resolve(g.p, operators.Order{Operator: "ada", Action: operators.ActionRefunded, TxHash: fixture.Hash(ref)})
		}
	case "list", "down":
		listed := pick("listed", "", fixture.DirtySender, fixture.DirtySender)
		return func() { g.screener.Set(what == "down", listed) }
	case "pause":
		resume := pick("payouts are", "paused", "resumed", "resumed") == "resumed"
		pause := admission.Pause{What: admission.PausePayouts, Operator: "ada"}
		return func() {
			if !resume {
				_, _ = g.Store.Pause(ctx, pause, idempotency.Key{}, nil)
			} else if found, err := g.Store.FindPause(ctx, pause); err == nil {
				_, _ = g.Store.Resume(ctx, found.ID, pause.Operator, "")
			}
		}
	default:
		return func() { _ = g.Deposits.Rescreen(ctx) }
	}
}

// exec is sql for goroutines of the walk.
func (g *walker) exec(text string, args ...any) {
	_, err := g.Pool.Exec(g.T.Context(), text, args...)
	g.fault(err)
}

// coin delivers a transfer of the chain, which keeps its amount.
func (g *walker) coin(c fixture.Coin, sender string) {
	g.mu.Lock()
	c.Key = fmt.Sprint("w", g.n, c.Key)
	g.versions[c.Key]++
	c.Version = g.versions[c.Key]
	if g.amounts[c.Key] == "" {
		g.amounts[c.Key] = c.Amount
	}
	c.Amount = g.amounts[c.Key]
	g.mu.Unlock()
	v, err := g.Store.FindAny(g.T.Context(), g.p.Reference)
	if err != nil || v.Payment.Address == "" {
		return
	}
	m := g.Message(v.Payment, c)
	m.Senders = []string{sender}
	g.fault(g.Deposits.DepositChanged(g.T.Context(), id.New(id.Message, time.Now()), m))
}

// worked makes a worker process every due payout, and perhaps crash.
func (g *walker) worked(dies string) {
	g.hurryUp()
	worker := g.DyingWorker(func(at string) bool { return at == dies })
	due, err := g.Due(4)
	g.fault(err)
	for _, o := range due {
		_ = worker.Step(g.T.Context(), o) // a worker that died, or a row that another one took: seen by what is checked after
	}
}

func (g *walker) hurryUp() {
	g.exec(`UPDATE payouts SET taken_until = NULL, next_at = now() - interval '1 second', lease_until = CASE WHEN lease_until IS NULL THEN NULL ELSE now() - interval '1 second' END,
		sent_at = sent_at - interval '1 hour', first_miss_at = first_miss_at - interval '1 hour' WHERE next_at IS NOT NULL AND payment_id = $1`, g.p.ID)
}

func (g *walker) settleOwn() {
	a, err := g.Merchants.IssueToken(g.T.Context(), fixture.Owner, g.p.Reference, idempotency.Key{})
	if err != nil {
		return
	}
	var issued struct{ SettlementToken string }
	if err := json.Unmarshal(a.Body, &issued); err == nil {
		_, _ = g.Merchants.Settle(g.T.Context(), fixture.Owner, g.p.Reference, merchants.Settlement{Token: issued.SettlementToken, Reference: "TRF"}, &fault.Problems{}, idempotency.Key{})
	}
}

// check tests the invariants after every action.
func (g *walker) check(rt *rapid.T) {
	id := g.p.ID
	if n := fixture.Ask[int](g.Payments, `SELECT count(*) FROM payouts WHERE payment_id = $1 AND state = 'succeeded'`, id); n > 1 {
		rt.Fatalf("%d payouts succeeded", n)
	}
	if n := fixture.Ask[int](g.Payments, `SELECT count(*) FROM sim_transfers t JOIN payouts o ON o.reference = t.ref WHERE o.payment_id = $1 AND t.outcome NOT IN ('fail', 'return')`, id); n > 1 {
		rt.Fatalf("the bank paid %d times", n)
	}
	// settled, or on its way: money was deep enough and converted, and cannot have been anything but
	if bad := fixture.Ask[int](g.Payments, `SELECT count(*) FROM payments p WHERE p.id = $1 AND (p.status = 'settled' OR p.payout IN ('sending', 'unknown', 'succeeded')) AND NOT (
		p.credit_frozen AND p.confirmed_at IS NOT NULL AND EXISTS (SELECT FROM ledger_journals j WHERE j.key = 'test:conv:' || p.id || '#' || p.credit_n)
		AND (p.reorged OR EXISTS (SELECT FROM deposits d WHERE d.payment_id = p.id AND d.counted > 0)))`, id); bad > 0 {
		rt.Fatalf("settled without confirmed money: %s", g.Dump())
	}
	if bad := fixture.Ask[int](g.Payments, `SELECT count(*) FROM payments p WHERE p.id = $1 AND (p.status = 'settled') <> (
		EXISTS (SELECT FROM ledger_journals j WHERE j.payment_id = p.id AND j.event IN ('payout_succeeded', 'settled_by_caller'))
		AND NOT EXISTS (SELECT FROM payouts o WHERE o.payment_id = p.id AND o.state = 'returned' AND o.attempt = p.attempt)
		AND p.payout = 'succeeded' AND p.ended <> 'refunded')`, id); bad > 0 {
		rt.Fatalf("the ledger and the status disagree on whether it is settled: %s", g.Dump())
	}
	g.checkHistory(rt)
	var sequences []int64
	for i, e := range g.Events(g.p) {
		var n int64
		var name string
		if _, err := fmt.Sscan(e, &n, &name); err != nil || n != int64(i+1) {
			rt.Fatalf("event %d is %q", i+1, e)
		}
		sequences = append(sequences, n)
	}
	if told := fixture.Ask[int64](g.Payments, `SELECT sequence FROM payments WHERE id = $1`, id); told != int64(len(sequences)) {
		rt.Fatalf("%d events, the payment counts %d", len(sequences), told)
	}
	if n := fixture.Ask[int](g.Payments, `SELECT count(*) FROM (SELECT e.asset FROM ledger_entries e JOIN ledger_journals j ON j.id = e.journal_id WHERE j.payment_id = $1
		GROUP BY e.asset HAVING sum(CASE e.side WHEN 'debit' THEN e.amount ELSE -e.amount END) <> 0) AS x`, id); n > 0 {
		rt.Fatalf("%d assets do not balance", n)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broken != nil {
		rt.Fatalf("an action failed: %v", g.broken)
	}
}

// checkHistory compares every written change with the table and with the change before it.
func (g *walker) checkHistory(rt *rapid.T) {
	rows, err := g.Pool.Query(g.T.Context(), `SELECT version, n, trigger, from_state, to_state FROM history WHERE payment_id = $1 ORDER BY version, n`, g.p.ID)
	if err != nil {
		rt.Fatal(err)
	}
	defer rows.Close()
	last := payment.StateNone
	var version, began int64
	var n int
	var trigger payment.TriggerName
	var from, to, first payment.State
	for rows.Next() {
		if err := rows.Scan(&version, &n, &trigger, &from, &to); err != nil {
			rt.Fatal(err)
		}
		if from != last {
			rt.Fatalf("the history jumps from %s to %s", last, from)
		}
		if version != began || n == 1 {
			began, first = version, from
		}
		// a change that runs through several states judges the money at each, as a deposit would
		if !allowed(from, trigger, to) && (n == 1 || (!allowed(first, trigger, to) && !allowed(from, payment.OnDeposits, to))) {
			rt.Fatalf("%s from %s (from %s) to %s is not in the table", trigger, from, first, to)
		}
		last = to
	}
	if now := g.Find(g.p.Reference).Payment.State(); now != last {
		rt.Fatalf("the payment is %s, its history ends with %s", now, last)
	}
}

func allowed(from payment.State, trigger payment.TriggerName, to payment.State) bool {
	cell := payment.Transitions()[from][trigger]
	return cell.Outcome != payment.Refuse && (from == to || slices.ContainsFunc(cell.Edges, func(e payment.Edge) bool { return e.To == to }))
}

// For the life of every type over the real store, with actions in any order and two in parallel: at most one payout
// succeeds, the ledger balances, nothing is settled without confirmed money, every change is in the table, and the
// events have no gap.
func TestLife_anyInterleavingOverTheStore(t *testing.T) {
	t.Parallel()
	w, screener := fixture.Screened(t)
	fixture.FewerLives(t)
	runs := 0
	ends := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		w.SQL(`UPDATE payouts SET next_at = NULL`) // of earlier runs
		w.SQL(`UPDATE payments SET due_at = NULL`)
		w.SQL(`DELETE FROM pauses`)
		w.SQL(`DELETE FROM outbox`) // which every step reads
		screener.Set(false)
		w.Fill(2)
		c := rapid.SampledFrom([]func() payment.Command{fixture.Command, fixture.Gift, fixture.Request, fixture.OwnSettled, func() payment.Command {
			c := fixture.Command()
			c.Type, c.Payer = "merchant", nil
			return c
		}}).Draw(rt, "type")()
		if c.Receiver != nil {
			c.Receiver.AccountNumber = rapid.SampledFrom([]string{"0123456789", "0123456789", sim.AccountFails, sim.AccountReturns, sim.AccountTimesOut, sim.AccountNeverArrive}).Draw(rt, "account")
		}
		g := &walker{Payments: w, screener: screener, p: w.Make(c), n: runs, versions: map[string]int64{}, amounts: map[string]string{}}
		rt.Repeat(map[string]func(*rapid.T){
			"one": func(rt *rapid.T) { g.draw(rt)() },
			"two at once": func(rt *rapid.T) {
				var all sync.WaitGroup
				for _, f := range []step{g.draw(rt), g.draw(rt)} {
					all.Go(f)
				}
				all.Wait()
			},
			"": g.check,
		})
		ends[w.Status(g.p)]++
		w.Balanced()
	})
	t.Logf("%d lives ended as %v", runs, ends)
}
