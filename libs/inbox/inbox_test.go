//go:build integration

package inbox_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/inbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/testkit/pg"
)

var migrations = fstest.MapFS{"00001_inbox.sql": {Data: []byte("-- +goose Up\n" + inbox.Schema)}}

func TestFresh(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	see := func(id string, commit bool) (fresh bool) {
		t.Helper()
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback(t.Context())
		if fresh, err = inbox.Fresh(t.Context(), tx, id); err != nil {
			t.Fatal(err)
		}
		if commit {
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return fresh
	}
	if !see("a", false) {
		t.Error("a is new")
	}
	if !see("a", true) {
		t.Error("a was rolled back, so it is still new")
	}
	if see("a", true) {
		t.Error("a was seen")
	}
	if !see("b", true) {
		t.Error("b is new")
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := inbox.Fresh(t.Context(), tx, ""); err == nil {
		t.Error("a message without an id must be refused")
	}
}

// Consumers of the same messages, in any order, do not wait for each other in a circle. Each message has one winner.
func TestFreshOf_parallelPacksHaveOneWinner(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	var ids []string
	for i := range 50 {
		ids = append(ids, fmt.Sprint("m", i))
	}
	if err := postgres.Tx(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := inbox.Fresh(t.Context(), tx, ids[7])
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var winners atomic.Int32
	errs := make(chan error, 8)
	for range cap(errs) {
		mixed := slices.Clone(ids)
		rand.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		go func() {
			errs <- pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				fresh, err := inbox.FreshOf(t.Context(), tx, mixed)
				if fresh[ids[7]] {
					t.Errorf("%s is fresh again", ids[7])
				}
				winners.Add(int32(len(fresh)))
				return err
			})
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Errorf("FreshOf() beside others = %v, want no error, and no deadlock", err)
		}
	}
	if got, want := int(winners.Load()), len(ids)-1; got != want {
		t.Errorf("%d messages were fresh in 8 packs, want each of %d once", got, want)
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := inbox.FreshOf(t.Context(), tx, []string{"a", ""}); err == nil {
		t.Error("a message without an id must be refused")
	}
}

func TestFresh_parallelDeliveriesHaveOneWinner(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	var winners atomic.Int32
	errs := make(chan error, 16)
	for range cap(errs) {
		go func() {
			errs <- postgres.Tx(t.Context(), pool, func(tx pgx.Tx) error {
				fresh, err := inbox.Fresh(t.Context(), tx, "one")
				if fresh {
					winners.Add(1)
				}
				return err
			})
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if winners.Load() != 1 {
		t.Errorf("%d winners", winners.Load())
	}
}

// An id in any other week's partition is a duplicate; only the partition of the week to come is ever emptied.
func TestFresh_overTheWholeWindow(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	if _, err := pool.Exec(t.Context(), `INSERT INTO inbox SELECT slot, 'in ' || slot FROM generate_series(0, 3) AS slot`); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"in 0", "in 1", "in 2", "in 3"} {
		if err := postgres.Tx(t.Context(), pool, func(tx pgx.Tx) error {
			fresh, err := inbox.Fresh(t.Context(), tx, id)
			if fresh {
				t.Errorf("%q is known in another partition", id)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := inbox.Rotate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	var left, next int
	err := pool.QueryRow(t.Context(), `SELECT count(*), count(*) FILTER (WHERE slot = (floor(extract(epoch FROM now()) / 604800)::bigint + 1) % 4) FROM inbox`).Scan(&left, &next)
	if err != nil || left != 3 || next != 0 {
		t.Errorf("%d left, %d in next week's partition, %v; want 3 and 0", left, next, err)
	}
}
