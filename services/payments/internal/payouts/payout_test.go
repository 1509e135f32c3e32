package payouts_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/payouts"
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
