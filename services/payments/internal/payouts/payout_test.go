package payouts_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/payouts"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/self"
)

// queue gives payouts out, as many as are asked for, and ends the worker when all are gone.
type queue struct {
	payouts.Store
	mu   sync.Mutex
	left int
	most int
	end  context.CancelFunc
}

func (q *queue) DuePayouts(_ context.Context, most int) ([]payout.Payout, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.most = max(q.most, most)
	n := min(most, q.left)
	if q.left -= n; q.left == 0 {
		q.end()
	}
	return make([]payout.Payout, n), nil
}

// A worker whose slots are all taken reads due payouts again as soon as half of them are free, without waiting for the
// next tick.
func TestPayoutWorker_goesOnWhileMoreIsDue(t *testing.T) {
	const slots, due = 4, 2000 // 50 s at a tick for every four
	ctx, end := context.WithTimeout(t.Context(), 30*time.Second)
	defer end()
	q := &queue{left: due, end: end}
	worker := payouts.New(payouts.Options{Store: q, Slots: slots, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err := worker.Run(ctx); err != nil { // each step fails at once: no mode is open
		t.Fatal(err)
	}
	if q.left != 0 || q.most > slots {
		t.Errorf("%d of %d payouts were left, and up to %d asked for at once", q.left, due, q.most)
	}
}

// teller is a rail that moves real money. Its answers wait.
type teller struct {
	self.Rail
	answer       chan struct{}
	asking, late atomic.Int32
}

func (*teller) Name() string { return "teller" }

func (t *teller) Query(ctx context.Context, _ money.Currency, ref string) (rail.Status, error) {
	t.asking.Add(1)
	defer t.asking.Add(-1)
	select {
	case <-t.answer:
	case <-ctx.Done():
		t.late.Add(1)
	}
	return rail.Status{Ref: ref}, rail.ErrNoSuchRef
}

// ledger gives out payouts that have left, and writes what the worker learns.
type ledger struct {
	payouts.Store
	due   chan payout.Payout
	saved atomic.Int32
}

func (l *ledger) DuePayouts(_ context.Context, most int) (out []payout.Payout, err error) {
	for len(out) < most {
		select {
		case o := <-l.due:
			out = append(out, o)
		default:
			return out, nil
		}
	}
	return out, nil
}

func (l *ledger) SavePayout(context.Context, payout.Payout) (bool, error) {
	l.saved.Add(1)
	return true, nil
}

// A real rail is asked about a few payouts at once, however many are in hand. Those that wait lose no time for it.
func TestPayoutWorker_railSlots(t *testing.T) {
	const due, slots, atRail = 60, 64, 8
	synctest.Test(t, func(t *testing.T) {
		bank := &teller{answer: make(chan struct{})}
		l := &ledger{due: make(chan payout.Payout, due)}
		for range due {
			l.due <- payout.Payout{
				Mode: tenant.Live, Rail: bank.Name(), Reference: "r", State: payout.Unknown, Sends: 1,
				SentAt: time.Now(), NextAt: time.Now(), ReadAt: time.Now(), ReadHere: time.Now(),
			}
		}
		worker := payouts.New(payouts.Options{
			Store: l, Slots: slots, RailSlots: atRail, Now: time.Now, Log: slog.New(slog.DiscardHandler),
			Providers: map[tenant.Mode]provider.Set{tenant.Live: {Rail: bank, Timing: payout.LiveTiming()}},
		})
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- worker.Run(ctx) }()
		for left := due; left > 0; left -= atRail {
			synctest.Wait()
			want := min(atRail, left)
			if n := int(bank.asking.Load()); n != want {
				t.Errorf("with %d payouts left the rail is asked about %d at once, want %d", left, n, want)
			}
			time.Sleep(provider.CallTimeout * 3 / 4) // of the bubble: two of these would take all time of a call
			for range want {
				bank.answer <- struct{}{}
			}
		}
		synctest.Wait()
		if n, late := l.saved.Load(), bank.late.Load(); n != due || late > 0 {
			t.Errorf("%d of %d answers were written, and %d calls ended before their answer", n, due, late)
		}
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
