//go:build integration

package store_test

import (
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/app"
)

// follows makes the fixture read the scan states of networks.
func (w *fixture) follows() {
	scans := admission.NewScans(w.store.Scans, time.Minute, func(tenant.Mode, string, bool) {}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	w.with(func(d *app.Deps) { d.Scans = scans })
}

// fares delivers a message of wallets about tron's scan.
func (w *fixture) fares(m wire.ScannedThrough) {
	w.t.Helper()
	m.Mode, m.Network = tenant.Test, "tron"
	if m.BlockTime.IsZero() {
		m.BlockTime = time.Now()
	}
	if err := admission.Scanned(w.store.Advance)(w.t.Context(), "scanned", m); err != nil {
		w.t.Fatal(err)
	}
}

// closed is the reason why tron accepts no payments.
func (w *fixture) closed() admission.Closed {
	w.t.Helper()
	if err := w.app.Scans.Load(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return w.app.Scans.Closed(tenant.Test, "tron")
}

func (w *fixture) wantClosed(when string, want admission.Closed) {
	w.t.Helper()
	if got := w.closed(); got != want {
		w.t.Errorf("%s: %q, want %q", when, got, want)
	}
}

// The state is that of the newest message, in any order of arrival, and it waits for no deposit. After a pause an old
// message is accepted again. Silence closes the network.
func TestScans_order(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.follows()
	told := func(ago time.Duration) time.Time { return time.Now().Add(-ago) }
	w.wantClosed("nobody has told", admission.NotFollowed)
	w.fares(wire.ScannedThrough{Height: 5})
	w.wantClosed("an older wallets", "")
	w.fares(wire.ScannedThrough{Height: 6, State: wire.ScanFollowing, Head: 6, HeadTime: told(0), ToldAt: told(3 * time.Second)})
	w.wantClosed("follows", "")
	w.fares(wire.ScannedThrough{ // deposits 1 to 3 are still queued
		Height: 7, BlockTime: time.Now().Add(time.Hour), State: wire.ScanHalted, Head: 9, HeadTime: told(0), ToldAt: told(time.Second), Deposits: 3,
	})
	w.wantClosed("halted before its deposits came", admission.Halted)
	if ask[bool](w, `SELECT block_time > now() + interval '1 minute' FROM scan_progress`) {
		t.Error("progress was believed before its deposits")
	}
	w.fares(wire.ScannedThrough{Height: 6, State: wire.ScanFollowing, ToldAt: told(2 * time.Second)})
	w.wantClosed("overtaken", admission.Halted)
	w.sql(`UPDATE scan_progress SET updated_at = now() - interval '31 seconds'`)
	w.fares(wire.ScannedThrough{Height: 8, State: wire.ScanBehind, ToldAt: told(time.Hour)})
	w.wantClosed("told by a clock that was set back", admission.Behind)
	w.fares(wire.ScannedThrough{Height: 8, State: wire.ScanFollowing, ToldAt: told(0)})
	w.wantClosed("follows again", "")
	w.sql(`UPDATE scan_progress SET updated_at = now() - interval '61 seconds'`)
	w.wantClosed("silent", admission.Silent)
	w.fares(wire.ScannedThrough{Height: 9, ToldAt: time.Time{}})
	w.wantClosed("an older wallets again", "")
}

// A valid create or fulfilment on a closed network is 503, and an invalid one is refused first. A request without a
// pair is accepted, and the pay page does not offer the network.
func TestScans_quotes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.follows()
	w.fill(2)
	refused := func(err error, code string) {
		t.Helper()
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != code {
			t.Errorf("refused with %v, want %s", err, code)
		} else if code == "network_unavailable" && (f.Kind != fault.Unavailable || f.RetryAfter <= 0) {
			t.Errorf("%+v", f)
		}
	}
	_ = w.closed()
	_, err := w.create(command(), idempotency.Key{})
	refused(err, "network_unavailable")
	bad := command()
	bad.FiatAmount = number("0.5")
	_, err = w.create(bad, idempotency.Key{})
	refused(err, "amount_out_of_range")
	bad = command()
	bad.Payer = nil
	_, err = w.create(bad, idempotency.Key{})
	refused(err, "validation_failed")
	if n := ask[int](w, `SELECT count(*) FROM payments`); n != 0 {
		t.Errorf("%d payments were written", n)
	}

	open := w.made(requestCommand())
	_, err = w.fulfil(open.Reference, idempotency.Key{})
	refused(err, "network_unavailable")
	w.fares(wire.ScannedThrough{Height: 9, State: wire.ScanFollowing, ToldAt: time.Now()})
	w.wantClosed("follows", "")
	if _, err := w.fulfil(open.Reference, idempotency.Key{}); err != nil {
		t.Error(err)
	}
}

// While the network of its money is closed, a confirmed gift cannot be claimed and a payout does not leave. Both
// continue when the scan is current again. A gift without money may be claimed.
func TestScans_payouts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.follows()
	w.fill(3)
	now := func(state wire.ScanState) {
		w.fares(wire.ScannedThrough{Height: 9, State: state, ToldAt: time.Now()})
	}
	now(wire.ScanFollowing)
	w.wantClosed("follows", "")
	g, empty := w.made(giftCommand()), w.made(giftCommand())
	w.see(g, coin{key: "g1", amount: "31.25", version: 1, depth: enough})
	w.want(g, "confirmed")
	p := w.confirmedWith("0123456789")

	now(wire.ScanHalted)
	k := idempotency.Key{Scope: "s", Key: "claim"}
	_, err := w.claim(g.Reference, "0123456789", k)
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != "network_unavailable" || f.RetryAfter <= 0 {
		t.Errorf("claimed: %v", err)
	}
	w.want(g, "confirmed")
	if _, err := w.claim(empty.Reference, "0123456789", idempotency.Key{}); err != nil {
		t.Errorf("a gift without money: %v", err)
	}
	sent := func() int { return ask[int](w, `SELECT count(*) FROM sim_transfers`) }
	for range 3 {
		w.hurry()
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
	}
	if sent() != 0 {
		t.Fatalf("%d payouts left while the scan is halted", sent())
	}
	w.want(p, "confirmed")
	now(wire.ScanFollowing)
	w.sql(`UPDATE scan_progress SET updated_at = now() - interval '61 seconds'`)
	w.hurry()
	if err := w.step(); err != nil || sent() != 0 {
		t.Fatalf("%d payouts left while the scan is silent: %v", sent(), err)
	}

	now(wire.ScanFollowing)
	w.until(p, "settled")
	if _, err := w.claim(g.Reference, "0123456789", k); err != nil {
		t.Fatal(err)
	}
	w.until(g, "settled")
	if sent() != 2 {
		t.Errorf("%d payouts were made", sent())
	}
}
