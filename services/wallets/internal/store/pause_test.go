//go:build integration

package store_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/sweeper"
)

// follows begins a scan of ethereum that follows its chain.
func follows(t *testing.T, s *store.Store, pool *pgxpool.Pool) {
	t.Helper()
	if err := s.Begin(t.Context(), liveLease, scanner.Cursor{Header: header(0, "h0", "")}); err != nil {
		t.Fatal(err)
	}
	judge(t, pool, "following")
}

// judge sets the state of the scan of ethereum.
func judge(t *testing.T, pool *pgxpool.Pool, state string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), `UPDATE cursors SET scan_state = $1, judged_at = now()`, state); err != nil {
		t.Fatal(err)
	}
}

// A paused refund is not planned, and no signature of it is asked for: its plan is dropped, unless the signer may know
// it. An older list of pauses changes nothing.
func TestPauseRefunds(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Refunds(), t.Context()
	follows(t, base, pool)
	naira, unknown := approved("rfd_naira", tenant.Live), approved("rfd_unknown", tenant.Live)
	naira.Currency = money.NGN
	if err := errors.Join(base.TakeRefund(ctx, naira), base.TakeRefund(ctx, unknown)); err != nil {
		t.Fatal(err)
	}
	version := int64(0)
	for name, c := range map[string]struct {
		pauses []wire.RefundPause
		idle   int
	}{
		"nothing":            {nil, 2},
		"everything":         {[]wire.RefundPause{{}}, 0},
		"the network":        {[]wire.RefundPause{{Network: "ethereum"}}, 0},
		"the currency":       {[]wire.RefundPause{{Currency: money.NGN}}, 0},
		"another network":    {[]wire.RefundPause{{Network: "tron"}}, 2},
		"another currency":   {[]wire.RefundPause{{Currency: money.KES}}, 1}, // that of the other refund is not known
		"the currency there": {[]wire.RefundPause{{Currency: money.NGN, Network: "tron"}, {Currency: money.KES, Network: "tron"}}, 2},
	} {
		version++
		for _, p := range []wire.RefundsPaused{{Version: version, Pauses: c.pauses}, {Version: version, Pauses: []wire.RefundPause{{}}}, {Version: version - 1}} {
			if err := base.PauseRefunds(ctx, p); err != nil {
				t.Fatalf("pause %s: got %v, want no error", name, err)
			}
		}
		if idle, err := s.Idle(ctx, "ethereum", 9); err != nil || len(idle) != c.idle {
			t.Errorf("list the refunds that wait while %s is paused: got %d, %v, want %d", name, len(idle), err, c.idle)
		}
	}
	pause := func(p ...wire.RefundPause) {
		t.Helper()
		version++
		if err := base.PauseRefunds(ctx, wire.RefundsPaused{Version: version, Pauses: p}); err != nil {
			t.Fatal(err)
		}
	}
	plans := func(what string, want int) {
		t.Helper()
		var n int
		if err := pool.QueryRow(ctx, `SELECT count(*) FROM outgoing_tx`).Scan(&n); err != nil || n != want {
			t.Errorf("count the plans %s: got %d, %v, want %d", what, n, err, want)
		}
	}
	pause()
	idle, err := s.Idle(ctx, "ethereum", 9)
	if err != nil || len(idle) != 2 {
		t.Fatalf("list the refunds that wait: got %d, %v, want 2", len(idle), err)
	}
	o := plannedRefund("out_1", idle[0], 0)
	ask := func(what string, want bool, left int) {
		t.Helper()
		if may, err := s.Ask(ctx, o); err != nil || may != want {
			t.Errorf("ask for a signature %s: got %t, %v, want %t", what, may, err, want)
		}
		plans(what, left)
	}
	pause(wire.RefundPause{})
	if err := s.Plan(ctx, o); !errors.Is(err, sweeper.ErrStale) {
		t.Errorf("plan a paused refund: got %v, want ErrStale", err)
	}
	pause()
	if err := s.Plan(ctx, o); err != nil {
		t.Fatal(err)
	}
	pause(wire.RefundPause{})
	ask("of a paused refund", false, 0)
	pause()
	for _, state := range []string{"halted", "following"} {
		if err := s.Plan(ctx, o); err != nil {
			t.Fatal(err)
		}
		judge(t, pool, state)
		ask("while the scan is "+state, state == "following", map[string]int{"halted": 0, "following": 1}[state])
	}
	pause(wire.RefundPause{})
	ask("again of a paused refund", false, 1)
	pause()
	ask("after the pause", true, 1)
}

// The simulated chain carries out no refund that is paused.
func TestPauseRefunds_simulated(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	if err := s.TakeRefund(ctx, approved("rfd_1", tenant.Test)); err != nil {
		t.Fatal(err)
	}
	for i, pauses := range [][]wire.RefundPause{{{}}, nil} {
		if err := s.PauseRefunds(ctx, wire.RefundsPaused{Version: int64(i + 1), Pauses: pauses}); err != nil {
			t.Fatal(err)
		}
		changes(t, pool)
		if _, err := pool.Exec(ctx, `UPDATE refunds SET changed_at = changed_at - interval '1 minute'`); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SimulateRefunds(ctx); err != nil {
			t.Fatal(err)
		}
		if sent := len(changes(t, pool)) == 1; sent != (pauses == nil) {
			t.Errorf("simulate a refund with the pauses %v: got sent %t, want %t", pauses, sent, pauses == nil)
		}
	}
}
