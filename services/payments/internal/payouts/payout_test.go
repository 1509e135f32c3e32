package payouts_test

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
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

func (q *queue) DuePayouts(_ context.Context, most int, _ payout.Rails) ([]payout.Payout, error) {
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

// ledger gives out payouts that have left, as long as they are due and nobody has taken them for five seconds, and
// writes what the worker learns.
type ledger struct {
	payouts.Store
	mu    sync.Mutex
	rows  []payout.Payout
	taken map[string]time.Time
	asked map[string]int // answers about each
}

func (l *ledger) DuePayouts(_ context.Context, most int, of payout.Rails) (out []payout.Payout, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.rows {
		if len(out) < most && o.Mode == of.Mode && l.asked[o.ID] == 0 && time.Since(l.taken[o.ID]) >= 5*time.Second && slices.Contains(of.Names, o.Rail) != of.Others {
			l.taken[o.ID], o.ReadAt, o.ReadHere = time.Now(), time.Now(), time.Now()
			out = append(out, o)
		}
	}
	return out, nil
}

func (l *ledger) SavePayout(_ context.Context, o payout.Payout) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked[o.ID]++
	return true, nil
}

// simulatedRail is a simulated rail that answers at once.
type simulatedRail struct{ self.Rail }

func (simulatedRail) Name() string    { return "sim" }
func (simulatedRail) Caps() rail.Caps { return rail.Caps{Simulated: true} }
func (simulatedRail) Query(context.Context, money.Currency, string) (rail.Status, error) {
	return rail.Status{}, rail.ErrNoSuchRef
}

// A real rail is asked about as many payouts at once as there are slots, and about each once, while it takes its time.
// Payouts of a simulated rail wait for none of them.
func TestPayoutWorker_lanes(t *testing.T) {
	for name, mode := range map[string]tenant.Mode{"of two modes": tenant.Live, "of one mode": tenant.Test} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { keepsLanes(t, mode) }) })
	}
}

// keepsLanes runs a worker with a real rail in one mode and a simulated one in test mode.
func keepsLanes(t *testing.T, mode tenant.Mode) {
	const real, simulated, slots = 60, 100, 8
	bank := &teller{answer: make(chan struct{})}
	providers := map[tenant.Mode]provider.Set{
		tenant.Live: {Rail: bank, Timing: payout.LiveTiming()}, tenant.Test: {Rail: simulatedRail{}, Timing: payout.TestTiming()},
	}
	if mode == tenant.Test {
		providers = map[tenant.Mode]provider.Set{mode: {Rail: bank, Others: []rail.Provider{simulatedRail{}}, Timing: payout.LiveTiming()}}
	}
	l := &ledger{taken: map[string]time.Time{}, asked: map[string]int{}}
	add := func(n int, mode tenant.Mode, rail string) {
		for i := range n {
			l.rows = append(l.rows, payout.Payout{
				ID: rail + strconv.Itoa(i), Mode: mode, Rail: rail, State: payout.Unknown, Sends: 1, SentAt: time.Now(), NextAt: time.Now(),
			})
		}
	}
	add(real, mode, bank.Name())
	add(simulated, tenant.Test, "sim")
	worker := payouts.New(payouts.Options{
		Store: l, Slots: slots, Now: time.Now, Log: slog.New(slog.DiscardHandler), Providers: providers,
	})
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	time.Sleep(time.Second) // of the bubble
	synctest.Wait()
	if n := len(l.asked); n != simulated {
		t.Errorf("%d of %d payouts of the simulated rail were asked about while the other does not answer", n, simulated)
	}
	for left := real; left > 0; left -= slots {
		time.Sleep(provider.CallTimeout / 4)
		synctest.Wait()
		want := min(slots, left)
		if n := int(bank.asking.Load()); n != want {
			t.Errorf("with %d payouts left the rail is asked about %d at once, want %d", left, n, want)
		}
		for range want {
			bank.answer <- struct{}{}
		}
	}
	time.Sleep(time.Second)
	synctest.Wait()
	for id, times := range l.asked {
		if times != 1 {
			t.Errorf("payout %s was asked about %d times, want once", id, times)
		}
	}
	if len(l.asked) != real+simulated || bank.late.Load() > 0 {
		t.Errorf("%d of %d payouts were asked about, and %d calls ended before their answer", len(l.asked), real+simulated, bank.late.Load())
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
