//go:build integration

package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/stack/internal/infra"
	"causeway.internal/deploy/stack/internal/state"
)

// The primary dies and its standby takes over: every acknowledged commit is there, the old primary does not come back
// as one, and until it follows as a standby no commit is acknowledged that one server alone holds.
func TestStandby_takesOver(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(infra.PostgresURL, "")
	t.Cleanup(func() {
		if out, err := stack(t, "down", "--dir", dir); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	must := func(args ...string) {
		t.Helper()
		if text, err := stack(t, append(args, "--dir", dir)...); err != nil {
			t.Fatalf("run stack %v: %v\n%s", args, err, text)
		}
	}
	must("up", "--infra", "--standby")
	st, err := state.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	execute := func(within time.Duration, statement string) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		conn, err := pgx.Connect(ctx, st.Postgres.URL)
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		_, err = conn.Exec(ctx, statement)
		return err
	}
	const enough = 30 * time.Second
	if err := execute(enough, `CREATE TABLE kept AS SELECT 1 AS row`); err != nil {
		t.Fatal(err)
	}
	for _, turn := range [][2]string{{infra.Postgres, infra.PostgresSecond}, {infra.PostgresSecond, infra.Postgres}} {
		old, next := turn[0], turn[1]
		if text, err := stack(t, "promote", next, "--dir", dir); err == nil || !strings.Contains(text, "still runs") {
			t.Errorf("two primaries at once: %v\n%s", err, text)
		}
		must("kill", old, "-9")
		must("promote", next)
		if text, err := stack(t, "start", old, "--dir", dir); err == nil || !strings.Contains(text, "rewind it first") {
			t.Errorf("the old primary starts as it was: %v\n%s", err, text)
		}
		if err := execute(time.Second, `INSERT INTO kept VALUES (2)`); err == nil {
			t.Errorf("%s acknowledges what it alone holds", next)
		}
		must("rewind", old)
		must("start", old)
		if err := execute(enough, `INSERT INTO kept VALUES (3)`); err != nil {
			t.Errorf("write to %s with %s behind it: %v", next, old, err)
		}
	}
	if err := execute(enough, `DO $$ BEGIN ASSERT (SELECT count(*) FROM kept WHERE row IN (1, 3)) = 3; END $$`); err != nil {
		t.Errorf("rows after two failovers: %v", err)
	}
}
