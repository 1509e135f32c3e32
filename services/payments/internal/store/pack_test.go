//go:build integration

package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"causeway.internal/libs/testkit/holdup"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/store"
)

// crowd makes changes wait until all are there, so that they share a transaction, and returns their errors in order. A
// change that panics returns what it panicked with.
func crowd(w *fixture.Payments, changes ...func() error) []error {
	w.T.Helper()
	var members sync.WaitGroup
	one, release := hold(w)
	errs := make([]error, len(changes))
	for i, f := range changes {
		members.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("panic: %v", p)
				}
			}()
			errs[i] = f()
		})
	}
	until(w, func() bool { return w.Store.Waiting() == len(changes) })
	one() // one pack takes them all; two would share them
	members.Wait()
	release()
	return errs
}

// until waits for a condition that other goroutines bring about.
func until(w *fixture.Payments, holds func() bool) {
	w.T.Helper()
	holdup.Until(w.T, holds)
}

// hold keeps all packs busy: one ends one of them, release the others.
func hold(w *fixture.Payments) (one, release func()) {
	w.T.Helper()
	var holders sync.WaitGroup
	held, end := make(chan struct{}), make(chan struct{})
	for range 2 { // as many packs as run at once
		p := w.Make(fixture.Command())
		var once sync.Once // a pack that is undone decides again
		holders.Go(func() {
			if err := w.Store.Update(w.T.Context(), p.ID, func(change.View, time.Time) (change.Result, error) {
				once.Do(func() {
					held <- struct{}{}
					<-end
				})
				return change.Result{}, nil
			}); err != nil {
				w.T.Errorf("hold a pack = %v, want no error", err)
			}
		})
		<-held
	}
	one = func() { end <- struct{}{} }
	release = func() {
		close(end)
		holders.Wait()
	}
	return one, release
}

// made makes payments and a transfer to each that is deep enough.
func made(w *fixture.Payments, n int) (ps []payment.Payment, arrive []func() error) {
	w.T.Helper()
	w.Fill(n + 2)
	for i := range n {
		p := w.Make(fixture.Command())
		m := w.Message(p, fixture.Coin{Key: fmt.Sprint("t", i), Amount: "31.25", Version: 1, Depth: fixture.Enough})
		ps = append(ps, p)
		arrive = append(arrive, func() error { return w.Deposits.DepositChanged(w.T.Context(), "message "+m.Key, m) })
	}
	return ps, arrive
}

// together is how many transactions wrote the rows of payments last.
func together(w *fixture.Payments, ps []payment.Payment) int {
	w.T.Helper()
	ids := make([]string, len(ps))
	for i, p := range ps {
		ids[i] = p.ID
	}
	return fixture.Ask[int](w, `SELECT count(DISTINCT xmin::text) FROM payments WHERE id = ANY($1)`, ids)
}

var confirmed = []string{"1 payment.pending", "2 payment.confirming", "3 payment.confirmed"}

// Transfers and payouts of different payments that come together are written together, with the same rows as alone.
func TestPack_sharesATransaction(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	ps, arrive := made(w, 6)
	for i, err := range crowd(w, arrive...) {
		if err != nil {
			t.Errorf("transfer %d of a pack = %v, want no error", i, err)
		}
	}
	if n := together(w, ps); n != 1 {
		t.Errorf("6 transfers that came together were written in %d transactions, want 1", n)
	}
	for _, p := range ps {
		w.Want(p, "confirmed")
		if got := w.Events(p); !slices.Equal(got, confirmed) {
			t.Errorf("events of a payment in a pack = %v, want %v", got, confirmed)
		}
		if got := fixture.Ask[string](w, `SELECT string_agg(version || ' ' || n || ' ' || from_state || ' ' || to_state, ', ' ORDER BY version, n) FROM history WHERE payment_id = $1`, p.ID); got != "1 1 none pending, 2 1 pending confirming, 2 2 confirming confirmed" {
			t.Errorf("history of a payment in a pack = %s", got)
		}
	}
	w.Balanced()
	due, err := w.Due(16)
	if err != nil || len(due) != len(ps) {
		t.Fatalf("Due() = %d payouts, %v, want %d and no error", len(due), err, len(ps))
	}
	var steps []func() error
	for _, o := range due {
		steps = append(steps, func() error { return w.Worker.Step(t.Context(), o) })
	}
	w.Fill(2)
	for i, err := range crowd(w, steps...) {
		if err != nil {
			t.Errorf("step of payout %d of a pack = %v, want no error", i, err)
		}
	}
	if n := together(w, ps); n != 1 {
		t.Errorf("6 payouts that were due together were claimed in %d transactions, want 1", n)
	}
	for _, p := range ps {
		w.Settles(p)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM sim_transfers`); n != len(ps) {
		t.Errorf("%d transfers at the bank for %d payments", n, len(ps))
	}
	w.Balanced()
}

// A payment that is funded and screened in one change marks its transfer twice. The last mark holds, and the pack is
// written in one transaction.
func TestPack_screenedTransfers(t *testing.T) {
	t.Parallel()
	w, _ := fixture.Screened(t)
	ps, arrive := made(w, 3)
	for i, err := range crowd(w, arrive...) {
		if err != nil {
			t.Errorf("screened transfer %d of a pack = %v, want no error", i, err)
		}
	}
	if n := together(w, ps); n != 1 {
		t.Errorf("3 screened transfers that came together were written in %d transactions, want 1", n)
	}
	for _, p := range ps {
		w.Want(p, "confirmed")
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM deposits WHERE booked = 'customer' AND counted = amount`); n != len(ps) {
		t.Errorf("%d transfers are booked and counted, want %d", n, len(ps))
	}
	w.Balanced()
}

// A member that fails or panics gets its own error and leaves no trace. The others are changed.
func TestPack_failingMember(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	ps, arrive := made(w, 5)
	errOwn := errors.New("refused")
	fails := func(message, key string, p payment.Payment, f change.Func) func() error {
		return func() error {
			in := change.Incoming{MessageID: message, Mode: p.Mode, Family: "tron", Address: p.Address, Deposit: payment.Deposit{
				Key: key, Version: 1, Network: "tron", Asset: "USDT", Amount: p.Quote.CryptoAmount, Senders: []string{}, FirstSeenAt: time.Now(),
			}}
			return w.Store.Receive(t.Context(), in, f, func(payment.Deposit) ([]ledger.Journal, payment.Mark) { return nil, payment.Mark{} })
		}
	}
	retry := slices.Clone(arrive)
	arrive[1] = fails("refused", "r", ps[1], func(change.View, time.Time) (change.Result, error) { return change.Result{}, errOwn })
	arrive[2] = func() error {
		return w.Store.Update(t.Context(), ps[2].ID, func(change.View, time.Time) (change.Result, error) { return change.Result{}, errOwn })
	}
	errs := crowd(w, arrive...)
	for i, err := range errs {
		if failed := i == 1 || i == 2; failed != errors.Is(err, errOwn) || !failed && err != nil {
			t.Errorf("change %d of a pack, of which 1 and 2 fail = %v", i, err)
		}
	}
	if n := together(w, []payment.Payment{ps[0], ps[3], ps[4]}); n != 1 {
		t.Errorf("the members of a pack that did not fail were written in %d transactions, want 1", n)
	}
	if n := fixture.Ask[int](w, `SELECT (SELECT count(*) FROM inbox WHERE message_id = 'refused') + (SELECT count(*) FROM deposits WHERE key = 'r')`); n != 0 {
		t.Errorf("a member that failed left %d rows, want none, or its message is lost", n)
	}
	w.Fill(2)
	errs = crowd(w, retry[1], retry[2], fails("panics", "p", ps[0], func(change.View, time.Time) (change.Result, error) { panic("at the disco") }))
	if errs[0] != nil || errs[1] != nil || errs[2] == nil || errs[2].Error() != "panic: at the disco" {
		t.Errorf("a pack of which the last member panics = %v", errs)
	}
	for _, p := range ps {
		w.Want(p, "confirmed")
	}
	w.Balanced()
}

// A pack does not wait for a payment that somebody else has locked. That one is changed once its lock is free.
func TestPack_lockedMember(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	ps, arrive := made(w, 4)
	tx, err := w.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), `SELECT FROM payments WHERE id = $1 FOR UPDATE`, ps[0].ID); err != nil {
		t.Fatal(err)
	}
	var rest, committed sync.WaitGroup
	rest.Add(3)
	for i := 1; i < len(arrive); i++ {
		alone := arrive[i]
		arrive[i] = func() error { defer rest.Done(); return alone() }
	}
	committed.Go(func() { // the lock becomes free once the others are changed
		rest.Wait()
		if err := tx.Commit(t.Context()); err != nil {
			t.Errorf("commit = %v, want no error", err)
		}
	})
	defer committed.Wait()
	for i, err := range crowd(w, arrive...) {
		if err != nil {
			t.Errorf("transfer %d of a pack with a locked member = %v, want no error", i, err)
		}
	}
	if n := together(w, ps[1:]); n != 1 {
		t.Errorf("the members that nobody had locked were written in %d transactions, want 1", n)
	}
	for _, p := range ps {
		w.Want(p, "confirmed")
	}
}

// When the database loses a pack before its commit, every member is changed, once.
func TestPack_killed(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	ps, arrive := made(w, 5)
	last := ps[4]
	var once sync.Once
	arrive[4] = func() error {
		return w.Store.Update(t.Context(), last.ID, func(change.View, time.Time) (change.Result, error) {
			once.Do(func() {
				w.SQL(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`)
			})
			return change.Result{}, nil
		})
	}
	for i, err := range crowd(w, arrive...) {
		if err != nil {
			t.Errorf("change %d of a pack whose connection was ended = %v, want no error", i, err)
		}
	}
	for _, p := range ps[:4] {
		if got := w.Events(p); !slices.Equal(got, confirmed) {
			t.Errorf("events of a payment whose pack was undone = %v, want %v", got, confirmed)
		}
	}
	w.Balanced()
}

// A change whose caller gives up while it waits for a pack is not made, and the caller does not wait on.
func TestPack_cancelledWhileItWaits(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	ps, _ := made(w, 1)
	_, release := hold(w)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		gone <- w.Store.Update(ctx, ps[0].ID, func(change.View, time.Time) (change.Result, error) {
			t.Error("a change whose caller has given up is decided on")
			return change.Result{}, nil
		})
	}()
	until(w, func() bool { return w.Store.Waiting() > 0 })
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) { // it would never come while the packs are held
		t.Errorf("a change whose caller has given up = %v, want %v", err, context.Canceled)
	}
	if n := w.Store.Waiting(); n != 0 {
		t.Errorf("%d changes wait after the only one was given up, want none", n)
	}
	release()
}

// A change that moves the balance of a merchant is made alone: many payments share that row.
func TestPack_merchantsBalance(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	ps, _ := made(w, 4)
	w.SQL(`UPDATE payments SET to_balance = true`)
	var arrive []func() error
	for i, p := range ps {
		m := w.Message(p, fixture.Coin{Key: fmt.Sprint("f", i), Amount: "31.25", Version: 1, Depth: 64, Final: true})
		arrive = append(arrive, func() error { return w.Deposits.DepositChanged(t.Context(), "final "+m.Key, m) })
	}
	for i, err := range crowd(w, arrive...) {
		if err != nil {
			t.Errorf("transfer %d to a balance = %v, want no error", i, err)
		}
	}
	if n := together(w, ps); n != len(ps) {
		t.Errorf("%d payments to a balance were written in %d transactions, want as many", len(ps), n)
	}
	if got := fixture.Ask[string](w, `SELECT balance::text FROM ledger_accounts WHERE code LIKE 'test:merchant:%'`); got != "198000" {
		t.Errorf("the balance of the merchant is %s, want 4 times 49500", got)
	}
	w.Balanced()
}

// Snapshots that come twice and in any order, to two processes at once, leave each payment as one process that got them
// in order.
func TestPack_anyOrderInTwoProcesses(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	other := *w.Deposits
	other.Store = store.New(w.Pool, w.Store.Options)
	w.Fill(16)
	var ps []payment.Payment
	type message struct {
		id string
		wire.DepositChanged
	}
	var all []message
	at := time.Now()
	for i := range 16 {
		p := w.Make(fixture.Command())
		ps = append(ps, p)
		key := fmt.Sprint("t", i)
		for _, c := range []fixture.Coin{
			{Key: key, Amount: "31.25", Version: 1, At: at},
			{Key: key, Amount: "31.25", Version: 2, At: at, Depth: fixture.Enough},
			{Key: key, Amount: "31.25", Version: 3, At: at, Depth: 64, Final: true},
		} {
			m := message{fmt.Sprint(key, " ", c.Version), w.Message(p, c)}
			all = append(all, m, m)
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var busy sync.WaitGroup
	for i, m := range all {
		at := w.Deposits
		if i%2 == 0 {
			at = &other
		}
		busy.Go(func() {
			if err := at.DepositChanged(t.Context(), m.id, m.DepositChanged); err != nil {
				t.Errorf("DepositChanged(%s) = %v, want no error", m.id, err)
			}
		})
	}
	busy.Wait()
	for _, p := range ps {
		w.Want(p, "confirmed")
		if got := fixture.Ask[string](w, `SELECT version || ' ' || depth || ' ' || finalized || ' ' || counted FROM deposits WHERE payment_id = $1`, p.ID); !strings.HasPrefix(got, "3 64 true 31.25") {
			t.Errorf("transfer after its three snapshots = %s, want the last, counted once", got)
		}
		if got := w.Events(p); !slices.Equal(got, confirmed) {
			t.Errorf("events = %v, want %v", got, confirmed)
		}
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payouts`); n != len(ps) {
		t.Errorf("%d payouts of %d payments", n, len(ps))
	}
	w.Balanced()
}

// Changes that wait for one payment's lock leave connections to the others.
func TestPack_busyPaymentLeavesConnections(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(2)
	busy, other := w.Make(fixture.Command()), w.Make(fixture.Command())
	lock, err := w.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Rollback(context.WithoutCancel(t.Context())) //nolint:errcheck // it ends the test's lock
	if _, err := lock.Exec(t.Context(), `SELECT FROM payments WHERE id = $1 FOR UPDATE`, busy.ID); err != nil {
		t.Fatal(err)
	}
	unchanged := func(change.View, time.Time) (change.Result, error) { return change.Result{}, nil }
	var waiters sync.WaitGroup
	var begun, ended atomic.Int64
	all := 3 * int64(w.Pool.Config().MaxConns)
	for range all {
		waiters.Go(func() {
			begun.Add(1)
			_ = w.Store.Update(t.Context(), busy.ID, unchanged) // the wait for the lock may time out
			ended.Add(1)
		})
	}
	const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
	quiet := 0 // looks in a row at which all have left the packs
	until(w, func() bool {
		quiet++
		if begun.Load() < all || w.Store.Waiting() > 0 || fixture.Ask[int](w, waiting) < max(1, int(w.Pool.Config().MaxConns)/2) {
			quiet = 0
		}
		return quiet == 20
	})
	if err := w.Store.Update(t.Context(), other.ID, unchanged); err != nil || ended.Load() > 0 {
		t.Errorf("change a payment while another is busy: %v, after %d changes of the busy one had given up; want it to wait for none", err, ended.Load())
	}
	if err := lock.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	waiters.Wait()
}
