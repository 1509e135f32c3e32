//go:build integration

package deposits_test

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
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
)

// seeNumbered delivers a snapshot as wallets' n-th message of the chain.
func seeNumbered(w *fixture.Payments, p payment.Payment, c fixture.Coin, n int64) {
	w.T.Helper()
	m := w.Message(p, c)
	m.Number = n
	if err := w.Deposits.DepositChanged(w.T.Context(), fmt.Sprintf("numbered-%d", n), m); err != nil {
		w.T.Fatal(err)
	}
}

func expire(w *fixture.Payments) {
	w.T.Helper()
	if err := w.Deposits.ExpireDue(w.T.Context()); err != nil {
		w.T.Fatal(err)
	}
}

// wasEver reports whether the payment ever was in a state.
func wasEver(w *fixture.Payments, p payment.Payment, state string) bool {
	return fixture.Ask[int](w, `SELECT count(*) FROM history WHERE payment_id = $1 AND to_state = $2`, p.ID, state) > 0
}

// Scan progress that overtakes the deposits of the scanned blocks closes no window. An on-time payment does not expire,
// and a short transfer is not paid out while its top-up is still in the queue.
func TestProgress_waitsForTheDepositsBeforeIt(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(3)
	p, short, never := w.Make(fixture.Command()), w.Make(fixture.Command()), w.Make(fixture.Command())
	ended := time.Now().Add(-3 * time.Minute)
	first := fixture.Coin{Key: "s1", Amount: "20", Version: 1, At: ended.Add(-time.Minute)}
	seeNumbered(w, short, first, 1)
	w.SQL(`UPDATE payments SET expires_at = $1, due_at = $1`, ended)
	onTime := ended.Add(-time.Second)

	w.Progressed(ended.Add(2*time.Minute), 3) // 2 and 3 are still queued
	expire(w)
	w.Want(p, "pending")
	w.Want(short, "pending underpaid")
	w.Want(never, "pending")
	seeNumbered(w, short, fixture.Coin{Key: "s2", Amount: "11.25", Version: 1, At: onTime}, 3)
	for range 2 { // the broker brings the first again
		seeNumbered(w, short, first, 1)
	}
	w.Progressed(ended.Add(2*time.Minute), 3) // a repeated message
	expire(w)
	w.Want(p, "pending")
	w.Want(never, "pending")
	seeNumbered(w, p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, At: onTime}, 2)
	w.Progressed(ended.Add(3*time.Minute), 3)
	expire(w)
	w.Want(p, "confirming")
	w.Want(short, "confirming")
	w.Want(never, "expired")
	if wasEver(w, p, "expired") || wasEver(w, short, "expired") {
		t.Error("a payment on time was expired for a while")
	}
	if n := fixture.Ask[int](w, `SELECT (SELECT count(*) FROM scan_taken) + (SELECT count(*) FROM scan_waiting)`); n != 0 {
		t.Errorf("%d numbers are kept", n)
	}
}

// Unmined money keeps the window open until the hold ends and the network is scanned past that time.
func TestProgress_mempoolHold(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(2)
	p, mined := w.Make(fixture.Command()), w.Make(fixture.Command())
	ended := time.Now().Add(-3 * time.Hour)
	w.SQL(`UPDATE payments SET expires_at = $1, due_at = $1`, ended)
	for _, p := range []payment.Payment{p, mined} {
		w.See(p, fixture.Coin{Key: p.ID, Amount: "31.25", Version: 1, Unmined: true, At: ended})
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments WHERE due_at = waits_until AND due_at = expires_at + interval '2 hours'`); n != 2 {
		t.Errorf("%d payments wait for a block", n)
	}
	w.Scanned(1, ended.Add(2*time.Hour))
	expire(w)
	w.Want(p, "confirming")
	w.See(mined, fixture.Coin{Key: mined.ID, Amount: "31.25", Version: 2, Depth: 1, At: ended.Add(2 * time.Hour)})
	w.Scanned(2, ended.Add(2*time.Hour+2*time.Minute))
	expire(w)
	w.Want(p, "expired")
	w.Want(mined, "confirming")
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments WHERE due_at IS NOT NULL OR waits_until IS NOT NULL`); n != 0 {
		t.Errorf("%d payments still wait", n)
	}
}

// Progress without numbers, from an older wallets, is accepted at once.
func TestProgress_withoutNumbers(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(1)
	p := w.Make(fixture.Command())
	ended := time.Now().Add(-3 * time.Minute)
	w.SQL(`UPDATE payments SET expires_at = $1, due_at = $1`, ended)
	w.Progressed(ended.Add(2*time.Minute), 0)
	expire(w)
	w.Want(p, "expired")
}

// Many consumers process deposits in any order and more than once while progress overtakes them and the timer runs. No
// payment that was paid on time expires, and every other one does.
func TestProgress_manyConsumers(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	const payments = 24
	w.Fill(2 * payments)
	ended := time.Now().Add(-3 * time.Minute)
	paid, unpaid := make([]payment.Payment, payments), make([]payment.Payment, payments)
	for i := range payments {
		paid[i], unpaid[i] = w.Make(fixture.Command()), w.Make(fixture.Command())
	}
	w.SQL(`UPDATE payments SET expires_at = $1, due_at = $1`, ended)
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
				seeNumbered(w, paid[i], fixture.Coin{Key: fmt.Sprint("t", i), Amount: "31.25", Version: 1, At: ended.Add(-time.Second)}, int64(i+1))
			}
		})
	}
	for n, i := range order {
		queue <- i
		if n%4 == 0 {
			w.Progressed(ended.Add(2*time.Minute), payments)
			expire(w)
		}
	}
	close(queue)
	consumers.Wait()
	w.Progressed(ended.Add(2*time.Minute), payments)
	expire(w)
	for i := range payments {
		w.Want(paid[i], "confirming")
		w.Want(unpaid[i], "expired")
		if wasEver(w, paid[i], "expired") {
			t.Error("a payment on time was expired for a while")
		}
	}
}

// A missing deposit stops all expiry of its network and raises an alert.
func TestProgress_tellsOfAMissingDeposit(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Progressed(time.Now(), 1)
	if w.Alerts.Load() != 0 {
		t.Error("alert at once")
	}
	w.SQL(`UPDATE scan_waiting SET told_at = now() - interval '11 minutes'`)
	w.Progressed(time.Now(), 1)
	if w.Alerts.Load() != 1 {
		t.Errorf("%d alerts", w.Alerts.Load())
	}
	if got := fixture.Ask[string](w, `SELECT block_time::text FROM scan_progress`); !strings.HasPrefix(got, "1970") {
		t.Errorf("scanned through %s", got)
	}
}

// An operator skips only deposit messages that have been missing for ten minutes. Progress still waits for deposits
// that wallets published again since, also before the first of them arrives.
func TestProgress_skipWaitsForDepositsPublishedAgain(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(2)
	p, never := w.Make(fixture.Command()), w.Make(fixture.Command())
	ended := time.Now().Add(-time.Hour)
	w.SQL(`UPDATE payments SET expires_at = $1, due_at = $1`, ended)
	progress := func(published time.Time, deposits int64) {
		t.Helper()
		m := wire.ScannedThrough{
			Mode: tenant.Test, Network: "tron", Height: 100, BlockTime: time.Now(), Deposits: deposits,
			State: wire.ScanFollowing, Head: 100, HeadTime: published, ToldAt: published,
		}
		if err := admission.Scanned(w.Store.Advance)(t.Context(), "scanned", m); err != nil {
			t.Fatal(err)
		}
		expire(w)
	}
	skip := func() (int64, error) { return w.Store.SkipDeposits(t.Context(), "ops:ada", "test", "tron", "lost") }
	noGap := func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "has been missing for ten minutes")
	}

	progress(time.Now(), 2) // 1 and 2 are gone
	if n, err := skip(); !noGap(err) {
		t.Errorf("skipping what has been missing for a moment: got %d and error %v, want that none is missing", n, err)
	}
	w.SQL(`UPDATE scan_waiting SET told_at = now() - interval '11 minutes'`)
	if n, err := skip(); err != nil || n != 2 { // wallets has published the deposit of p again, as 3
		t.Errorf("skipping: got %d and error %v, want 2 and none", n, err)
	}
	progress(time.Now(), 2) // published before the third, and late
	w.Want(p, "pending")
	progress(time.Now().Add(time.Hour), 3)
	w.Want(p, "pending")
	if n, err := skip(); !noGap(err) {
		t.Errorf("skipping what was published again: got %d and error %v, want that none is missing", n, err)
	}
	seeNumbered(w, p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, At: ended.Add(-time.Second)}, 3)
	progress(time.Now().Add(time.Hour), 3)
	w.Want(p, "confirming")
	w.Want(never, "expired")
	if wasEver(w, p, "expired") {
		t.Error("a payment on time was expired for a while")
	}
	if got := fixture.Ask[string](w, `SELECT detail->>'skipped' FROM audit WHERE action = 'expiry.skipped'`); got != "2" {
		t.Errorf("the audit says %s messages were skipped, want 2", got)
	}
}
