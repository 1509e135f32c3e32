//go:build integration

package store_test

import (
	"errors"
	"testing"
	"time"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/scanner"
)

// A network has one rescan at a time. When its worker dies another one goes on where the first one stopped, and the
// first one counts nothing more.
func TestRescan_afterACrash(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	chain := scanner.Chain{Mode: tenant.Live, Network: "ethereum"}
	order := app.Rescan{Mode: chain.Mode, Network: chain.Network, From: 10, To: 100, Operator: "ada", Reason: "a test"}
	answer := func(app.Rescan) (idempotency.Answer, error) {
		return idempotency.Answer{Status: 201, Body: []byte(`{}`)}, nil
	}
	put := func(want error) {
		t.Helper()
		if _, err := s.OrderRescan(ctx, order, idempotency.Key{}, answer); !errors.Is(err, want) {
			t.Fatalf("order a rescan: got %v, want %v", err, want)
		}
	}
	take := func(worker string, found bool) app.Rescan {
		t.Helper()
		r, ok, err := s.TakeRescan(ctx, worker, []scanner.Chain{chain})
		if err != nil || ok != found {
			t.Fatalf("%s takes a rescan: got %+v, %t, %v, want %t", worker, r, ok, err, found)
		}
		return r
	}
	move := func(r app.Rescan, worker string, next int64, want bool) {
		t.Helper()
		moved, err := s.MoveRescan(ctx, r, worker, next, scanner.Looked{Blocks: int(next - r.Next), Told: 1})
		if err != nil || moved != want {
			t.Fatalf("%s moves a rescan to %d: got %t, %v, want %t", worker, next, moved, err, want)
		}
	}
	put(nil)
	put(app.ErrRescanning)
	if _, ok, err := s.TakeRescan(ctx, "a", []scanner.Chain{{Mode: tenant.Test, Network: "ethereum"}}); ok || err != nil {
		t.Fatalf("take a rescan of another network: got %t, %v, want none", ok, err)
	}
	first := take("a", true)
	take("b", false)
	move(first, "a", 42, true)
	if _, err := pool.Exec(ctx, `UPDATE rescans SET taken_until = now() - interval '1 second'`); err != nil {
		t.Fatal(err)
	}
	second := take("b", true)
	if second.Next != 42 {
		t.Errorf("go on with a rescan: got block %d, want 42", second.Next)
	}
	first.Next = 42
	move(first, "a", 74, false)
	move(second, "b", 101, true)
	list, err := s.Rescans(ctx, 1<<60, 10)
	if err != nil || len(list) != 1 || list[0].EndedAt.IsZero() || list[0].Blocks != 91 || list[0].Repeated != 2 {
		t.Errorf("list the rescans: got %+v, %v, want one that has ended after 91 blocks", list, err)
	}
	put(nil)
	for range 10 {
		r := take("a", true)
		if err := s.FailRescan(ctx, r, "a", errors.New("no node has the block")); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(ctx, `UPDATE rescans SET taken_until = now() - interval '1 second'`); err != nil {
			t.Fatal(err)
		}
	}
	take("a", false)
	if list, err = s.Rescans(ctx, 1<<60, 1); err != nil || list[0].EndedAt.IsZero() || list[0].Problem != "no node has the block" {
		t.Errorf("list a rescan that failed ten times: got %+v, %v, want its end and the problem", list, err)
	}
}

// Of several workers that ask a host the last answer counts, and a worker that is silent for a minute does not.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	now := time.Now()
	tell := func(worker string, healthy bool, at time.Time) {
		t.Helper()
		e := app.Endpoint{Network: "ethereum", Host: "rpc.example.com", Healthy: healthy, Outcome: "ok", Head: 7, AnsweredAt: at}
		if !healthy {
			e.Outcome, e.AnsweredAt, e.FailedAt = "failed", time.Time{}, at
		}
		if err := s.TellEndpoints(t.Context(), worker, []app.Endpoint{e}); err != nil {
			t.Fatalf("store the health of a host: %v", err)
		}
	}
	healthy := func(want bool) {
		t.Helper()
		got, err := s.Endpoints(t.Context())
		if err != nil || len(got) != 1 || got[0].Healthy != want || got[0].Head != 7 {
			t.Fatalf("read the hosts: got %+v, %v, want one that is healthy: %t", got, err, want)
		}
	}
	tell("a", true, now.Add(-time.Second))
	tell("b", false, now)
	healthy(false)
	tell("a", true, now.Add(time.Second))
	healthy(true)
	if _, err := pool.Exec(t.Context(), `UPDATE endpoint_states SET told_at = now() - interval '2 minutes' WHERE worker = 'a'`); err != nil {
		t.Fatal(err)
	}
	healthy(false)
}
