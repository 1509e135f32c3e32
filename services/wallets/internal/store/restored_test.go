//go:build integration

package store_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/sweeper"
)

// Since the backup a refund that waits may have failed, and payments may have refunded its money again: after a restore
// nothing is planned for it before an operator has looked. So may one with a plan that the signer was not asked for.
// Reports win over those of the lost time.
func TestRecover_refunds(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Refunds(), t.Context()
	if err := base.Begin(ctx, liveLease, scanner.Cursor{Header: header(0, "h0", "")}); err != nil {
		t.Fatal(err)
	}
	final(t, base, pool)
	for _, id := range []string{"rfd_1", "rfd_2", "rfd_3"} {
		if err := base.TakeRefund(ctx, approved(id, tenant.Live)); err != nil {
			t.Fatal(err)
		}
	}
	idle, err := s.Idle(ctx, "ethereum", 10)
	if err != nil || len(idle) != 3 {
		t.Fatalf("list the refunds that wait: got %+v, %v, want three", idle, err)
	}
	sent, waits, unasked := idle[0], idle[1], idle[2]
	for n, w := range []sweep.Sweep{sent, unasked} {
		if err := s.Plan(ctx, plannedRefund(fmt.Sprint("out_", n), w, uint64(n))); err != nil {
			t.Fatal(err)
		}
	}
	if may, err := s.Ask(ctx, sweep.Outgoing{ID: "out_0", Sweep: sent}); err != nil || !may {
		t.Fatalf("ask for the signature of the first refund: got %t, %v, want true", may, err)
	}
	drain[wire.RefundChanged](t, pool, wire.RefundChangedV1)

	restored := time.Now().UnixMilli()
	for range 2 { // the second is a restart in recovery
		if err := base.Recover(ctx, 10); err != nil {
			t.Fatal(err)
		}
	}
	if idle, err := s.Idle(ctx, "ethereum", 10); err != nil || len(idle) != 0 {
		t.Errorf("list the refunds that wait after the restore: got %+v, %v, want none", idle, err)
	}
	list, err := s.UnfinishedRefunds(ctx)
	if err != nil || len(list) != 3 {
		t.Fatalf("list what has not ended: got %+v, %v, want three", list, err)
	}
	for _, r := range list {
		if want := r.ID != sent.ID; r.Blocked != want || strings.Contains(r.Reason, "database was restored") != want {
			t.Errorf("read refund %s after the restore: got %+v, want it blocked: %t", r.ID, r, want)
		}
	}
	under, err := s.Underway(ctx, "ethereum", 10)
	if err != nil || len(under) != 1 {
		t.Fatalf("list what is under way: got %+v, %v, want one", under, err)
	}
	if err := s.Signed(ctx, under[0], []byte("raw"), "0x1"); err != nil {
		t.Fatal(err)
	}
	if under, err = s.Underway(ctx, "ethereum", 10); err != nil || len(under) != 1 {
		t.Fatalf("list what is signed: got %+v, %v, want one", under, err)
	}
	if err := s.Sent(ctx, under[0], true); err != nil {
		t.Fatal(err)
	}
	got := drain[wire.RefundChanged](t, pool, wire.RefundChangedV1)
	if len(got) != 1 || got[0].RefundID != sent.ID || got[0].Version <= restored {
		t.Errorf("read the messages after the restore: got %+v, want one of %s with a version above %d", got, sent.ID, restored)
	}

	if err := s.ReleaseRefund(ctx, waits.ID); err != nil {
		t.Fatal(err)
	}
	if err := base.Recover(ctx, 10); err != nil { // another restart
		t.Fatal(err)
	}
	if idle, err := s.Idle(ctx, "ethereum", 10); err != nil || len(idle) != 1 || idle[0].ID != waits.ID {
		t.Errorf("list the refunds that wait after a release: got %+v, %v, want %s", idle, err, waits.ID)
	}
	if err := s.GiveUpRefund(ctx, unasked.ID); err != nil {
		t.Errorf("give up a refund that only a plan of the backup had: got %v, want no error", err)
	}
}

// On tron an operator may have given a refund up since the backup, once its forms had expired, and the signer would
// sign the next one: after a restore no form follows before an operator has compared the refund with payments.
func TestRecover_furtherForm(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Refunds(), t.Context()
	follows(t, base, pool)
	if err := base.TakeRefund(ctx, approved("rfd_1", tenant.Live)); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(ctx, `UPDATE refunds SET family = 'tron'`); err != nil {
		t.Fatal(err)
	}
	idle, err := s.Idle(ctx, "ethereum", 10)
	if err != nil || len(idle) != 1 {
		t.Fatalf("list the refunds that wait: got %+v, %v, want one", idle, err)
	}
	underway := func() sweep.Outgoing {
		t.Helper()
		list, err := s.Underway(ctx, "ethereum", 10)
		if err != nil || len(list) != 1 {
			t.Fatalf("list what is under way: got %+v, %v, want one", list, err)
		}
		return list[0]
	}
	if err := s.Plan(ctx, plannedRefund("out_1", idle[0], 0)); err != nil {
		t.Fatal(err)
	}
	if may, err := s.Ask(ctx, underway()); err != nil || !may {
		t.Fatalf("ask for the signature of the first form: got %t, %v, want true", may, err)
	}
	if err := s.Signed(ctx, underway(), []byte("raw"), "0x1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Sent(ctx, underway(), true); err != nil {
		t.Fatal(err)
	}
	if err := base.Recover(ctx, 10); err != nil {
		t.Fatal(err)
	}
	if !underway().Sweep.Blocked {
		t.Error("read the refund under way after the restore: got one that is not blocked, want it blocked")
	}
	next := sweep.Attempt{Number: 2, Request: underway().Newest().Request}
	if err := s.Again(ctx, underway(), next); !errors.Is(err, sweeper.ErrStale) {
		t.Errorf("plan a second form after the restore: got %v, want ErrStale", err)
	}
	if err := s.ReleaseRefund(ctx, "rfd_1"); err != nil {
		t.Fatal(err)
	}
	if underway().Sweep.Blocked {
		t.Error("read the refund under way after its release: got it blocked, want one that is not")
	}
	if err := s.Again(ctx, underway(), next); err != nil {
		t.Errorf("plan a second form of a released refund: got %v, want no error", err)
	}
}

// After a restore nothing that is missing here shows that nothing was signed: a cancellation of a refund from before it
// comes too late, whether its row was restored or lost.
func TestRefuseRefund_restored(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	if err := s.TakeRefund(ctx, approved("rfd_1", tenant.Live)); err != nil {
		t.Fatal(err)
	}
	restored := time.Now().UnixMilli()
	if err := s.Recover(ctx, 10); err != nil {
		t.Fatal(err)
	}
	again := approved("rfd_4", tenant.Live) // its row was lost, and payments has sent its order again
	again.Ordered.ApprovedAt = time.Now().Add(-time.Hour)
	if err := errors.Join(s.TakeRefund(ctx, approved("rfd_3", tenant.Live)), s.TakeRefund(ctx, again)); err != nil {
		t.Fatal(err)
	}
	changes(t, pool)
	for id, late := range map[string]bool{"rfd_1": true, "rfd_2": true, "rfd_3": false, "rfd_4": true} {
		if restored, err := s.Refunds().Restored(ctx, sweep.Sweep{ID: id}); err != nil || restored != late {
			t.Errorf("ask whether %s is from before the restore: got %t, %v, want %t", id, restored, err, late)
		}
		err := s.RefuseRefund(ctx, approved(id, tenant.Live).Ordered, wire.RefundCancelled)
		if errors.Is(err, app.ErrOtherOrder) != late || !late && err != nil {
			t.Errorf("cancel %s after a restore: got %v, want it too late: %t", id, err, late)
		}
	}
	if got := drain[wire.RefundChanged](t, pool, wire.RefundChangedV1); len(got) != 1 || got[0].RefundID != "rfd_3" || got[0].State != wire.RefundFailed {
		t.Errorf("read the messages after the cancellations: got %+v, want rfd_3 failed alone", got)
	}
	if err := s.KeepRefund(ctx, "rfd_1"); err != nil {
		t.Fatal(err)
	}
	if got := drain[wire.RefundChanged](t, pool, wire.RefundChangedV1); len(got) != 1 || got[0].Version <= restored {
		t.Errorf("answer a cancellation that came too late: got %+v, want one message with a version above %d", got, restored)
	}
}

// After a restore of payments each refund that has changed since the backup is reported again, with its newest state.
func TestTellRefunds(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	for _, id := range []string{"rfd_1", "rfd_2", "rfd_3"} {
		if err := s.TakeRefund(ctx, approved(id, tenant.Live)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Refunds().GiveUpRefund(ctx, "rfd_2"); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(ctx, `UPDATE refunds SET changed_at = now() - interval '2 hours' WHERE id = 'rfd_1'`); err != nil {
		t.Fatal(err)
	}
	changes(t, pool)
	for range 2 { // the broker may have lost the first
		var told []string
		err := s.TellRefunds(ctx, time.Now().Add(-time.Hour), func(c wire.RefundChanged) error {
			told = append(told, c.RefundID+" "+string(c.State))
			return nil
		})
		if err != nil || strings.Join(told, ", ") != "rfd_2 failed, rfd_3 signing" {
			t.Errorf("report the refunds of an hour again: got %q, %v, want rfd_2 and rfd_3", told, err)
		}
		tells(t, pool, "report the refunds of an hour again", "rfd_2 failed 2 5 0 given_up", "rfd_3 signing 1 5 0 ")
	}
}

// A cancellation may overtake its order in the queues, also after a restore. An order that was approved since then
// fails as cancelled; one from before it, or without its time, may have been paid, and waits for a person. The
// messages may come several times. Where the order comes first, nothing changes: an old one goes on, as payments
// hears.
func TestWithdrawRefund_overtakes(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	if err := s.Recover(ctx, 10); err != nil {
		t.Fatal(err)
	}
	a := app.New(nil, nil, app.Settings{
		Nets: map[tenant.Mode]address.Net{tenant.Live: address.Mainnet}, Log: slog.New(slog.DiscardHandler), Refunds: s,
	})
	for id, c := range map[string]struct {
		age         time.Duration // of the approval; 0 for an order without its time
		first, also string        // the state after the cancellation first, and after the order first
	}{
		"rfd_new":      {-time.Second, "failed cancelled", "failed cancelled"},
		"rfd_old":      {time.Hour, "blocked", "signing"},
		"rfd_timeless": {0, "blocked", "failed cancelled"},
	} {
		for _, overtakes := range []bool{true, false} {
			o := approved(fmt.Sprint(id, overtakes), tenant.Live).Ordered
			o.Contract = "0xdAC17F958D2ee523a2206206994597C13D831ec7"
			if c.age != 0 {
				o.ApprovedAt = time.Now().Add(-c.age)
			}
			take := func() error { return a.TakeRefund(ctx, wire.RefundApproved{Approved: o}) }
			cancel := func() error { return a.WithdrawRefund(ctx, o.Order) }
			steps, want := []func() error{take, take, cancel, cancel, take}, c.also
			if overtakes {
				steps, want = []func() error{cancel, cancel, take, take, cancel}, c.first
			}
			for n, step := range steps {
				if err := step(); err != nil {
					t.Errorf("handle message %d about %s: got %v, want no error", n, o.ID, err)
				}
			}
			var got string
			err := pool.QueryRow(ctx, `SELECT CASE WHEN blocked THEN 'blocked' WHEN state = 'failed' THEN 'failed ' || reason ELSE state END
FROM refunds WHERE id = $1`, o.ID).Scan(&got)
			if err != nil || got != want {
				t.Errorf("read %s, cancelled before its order came: %t: got %q, %v, want %q", o.ID, overtakes, got, err, want)
			}
			told := changes(t, pool)
			if want == "failed cancelled" && (len(told) == 0 || !strings.HasSuffix(told[len(told)-1], " cancelled")) {
				t.Errorf("read the messages about %s: got %q, want its end at last", o.ID, told)
			}
		}
	}
}

// An order and its cancellation at once, after a restore, end in one of the two ways: never in an order that is paid.
func TestWithdrawRefund_atOnce(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	if err := s.Recover(ctx, 10); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		r := approved(fmt.Sprint("rfd_", i), tenant.Live)
		r.Ordered.ApprovedAt = time.Now().Add(time.Second)
		var wg sync.WaitGroup
		wg.Go(func() {
			err := s.TakeRefund(ctx, r)
			if errors.Is(err, app.ErrCancelled) {
				err = s.RefuseRefund(ctx, r.Ordered, wire.RefundCancelled)
			}
			if err != nil {
				t.Errorf("take %s: got %v, want no error", r.Ordered.ID, err)
			}
		})
		wg.Go(func() {
			bare := intent.Ordered{Order: r.Ordered.Order}
			if err := s.RefuseRefund(ctx, bare, wire.RefundCancelled); err != nil && !errors.Is(err, app.ErrOtherOrder) {
				t.Errorf("cancel %s: got %v, want no error or ErrOtherOrder", r.Ordered.ID, err)
			}
		})
		wg.Wait()
	}
	var open int
	if err := pool.QueryRow(ctx, `SELECT count(*) FROM refunds WHERE state <> 'failed'`).Scan(&open); err != nil || open != 0 {
		t.Errorf("count the refunds that go on: got %d, %v, want none", open, err)
	}
}
