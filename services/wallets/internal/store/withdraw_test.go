//go:build integration

package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/sweep"
)

// A refund is cancelled as long as it has no transaction, also before its order arrives. Messages that repeat change
// nothing.
func TestWithdrawRefund(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	one := approved("rfd_1", tenant.Live)
	for range 2 {
		if err := s.RefuseRefund(ctx, one.Ordered, wire.RefundCancelled); err != nil {
			t.Fatalf("withdraw a refund before its order: got %v, want no error", err)
		}
	}
	tells(t, pool, "withdraw a refund before its order", "rfd_1 failed 1 5 0 cancelled")
	for range 2 {
		if err := s.TakeRefund(ctx, one); err != nil {
			t.Fatalf("take the order of a withdrawn refund: got %v, want no error", err)
		}
	}
	tells(t, pool, "take the order of a withdrawn refund")

	for _, id := range []string{"rfd_2", "rfd_3"} {
		if err := s.TakeRefund(ctx, approved(id, tenant.Live)); err != nil {
			t.Fatal(err)
		}
	}
	changes(t, pool)
	idle, err := s.Refunds().Idle(ctx, "ethereum", 10)
	if err != nil || len(idle) != 2 {
		t.Fatalf("list the refunds that wait: got %+v, %v, want rfd_2 and rfd_3", idle, err)
	}
	planned, waits := idle[0].ID, idle[1].ID
	follows(t, s, pool)
	for i, w := range idle {
		o := plannedRefund(fmt.Sprint("out_", i), w, uint64(i))
		if err := s.Refunds().Plan(ctx, o); err != nil {
			t.Fatal(err)
		}
		if w.ID != planned {
			continue
		}
		if may, err := s.Refunds().Ask(ctx, o); err != nil || !may {
			t.Fatalf("ask for a signature of refund %s: got %t, %v, want true", w.ID, may, err)
		}
	}
	for _, c := range []struct {
		id   string
		late bool
		want string
	}{
		{planned, true, planned + " signing 2 5 0 not_cancelled"},
		{waits, false, waits + " failed 2 5 0 cancelled"},
	} {
		err := s.RefuseRefund(ctx, approved(c.id, tenant.Live).Ordered, wire.RefundCancelled)
		if late := errors.Is(err, app.ErrOtherOrder); late != c.late || !late && err != nil {
			t.Errorf("withdraw refund %s: got %v, want ErrOtherOrder %t", c.id, err, c.late)
		}
		if c.late {
			if err := s.KeepRefund(ctx, c.id); err != nil {
				t.Errorf("answer that refund %s goes on: got %v, want no error", c.id, err)
			}
		}
		tells(t, pool, "withdraw refund "+c.id, c.want)
	}
	if err := s.KeepRefund(ctx, waits); err != nil {
		t.Errorf("answer about a refund that has ended: got %v, want no error", err)
	}
	tells(t, pool, "answer about a refund that has ended")
}

// A signature is asked for, or the refund ends without a transaction, and never both, however the two meet.
func TestWithdrawRefund_whileAsked(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	follows(t, s, pool)
	ends := map[string]func(r app.Refund) error{
		"withdraw": func(r app.Refund) error { return s.RefuseRefund(ctx, r.Ordered, wire.RefundCancelled) },
		"give up":  func(r app.Refund) error { return s.Refunds().GiveUpRefund(ctx, r.Ordered.ID) },
		"refuse": func(r app.Refund) error {
			return s.Refunds().Refuse(ctx, sweep.Sweep{ID: r.Ordered.ID}, wire.RefundOrderRefused)
		},
	}
	for name, end := range ends {
		for i := range 20 {
			r := approved(fmt.Sprintf("rfd_%s_%d", name, i), tenant.Live)
			if err := s.TakeRefund(ctx, r); err != nil {
				t.Fatal(err)
			}
			w := sweep.Sweep{ID: r.Ordered.ID, Order: &r.Ordered}
			var wg sync.WaitGroup
			var ended error
			asked := false
			wg.Go(func() {
				o := plannedRefund("out_"+w.ID, w, uint64(i))
				if err := s.Refunds().Plan(ctx, o); err != nil {
					return
				}
				var err error
				if asked, err = s.Refunds().Ask(ctx, o); err != nil {
					t.Errorf("ask for a signature of refund %s: got %v, want no error", w.ID, err)
				}
			})
			wg.Go(func() { ended = end(r) })
			wg.Wait()
			var state string
			var plans int
			if err := pool.QueryRow(ctx, `SELECT state, (SELECT count(*) FROM outgoing_tx WHERE refund = refunds.id) FROM refunds WHERE id = $1`, w.ID).
				Scan(&state, &plans); err != nil {
				t.Fatal(err)
			}
			if asked == (ended == nil) || (state == "failed") != (ended == nil) || (plans == 1) != asked {
				t.Fatalf("ask and %s refund %d at once: got asked %t, ended %v, %d plans, state %s, want one of the two", name, i, asked, ended, plans, state)
			}
			if _, err := pool.Exec(ctx, `UPDATE outgoing_tx SET sender = id`); err != nil { // the number is free for the next round
				t.Fatal(err)
			}
		}
	}
}
