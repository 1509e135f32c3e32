//go:build integration

package main

import (
	"bytes"
	"strings"
	"testing"

	"causeway.internal/libs/command"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/console/migrations"
)

// The commands give no role to an account that another person may have made under the address before.
func TestCreateOwner_existing(t *testing.T) {
	t.Parallel()
	cfg := pg.Config(t, migrations.FS)
	pool := pg.Open(t, cfg, migrations.FS)
	environ := map[string]string{"DOOR": "merchant", "PUBLIC_URL": "http://localhost:8080", "DATABASE_URL": cfg.URL.Reveal()}
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := program.Run(t.Context(), command.Input{Environ: environ, Out: &out, Args: append([]string{"create-owner"}, args...)})
		return out.String(), err
	}
	if _, err := pool.Exec(t.Context(), `INSERT INTO people (id, login, handle, password, totp) VALUES ('usr_thief', 'ceo@acme.example', 'h', 'hash', 't')`); err != nil {
		t.Fatal(err)
	}
	of := func() (n int) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM memberships`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	order := []string{"--merchant", "acme", "--email", "ceo@acme.example"}
	if out, err := run(order...); err == nil || !strings.Contains(err.Error(), "--existing") || of() != 0 {
		t.Errorf("make an owner of an account that exists: got %q, %v, want a refusal", out, err)
	}
	for _, args := range [][]string{{"--merchant", "acme", "--email", "ceo@acme.example", "--existing"}, order, {"--merchant", "acme", "--email", "new@acme.example"}, {"--merchant", "acme", "--email", "new@acme.example"}} {
		if out, err := run(args...); err != nil || !strings.Contains(out, "/console/link/") {
			t.Errorf("%v: got %q, %v, want a link", args, out, err)
		}
	}
	if of() != 2 {
		t.Errorf("made %d members, want two", of())
	}
}

// The table of processes is that of libs/presence.
func TestMigrations_processes(t *testing.T) {
	t.Parallel()
	pg.Holds(t, migrations.FS, presence.Schema)
}
