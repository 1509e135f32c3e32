//go:build integration

package admission_test

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
	"causeway.internal/services/payments/internal/fixture"
)

// follows makes the fixture read the scan states of networks.
func follows(w *fixture.Payments) {
	scans := admission.NewScans(w.Store.Scans, time.Minute, func(tenant.Mode, string, bool) {}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	w.With(func(d *fixture.Deps) { d.Scans = scans })
}

// fares delivers a message of wallets about tron's scan.
func fares(w *fixture.Payments, m wire.ScannedThrough) {
	w.T.Helper()
	m.Mode, m.Network = tenant.Test, "tron"
	if m.BlockTime.IsZero() {
		m.BlockTime = time.Now()
	}
	if err := admission.Scanned(w.Store.Advance)(w.T.Context(), "scanned", m); err != nil {
		w.T.Fatal(err)
	}
}

// closed is the reason why tron accepts no payments.
func closed(w *fixture.Payments) admission.Closed {
	w.T.Helper()
	if err := w.Deps.Scans.Load(w.T.Context()); err != nil {
		w.T.Fatal(err)
	}
	return w.Deps.Scans.Closed(tenant.Test, "tron")
}

func wantClosed(w *fixture.Payments, when string, want admission.Closed) {
	w.T.Helper()
	if got := closed(w); got != want {
		w.T.Errorf("%s: %q, want %q", when, got, want)
	}
}

// The state is that of the newest message, in any order of arrival, and it waits for no deposit. After a pause an old
// message is accepted again. Silence closes the network.
func TestScans_order(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	follows(w)
	told := func(ago time.Duration) time.Time { return time.Now().Add(-ago) }
	wantClosed(w, "nothing announced", admission.NotFollowed)
	fares(w, wire.ScannedThrough{Height: 5})
	wantClosed(w, "an older wallets", "")
	fares(w, wire.ScannedThrough{Height: 6, State: wire.ScanFollowing, Head: 6, HeadTime: told(0), ToldAt: told(3 * time.Second)})
	wantClosed(w, "follows", "")
	fares(w, wire.ScannedThrough{ // deposits 1 to 3 are still queued
		Height: 7, BlockTime: time.Now().Add(time.Hour), State: wire.ScanHalted, Head: 9, HeadTime: told(0), ToldAt: told(time.Second), Deposits: 3,
	})
	wantClosed(w, "halted before its deposits came", admission.Halted)
	if fixture.Ask[bool](w, `SELECT block_time > now() + interval '1 minute' FROM scan_progress`) {
		t.Error("progress was believed before its deposits")
	}
	fares(w, wire.ScannedThrough{Height: 6, State: wire.ScanFollowing, ToldAt: told(2 * time.Second)})
	wantClosed(w, "overtaken", admission.Halted)
	w.SQL(`UPDATE scan_progress SET updated_at = now() - interval '31 seconds'`)
	fares(w, wire.ScannedThrough{Height: 8, State: wire.ScanBehind, ToldAt: told(time.Hour)})
	wantClosed(w, "announced by a clock that was set back", admission.Behind)
	fares(w, wire.ScannedThrough{Height: 8, State: wire.ScanFollowing, ToldAt: told(0)})
	wantClosed(w, "follows again", "")
	w.SQL(`UPDATE scan_progress SET updated_at = now() - interval '61 seconds'`)
	wantClosed(w, "silent", admission.Silent)
	fares(w, wire.ScannedThrough{Height: 9, ToldAt: time.Time{}})
	wantClosed(w, "an older wallets again", "")
}

// A valid create or fulfilment on a closed network is 503, and an invalid one is refused first. A request without a
// pair is accepted, and the pay page does not offer the network.
func TestScans_quotes(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	follows(w)
	w.Fill(2)
	refused := func(err error, code string) {
		t.Helper()
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != code {
			t.Errorf("refused with %v, want %s", err, code)
		} else if code == "network_unavailable" && (f.Kind != fault.Unavailable || f.RetryAfter <= 0) {
			t.Errorf("create on a closed network = %+v, want it unavailable with a time to try again", f)
		}
	}
	_ = closed(w)
	_, err := w.Create(fixture.Command(), idempotency.Key{})
	refused(err, "network_unavailable")
	bad := fixture.Command()
	bad.FiatAmount = fixture.Number("0.5")
	_, err = w.Create(bad, idempotency.Key{})
	refused(err, "amount_out_of_range")
	bad = fixture.Command()
	bad.Payer = nil
	_, err = w.Create(bad, idempotency.Key{})
	refused(err, "validation_failed")
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments`); n != 0 {
		t.Errorf("%d payments were written", n)
	}

	open := w.Make(fixture.Request())
	_, err = w.Fulfil(open.Reference, idempotency.Key{})
	refused(err, "network_unavailable")
	fares(w, wire.ScannedThrough{Height: 9, State: wire.ScanFollowing, ToldAt: time.Now()})
	wantClosed(w, "follows", "")
	if _, err := w.Fulfil(open.Reference, idempotency.Key{}); err != nil {
		t.Error(err)
	}
}

// While the network of its money is closed, a confirmed gift cannot be claimed and a payout does not leave. Both
// continue when the scan is current again. A gift without money may be claimed.
func TestScans_payouts(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	follows(w)
	w.Fill(3)
	now := func(state wire.ScanState) {
		fares(w, wire.ScannedThrough{Height: 9, State: state, ToldAt: time.Now()})
	}
	now(wire.ScanFollowing)
	wantClosed(w, "follows", "")
	g, empty := w.Make(fixture.Gift()), w.Make(fixture.Gift())
	w.See(g, fixture.Coin{Key: "g1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Want(g, "confirmed")
	p := w.ConfirmedWith("0123456789")

	now(wire.ScanHalted)
	k := idempotency.Key{Scope: "s", Key: "claim"}
	_, err := w.Claim(g.Reference, "0123456789", k)
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != "network_unavailable" || f.RetryAfter <= 0 {
		t.Errorf("claimed: %v", err)
	}
	w.Want(g, "confirmed")
	if _, err := w.Claim(empty.Reference, "0123456789", idempotency.Key{}); err != nil {
		t.Errorf("a gift without money: %v", err)
	}
	sent := func() int { return fixture.Ask[int](w, `SELECT count(*) FROM sim_transfers`) }
	for range 3 {
		w.Hurry()
		if err := w.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if sent() != 0 {
		t.Fatalf("%d payouts left while the scan is halted", sent())
	}
	w.Want(p, "confirmed")
	now(wire.ScanFollowing)
	w.SQL(`UPDATE scan_progress SET updated_at = now() - interval '61 seconds'`)
	w.Hurry()
	if err := w.Step(); err != nil || sent() != 0 {
		t.Fatalf("%d payouts left while the scan is silent: %v", sent(), err)
	}

	now(wire.ScanFollowing)
	w.WorkUntil(p, "settled")
	if _, err := w.Claim(g.Reference, "0123456789", k); err != nil {
		t.Fatal(err)
	}
	w.WorkUntil(g, "settled")
	if sent() != 2 {
		t.Errorf("%d payouts were made", sent())
	}
}
