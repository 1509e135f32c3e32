//go:build integration

package erasure_test

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/erasure"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/testkit/pg"
)

var migrations = fstest.MapFS{"00001_erasures.sql": {Data: []byte("-- +goose Up\n" + erasure.Schema)}}

type person struct{ Name string }

// ring has keys of the given ids, each the same in every ring.
func ring(t *testing.T, ids ...string) *keyring.Ring {
	t.Helper()
	var keys []string
	for _, id := range ids {
		keys = append(keys, id+":"+base64.StdEncoding.EncodeToString([]byte(strings.Repeat(id, 16)[:32])))
	}
	r, err := keyring.Parse(strings.Join(keys, ","))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// One person under a key that is gone holds up nobody else: not the look at what is due, not another request, not a
// rotation.
func TestGoneKey(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	old, fresh := ring(t, "k1"), ring(t, "k2")
	ada, ben := person{"ada"}, person{"ben"}
	lost, err := erasure.Ask(t.Context(), pool, old, "cli:op", ada)
	if err != nil {
		t.Fatal(err)
	}
	first, err := erasure.Ask(t.Context(), pool, fresh, "cli:op", ben)
	if err != nil {
		t.Fatalf("ask beside a key that is gone: %v", err)
	}
	again, err := erasure.Ask(t.Context(), pool, fresh, "cli:op", ben)
	if err != nil || again.ID != first.ID || !again.At.After(first.At) {
		t.Errorf("asked again: %+v after %+v, %v", again, first, err)
	}
	var seen []person
	err = erasure.Due(t.Context(), pool, fresh, nil, func(_ context.Context, a erasure.Asked[person]) (erasure.Done, error) {
		seen = append(seen, a.Person)
		return erasure.Done{Kept: 1}, nil
	})
	if !errors.Is(err, keyring.ErrUnknownKey) || !strings.Contains(err.Error(), "erasure 1: key id k1") || lost.ID != 1 || !slices.Equal(seen, []person{ben}) {
		t.Errorf("due: %v, %v", seen, err)
	}
	if n, err := erasure.Reseal(t.Context(), pool, ring(t, "k3", "k2")); n != 1 || !errors.Is(err, keyring.ErrUnknownKey) {
		t.Errorf("%d sealed again, %v", n, err)
	}
	seen = nil
	err = erasure.Due(t.Context(), pool, ring(t, "k3"), []int64{first.ID}, func(_ context.Context, a erasure.Asked[person]) (erasure.Done, error) {
		seen = append(seen, a.Person)
		return erasure.Done{Erased: 1}, nil
	})
	if err != nil || !slices.Equal(seen, []person{ben}) {
		t.Errorf("due after the rotation: %v, %v", seen, err)
	}
}

// ending ends every erasure just before it is asked for again, as another process may.
type ending struct{ postgres.Querier }

func (e ending) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if strings.HasPrefix(sql, "UPDATE") {
		if _, err := e.Exec(ctx, `UPDATE erasures SET done_at = now(), person = NULL`); err != nil {
			panic(err)
		}
	}
	return e.Querier.QueryRow(ctx, sql, args...)
}

// A request that meets the end of the one before it is a new one, so that what is left is erased.
func TestAsk_endedMeanwhile(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	first, err := erasure.Ask(t.Context(), pool, ring(t, "k1"), "cli:op", person{"ada"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := erasure.Ask(t.Context(), ending{pool}, ring(t, "k1"), "cli:op", person{"ada"})
	if err != nil {
		t.Fatal(err)
	}
	var open bool
	if err := pool.QueryRow(t.Context(), `SELECT done_at IS NULL FROM erasures WHERE id = $1`, again.ID).Scan(&open); err != nil || !open || again.ID == first.ID {
		t.Errorf("asked again it is %+v, open: %v, %v", again, open, err)
	}
}

// A retention that is shorter than the time for which other services hold copies would erase here what is still there.
func TestKeep(t *testing.T) {
	t.Parallel()
	if _, err := erasure.Keep(erasure.Copies - time.Second); err == nil || !strings.Contains(err.Error(), "AML_RETENTION") {
		t.Errorf("too short: %v", err)
	}
	r, err := erasure.Keep(erasure.Copies)
	if err != nil || r.Laundering != erasure.Copies || r.Copies != erasure.Copies {
		t.Errorf("long enough: %+v, %v", r, err)
	}
}

// Services prepare the statements of the list against their own schemas.
func TestStatements(t *testing.T) {
	t.Parallel()
	pg.Listed(t, "Statements")
	pg.Prepare(t, pg.New(t, migrations), erasure.Statements())
}
