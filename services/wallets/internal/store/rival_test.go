//go:build integration

package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/sweeper"
)

var incident = scanner.Note{Operator: "cli:ada.obi", Reason: "incident 7"}

// foreignTx is a foreign transaction in the block of a height.
func foreignTx(height int64, block string) sweep.Rival {
	return sweep.Rival{Receipt: sweep.Receipt{TxHash: "0xf0", Height: height, Block: block}}
}

// A refund ends beside a foreign transaction only as it was when the chain was read, while the scan follows its chain
// and has the block as final, and unless the signer has said that it knows a transaction that is not stored.
func TestEndBeaten(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Refunds(), t.Context()
	follows(t, base, pool)
	for i, c := range []struct {
		name   string
		change func(o sweep.Outgoing, w sweep.Sweep) error
		by     sweep.Rival
		want   error // nil for the end
	}{
		{"the scan is halted", func(sweep.Outgoing, sweep.Sweep) error { judge(t, pool, "halted"); return nil }, foreignTx(0, "h0"), store.ErrRefundMoved},
		{"the block is not final", nil, foreignTx(1, "h1"), store.ErrRefundMoved},
		{"the scan has another block", nil, foreignTx(0, "h9"), store.ErrRefundMoved},
		{"another form is planned", func(o sweep.Outgoing, _ sweep.Sweep) error {
			return s.Again(ctx, o, sweep.Attempt{Number: 2, Request: o.Newest().Request})
		}, foreignTx(0, "h0"), store.ErrRefundMoved},
		{"a form is mined", func(o sweep.Outgoing, _ sweep.Sweep) error {
			return s.Mined(ctx, o, sweep.Receipt{TxHash: "0x1", Height: 1, Block: "h1", Fee: o.Sweep.Amount})
		}, foreignTx(0, "h0"), store.ErrRefundMoved},
		{"its order is spent", func(_ sweep.Outgoing, w sweep.Sweep) error { return s.Spent(ctx, w, "order_spent") }, foreignTx(0, "h0"), store.ErrRefundSigned},
		{"all is well", nil, foreignTx(0, "h0"), nil},
	} {
		judge(t, pool, "following")
		o := sentRefund(t, s, fmt.Sprint("rfd_", i), uint64(i))
		changes(t, pool)
		if c.change != nil {
			if err := c.change(o, o.Sweep); err != nil {
				t.Fatalf("bring it about that %s: got %v, want no error", c.name, err)
			}
		}
		changes(t, pool)
		if err := s.EndBeaten(ctx, o, c.by, incident); !errors.Is(err, c.want) {
			t.Errorf("end a refund while %s: got %v, want %v", c.name, err, c.want)
		}
		if c.want != nil {
			tells(t, pool, "end a refund while "+c.name)
			continue
		}
		tells(t, pool, "end a refund while "+c.name, o.Sweep.ID+" failed 3 5 0 "+wire.RefundGivenUp)
		if is, err := s.GivenUpBeside(ctx, o.Sweep.ID, "0xF0"); err != nil || !is {
			t.Errorf("ask whether it was given up beside the transaction: got %t, %v, want true", is, err)
		}
	}
	var rows int
	if err := pool.QueryRow(ctx, `SELECT count(*) FROM audit WHERE operator = 'cli:ada.obi' AND action = 'give up refund'`).Scan(&rows); err != nil || rows != 1 {
		t.Errorf("count the rows of the audit: got %d, %v, want 1", rows, err)
	}
}

// sentRefund takes a refund and sends its transaction.
func sentRefund(t *testing.T, s store.Refunds, id string, nonce uint64) sweep.Outgoing {
	t.Helper()
	ctx := t.Context()
	r := approved(id, tenant.Live)
	if err := s.TakeRefund(ctx, r); err != nil {
		t.Fatal(err)
	}
	o := plannedRefund("out_"+id, sweep.Sweep{ID: id, Network: "ethereum", Order: &r.Ordered}, nonce)
	if err := s.Plan(ctx, o); err != nil {
		t.Fatal(err)
	}
	carried := func() sweep.Outgoing {
		o, found, err := s.Carried(ctx, id)
		if err != nil || !found {
			t.Fatalf("read the transaction of %s: got %t, %v, want it", id, found, err)
		}
		return o
	}
	if err := s.Signed(ctx, carried(), []byte("raw"), "0x"+id); err != nil {
		t.Fatal(err)
	}
	if err := s.Sent(ctx, carried(), true); err != nil {
		t.Fatal(err)
	}
	return carried()
}

// A refund gets another form, or it ends, and never both, however the two meet.
func TestEndBeaten_whileRaised(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Refunds(), t.Context()
	follows(t, base, pool)
	var sent []sweep.Outgoing
	for i := range 20 {
		sent = append(sent, sentRefund(t, s, fmt.Sprint("rfd_", i), uint64(i)))
	}
	raised, ended := make([]error, len(sent)), make([]error, len(sent))
	var wg sync.WaitGroup
	for i, o := range sent { // all at once: PostgreSQL finds a deadlock of two only after a second
		wg.Go(func() { raised[i] = s.Again(ctx, o, sweep.Attempt{Number: 2, Request: o.Newest().Request}) })
		wg.Go(func() { ended[i] = s.EndBeaten(ctx, o, foreignTx(0, "h0"), incident) })
	}
	wg.Wait()
	for i, o := range sent {
		if (raised[i] == nil) == (ended[i] == nil) {
			t.Errorf("raise and end %s at once: got %v and %v, want one of them", o.Sweep.ID, raised[i], ended[i])
		}
		if err := errors.Join(raised[i], ended[i]); !errors.Is(err, sweeper.ErrStale) && !errors.Is(err, store.ErrRefundMoved) {
			t.Errorf("raise and end %s at once: got %v, want that one comes too late", o.Sweep.ID, err)
		}
	}
}
