//go:build integration

package store_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/payment"
)

// seeNumbered delivers a snapshot as wallets' n-th message of the chain.
func (w *fixture) seeNumbered(p payment.Payment, c coin, n int64) {
	w.t.Helper()
	m := w.message(p, c)
	m.Number = n
	if err := w.app.DepositChanged(w.t.Context(), fmt.Sprintf("numbered-%d", n), m); err != nil {
		w.t.Fatal(err)
	}
}

// progressed reports that tron is scanned through a time, after a number of deposits.
func (w *fixture) progressed(at time.Time, deposits int64) {
	w.t.Helper()
	m := wire.ScannedThrough{Mode: tenant.Test, Network: "tron", Height: 100, BlockTime: at, Deposits: deposits}
	if err := admission.Scanned(w.store.Advance)(w.t.Context(), "scanned", m); err != nil {
		w.t.Fatal(err)
	}
}

func (w *fixture) expire() {
	w.t.Helper()
	if err := w.app.ExpireDue(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// wasEver reports whether the payment ever was in a state.
func (w *fixture) wasEver(p payment.Payment, state string) bool {
	return ask[int](w, `SELECT count(*) FROM history WHERE payment_id = $1 AND to_state = $2`, p.ID, state) > 0
}

// Scan progress that overtakes the deposits of the scanned blocks closes no window. An on-time payment does not expire,
// and a short transfer is not paid out while its top-up is still in the queue.
func TestProgress_waitsForTheDepositsBeforeIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(3)
	p, short, never := w.made(command()), w.made(command()), w.made(command())
	ended := time.Now().Add(-3 * time.Minute)
	first := coin{key: "s1", amount: "20", version: 1, at: ended.Add(-time.Minute)}
	w.seeNumbered(short, first, 1)
	w.sql(`UPDATE payments SET expires_at = $1, due_at = $1`, ended)
	onTime := ended.Add(-time.Second)

	w.progressed(ended.Add(2*time.Minute), 3) // 2 and 3 are still queued
	w.expire()
	w.want(p, "pending")
	w.want(short, "pending underpaid")
	w.want(never, "pending")
	w.seeNumbered(short, coin{key: "s2", amount: "11.25", version: 1, at: onTime}, 3)
	for range 2 { // the broker brings the first again
		w.seeNumbered(short, first, 1)
	}
	w.progressed(ended.Add(2*time.Minute), 3) // a repeated message
	w.expire()
	w.want(p, "pending")
	w.want(never, "pending")
	w.seeNumbered(p, coin{key: "t1", amount: "31.25", version: 1, at: onTime}, 2)
	w.progressed(ended.Add(3*time.Minute), 3)
	w.expire()
	w.want(p, "confirming")
	w.want(short, "confirming")
	w.want(never, "expired")
	if w.wasEver(p, "expired") || w.wasEver(short, "expired") {
		t.Error("a payment on time was expired for a while")
	}
	if n := ask[int](w, `SELECT (SELECT count(*) FROM scan_taken) + (SELECT count(*) FROM scan_waiting)`); n != 0 {
		t.Errorf("%d numbers are kept", n)
	}
}

// Unmined money keeps the window open until the hold ends and the network is scanned past that time.
func TestProgress_mempoolHold(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(2)
	p, mined := w.made(command()), w.made(command())
	ended := time.Now().Add(-3 * time.Hour)
	w.sql(`UPDATE payments SET expires_at = $1, due_at = $1`, ended)
	for _, p := range []payment.Payment{p, mined} {
		w.see(p, coin{key: p.ID, amount: "31.25", version: 1, unmined: true, at: ended})
	}
	if n := ask[int](w, `SELECT count(*) FROM payments WHERE due_at = waits_until AND due_at = expires_at + interval '2 hours'`); n != 2 {
		t.Errorf("%d payments wait for a block", n)
	}
	w.scanned(1, ended.Add(2*time.Hour))
	w.expire()
	w.want(p, "confirming")
	w.see(mined, coin{key: mined.ID, amount: "31.25", version: 2, depth: 1, at: ended.Add(2 * time.Hour)})
	w.scanned(2, ended.Add(2*time.Hour+2*time.Minute))
	w.expire()
	w.want(p, "expired")
	w.want(mined, "confirming")
	if n := ask[int](w, `SELECT count(*) FROM payments WHERE due_at IS NOT NULL OR waits_until IS NOT NULL`); n != 0 {
		t.Errorf("%d payments still wait", n)
	}
}

// Progress without numbers, from an older wallets, is accepted at once.
func TestProgress_withoutNumbers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(1)
	p := w.made(command())
	ended := time.Now().Add(-3 * time.Minute)
	w.sql(`UPDATE payments SET expires_at = $1, due_at = $1`, ended)
	w.progressed(ended.Add(2*time.Minute), 0)
	w.expire()
	w.want(p, "expired")
}

// Many consumers process deposits in any order and more than once while progress overtakes them and the timer runs. No
// payment that was paid on time expires, and every other one does.
func TestProgress_manyConsumers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const payments = 24
	w.fill(2 * payments)
	ended := time.Now().Add(-3 * time.Minute)
	paid, unpaid := make([]payment.Payment, payments), make([]payment.Payment, payments)
	for i := range payments {
		paid[i], unpaid[i] = w.made(command()), w.made(command())
	}
	w.sql(`UPDATE payments SET expires_at = $1, due_at = $1`, ended)
	var order []int
	for i := range payments {
		order = append(order, i, i) // each message is delivered twice
	}
	rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	queue := make(chan int)
	var consumers sync.WaitGroup
	for range 6 {
		consumers.Go(func() {
			for i := range queue {
				w.seeNumbered(paid[i], coin{key: fmt.Sprint("t", i), amount: "31.25", version: 1, at: ended.Add(-time.Second)}, int64(i+1))
			}
		})
	}
	for n, i := range order {
		queue <- i
		if n%4 == 0 {
			w.progressed(ended.Add(2*time.Minute), payments)
			w.expire()
		}
	}
	close(queue)
	consumers.Wait()
	w.progressed(ended.Add(2*time.Minute), payments)
	w.expire()
	for i := range payments {
		w.want(paid[i], "confirming")
		w.want(unpaid[i], "expired")
		if w.wasEver(paid[i], "expired") {
			t.Error("a payment on time was expired for a while")
		}
	}
}

// A missing deposit stops all expiry of its network and raises an alert.
func TestProgress_tellsOfAMissingDeposit(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.progressed(time.Now(), 1)
	if w.alerts.Load() != 0 {
		t.Error("told at once")
	}
	w.sql(`UPDATE scan_waiting SET told_at = now() - interval '11 minutes'`)
	w.progressed(time.Now(), 1)
	if w.alerts.Load() != 1 {
		t.Errorf("%d alerts", w.alerts.Load())
	}
	if got := ask[string](w, `SELECT block_time::text FROM scan_progress`); !strings.HasPrefix(got, "1970") {
		t.Errorf("scanned through %s", got)
	}
}

// An operator skips only deposit messages that have been missing for ten minutes. Progress still waits for deposits
// that wallets published again since, also before the first of them arrives.
func TestProgress_skipWaitsForDepositsPublishedAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(2)
	p, never := w.made(command()), w.made(command())
	ended := time.Now().Add(-time.Hour)
	w.sql(`UPDATE payments SET expires_at = $1, due_at = $1`, ended)
	progress := func(published time.Time, deposits int64) {
		t.Helper()
		m := wire.ScannedThrough{
			Mode: tenant.Test, Network: "tron", Height: 100, BlockTime: time.Now(), Deposits: deposits,
			State: wire.ScanFollowing, Head: 100, HeadTime: published, ToldAt: published,
		}
		if err := admission.Scanned(w.store.Advance)(t.Context(), "scanned", m); err != nil {
			t.Fatal(err)
		}
		w.expire()
	}
	skip := func() (int64, error) { return w.store.SkipDeposits(t.Context(), "ops:ada", "test", "tron", "lost") }
	noGap := func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "has been missing for ten minutes")
	}

	progress(time.Now(), 2) // 1 and 2 are gone
	if n, err := skip(); !noGap(err) {
		t.Errorf("skipping what has been missing for a moment: got %d and error %v, want that none is missing", n, err)
	}
	w.sql(`UPDATE scan_waiting SET told_at = now() - interval '11 minutes'`)
	if n, err := skip(); err != nil || n != 2 { // wallets has published the deposit of p again, as 3
		t.Errorf("skipping: got %d and error %v, want 2 and none", n, err)
	}
	progress(time.Now(), 2) // published before the third, and late
	w.want(p, "pending")
	progress(time.Now().Add(time.Hour), 3)
	w.want(p, "pending")
	if n, err := skip(); !noGap(err) {
		t.Errorf("skipping what was published again: got %d and error %v, want that none is missing", n, err)
	}
	w.seeNumbered(p, coin{key: "t1", amount: "31.25", version: 1, at: ended.Add(-time.Second)}, 3)
	progress(time.Now().Add(time.Hour), 3)
	w.want(p, "confirming")
	w.want(never, "expired")
	if w.wasEver(p, "expired") {
		t.Error("a payment on time was expired for a while")
	}
	if got := ask[string](w, `SELECT detail->>'skipped' FROM audit WHERE action = 'expiry.skipped'`); got != "2" {
		t.Errorf("the audit says %s messages were skipped, want 2", got)
	}
}
