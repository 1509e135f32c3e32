//go:build integration

package store_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/provider"
)

// Each worker has its own state of a rail. One that is silent for a minute does not count.
func TestRailStates(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	now := time.Now()
	tell := func(worker string, until time.Time) {
		t.Helper()
		state := provider.RailState{Rail: "paystack", Currency: money.NGN, Unclear: 5, OpenUntil: until, Balance: decimal.RequireFromString("10.5"), ReadAt: now}
		if err := w.Store.TellRails(t.Context(), worker, []provider.RailState{state}); err != nil {
			t.Fatalf("tell of a rail: %v", err)
		}
	}
	states := func(want int) []provider.RailState {
		t.Helper()
		got, err := w.Store.RailStates(t.Context())
		if err != nil || len(got) != want {
			t.Fatalf("read the states of rails: got %+v, %v, want %d", got, err, want)
		}
		return got
	}
	tell("a", time.Time{})
	tell("b", now.Add(time.Minute))
	tell("a", time.Time{})
	open := 0
	for _, s := range states(2) {
		if !s.OpenUntil.IsZero() {
			open++
		}
		if !s.Balance.Equal(decimal.RequireFromString("10.5")) || s.Unclear != 5 {
			t.Errorf("read the state of a rail: got %+v, want the balance and the count that the worker has stored", s)
		}
	}
	if open != 1 {
		t.Errorf("read the states of two workers: got %d open breakers, want one", open)
	}
	w.SQL(`UPDATE rail_states SET told_at = now() - interval '2 minutes' WHERE worker = 'b'`)
	if got := states(1); !got[0].OpenUntil.IsZero() {
		t.Errorf("read the states after a worker is gone: got %+v, want a closed breaker", got[0])
	}
}

// Hits are listed page by page, newest first, and clear verdicts are not.
func TestHits(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.SQL(`INSERT INTO screenings (mode, payment_id, stage, verdict, reason, lists, addresses)
		SELECT 'test', NULL, 'deposit', CASE WHEN n % 2 = 0 THEN 'hit' ELSE 'clear' END, 'sanctions', n::text, '{}' FROM generate_series(1, 10) n`)
	var seen []string
	cursor := int64(1) << 60
	for {
		raw, err := w.Operators.Screenings(t.Context(), operators.ScreeningFilter{Before: cursor, Most: 2})
		if err != nil {
			t.Fatalf("list hits: %v", err)
		}
		var page struct {
			Screenings []struct {
				ID    int64
				Lists string
			}
			Pagination struct{ HasMore bool }
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Screenings {
			seen, cursor = append(seen, s.Lists), s.ID
		}
		if !page.Pagination.HasMore {
			break
		}
	}
	if len(seen) != 5 || seen[0] != strconv.Itoa(10) || seen[4] != strconv.Itoa(2) {
		t.Errorf("page through hits: got %v, want the five even ones from the newest on", seen)
	}
}
