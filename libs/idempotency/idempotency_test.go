//go:build integration

package idempotency_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/testkit/pg"
)

var migrations = fstest.MapFS{"00001_idempotency.sql": {Data: []byte("-- +goose Up\n" + idempotency.Schema)}}

func key(name, body string) idempotency.Key {
	return idempotency.Key{Scope: idempotency.Scope("m1", "test", "POST /v1/things"), Key: name, Hash: sha256.Sum256([]byte(body))}
}

func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	pg.Prepare(t, pg.New(t, migrations), map[string]string{
		"insert": idempotency.InsertSQL, "insertAll": idempotency.InsertAllSQL, "find": idempotency.FindSQL, "findAll": idempotency.FindAllSQL,
		"rotate": idempotency.RotateSQL, "erase": idempotency.EraseSQL,
	})
}

func TestFind(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	find := func(k idempotency.Key) (idempotency.Answer, bool, error) {
		return idempotency.Find(t.Context(), pool, k)
	}
	if _, found, err := find(key("k", "body")); found || err != nil {
		t.Fatalf("found %v, %v before anything was stored", found, err)
	}
	if err := idempotency.Put(t.Context(), pool, key("k", "body"), idempotency.Answer{Status: 201, Body: []byte("made")}); err != nil {
		t.Fatal(err)
	}
	if a, found, err := find(key("k", "body")); err != nil || !found || a.Status != 201 || string(a.Body) != "made" {
		t.Errorf(`find a kept answer: got %d %q, %v, %v, want 201 "made"`, a.Status, a.Body, found, err)
	}
	if _, _, err := find(key("k", "other")); !fault.Is(err, "idempotency_key_reused") {
		t.Errorf("another body: %v", err)
	}
	elsewhere := key("k", "other")
	elsewhere.Scope = idempotency.Scope("m2", "test", "POST /v1/things")
	if _, found, err := find(elsewhere); found || err != nil {
		t.Errorf("another merchant's key: found %v, %v", found, err)
	}
	if err := idempotency.Put(t.Context(), pool, key("", "body"), idempotency.Answer{}); err != nil {
		t.Error(err)
	}
	if _, found, err := find(key("", "body")); found || err != nil {
		t.Errorf("no key at all: found %v, %v", found, err)
	}
}

// A look-up of several keys reads by the index, also while PostgreSQL believes that the table is empty.
func TestFindAll_byIndex(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	if _, err := pool.Exec(t.Context(), `VACUUM ANALYZE idempotency`); err != nil {
		t.Fatal(err)
	}
	err := postgres.Tx(t.Context(), pool, func(tx pgx.Tx) error {
		for _, sql := range []string{postgres.ByIndexSQL, `PREPARE look AS ` + idempotency.FindAllSQL} {
			if _, err := tx.Exec(t.Context(), sql); err != nil {
				return err
			}
		}
		rows, err := tx.Query(t.Context(), `EXPLAIN EXECUTE look('{a,b}')`)
		if err != nil {
			return err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if plan := strings.Join(lines, "\n"); strings.Contains(plan, "Seq Scan") {
			t.Errorf("the look-up reads whole tables:\n%s", plan)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Sixteen callers with one key: one does the work, fifteen get its answer.
func TestPut_oneWinner(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	var won atomic.Int32
	answers := make(chan string, 16)
	for i := range cap(answers) {
		go func() {
			k := key("k", "body")
			err := postgres.Tx(t.Context(), pool, func(tx pgx.Tx) error {
				return idempotency.Put(t.Context(), tx, k, idempotency.Answer{Status: 200, Body: fmt.Appendf(nil, "by %d", i)})
			})
			switch {
			case err == nil:
				won.Add(1)
				answers <- fmt.Sprintf("by %d", i)
			case idempotency.IsTaken(err):
				a, err := idempotency.Replay(t.Context(), pool, k)
				answers <- fmt.Sprint(string(a.Body), errors.Join(err))
			default:
				answers <- err.Error()
			}
		}()
	}
	seen := map[string]int{}
	for range cap(answers) {
		seen[<-answers]++
	}
	if won.Load() != 1 || len(seen) != 1 && len(seen) != 2 {
		t.Fatalf("%d winners, answers %v", won.Load(), seen)
	}
	for answer := range seen {
		if answer[:3] != "by " {
			t.Errorf("answer %q", answer)
		}
	}
}

// While the first caller's transaction is open the second waits, at most the lock timeout, and gets that error.
func TestPut_firstStillRunning(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	k := key("k", "body")
	if err := idempotency.Put(t.Context(), tx, k, idempotency.Answer{Status: 200}); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	err = idempotency.Put(t.Context(), pg.LockTimeout(t, pool, "1s"), k, idempotency.Answer{Status: 200})
	if !idempotency.IsTaken(err) {
		t.Fatalf("second: %v", err)
	}
	if waited := time.Since(start); waited < time.Second || waited > 4*time.Second {
		t.Errorf("waited %v, want about the lock timeout of 1 s", waited)
	}
	if _, err := idempotency.Replay(t.Context(), pool, k); !fault.Is(err, "idempotency_in_progress") {
		t.Errorf("replay while running: %v", err)
	}
}

func TestMaintain(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	for slot := range 5 {
		if _, err := pool.Exec(t.Context(), `INSERT INTO idempotency VALUES ($1, $2, '', 200, '', NULL, NULL)`, slot, []byte{byte(slot)}); err != nil {
			t.Fatal(err)
		}
	}
	fresh, old := key("fresh", ""), key("old", "")
	for _, k := range []idempotency.Key{fresh, old} {
		if err := idempotency.Put(t.Context(), pool, k, idempotency.Answer{Status: 201, Body: []byte("public"), Secret: []byte("sealed")}); err != nil {
			t.Fatal(err)
		}
	}
	sum := idempotency.Args(old, idempotency.Answer{})[0]
	if _, err := pool.Exec(t.Context(), `UPDATE idempotency SET secret_until = now() - interval '1 second' WHERE id = $1`, sum); err != nil {
		t.Fatal(err)
	}
	if err := idempotency.Maintain(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	for k, want := range map[*idempotency.Key]string{&fresh: "sealed", &old: ""} {
		if a, found, err := idempotency.Find(t.Context(), pool, *k); err != nil || !found || string(a.Secret) != want || string(a.Body) != "public" {
			t.Errorf(`find %s: got the secret %q and the body %q, %v, %v; want the secret %q and the body "public"`, k.Key, a.Secret, a.Body, found, err, want)
		}
	}
	var next, secrets int
	err := pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE slot = (floor(extract(epoch FROM now()) / 86400)::bigint + 1) % 5), count(secret) FROM idempotency`).Scan(&next, &secrets)
	if err != nil || next != 0 || secrets == 0 {
		t.Errorf("%d rows in tomorrow's partition, %d secrets left, %v", next, secrets, err)
	}
}

// In the first minutes of a day an answer has a row in the past day's partition as well, and is one answer.
func TestReport(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	sealed := append([]byte{1, 2}, "k1 and the sealed text"...)
	if err := idempotency.Put(t.Context(), pool, key("k", ""), idempotency.Answer{Status: 201, Secret: sealed}); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `INSERT INTO idempotency
SELECT (slot + 4) % 5, id, hash, status, body, secret, secret_until FROM idempotency ON CONFLICT DO NOTHING`); err != nil {
		t.Fatal(err)
	}
	for first, want := range map[string]int{"k1": 0, "k2": 1} {
		got, err := idempotency.Report(t.Context(), pool, first, 7)
		if err != nil || got.Master != first || got.Sealed != 7 || got.Answers != want || (got.ErasedAt == nil) != (want == 0) {
			t.Errorf("report under %s = %+v, %v; want %d answers under old keys", first, got, err, want)
		}
	}
}
