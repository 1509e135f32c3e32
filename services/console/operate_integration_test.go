//go:build integration

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/command"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/console/internal/store"
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

// The command seals every authenticator app's secret under the new key, in more than one batch, so that the old key is
// of no use afterwards. It stops at a value that does not open, and names its person.
func TestRotateMaster(t *testing.T) {
	t.Parallel()
	cfg := pg.Config(t, migrations.FS)
	pool := pg.Open(t, cfg, migrations.FS)
	key := func(id string) string {
		return id + ":" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(id[1:]), 32))
	}
	keep := func(keys string) *store.Store {
		t.Helper()
		ring, err := keyring.Parse(keys)
		if err != nil {
			t.Fatal(err)
		}
		return store.New(pool, ring, time.Now)
	}
	run := func(keys string) (report resealed, err error) {
		var out bytes.Buffer
		environ := map[string]string{
			"DOOR": "merchant", "PUBLIC_URL": "http://localhost:8080", "DATABASE_URL": cfg.URL.Reveal(), "MASTER_KEYS": keys,
		}
		if err := program.Run(t.Context(), command.Input{Environ: environ, Out: &out, Args: []string{"rotate-master"}}); err != nil {
			return report, err
		}
		return report, json.Unmarshal(out.Bytes(), &report)
	}
	const people = 1100
	old, next := key("k1"), key("k2")
	before := keep(old)
	for i := range people {
		id := fmt.Sprintf("usr_%d", i)
		if _, err := pool.Exec(t.Context(), `INSERT INTO people (id, login, handle) VALUES ($1, $1, convert_to($1, 'UTF8'))`, id); err != nil {
			t.Fatal(err)
		}
		if err := before.SetTOTP(t.Context(), id, "secret of "+id, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pool.Exec(t.Context(), `INSERT INTO people (id, login, handle) VALUES ('usr_none', 'none', 'none')`); err != nil {
		t.Fatal(err)
	}
	if _, err := run(next); err == nil || !strings.Contains(err.Error(), "usr_0") {
		t.Errorf("without the old key: got %v, want a refusal that names the first person", err)
	}
	for _, want := range []resealed{{"k2", people}, {"k2", 0}} {
		if got, err := run(next + "," + old); err != nil || got != want {
			t.Errorf("rotate the master key: got %+v, %v, want %+v", got, err, want)
		}
	}
	for _, id := range []string{"usr_0", "usr_999"} {
		if got, err := keep(next).TOTP(t.Context(), id); err != nil || got != "secret of "+id {
			t.Errorf("the secret of %s under the new key alone: got %q, %v", id, got, err)
		}
	}
}

// The table of processes is that of libs/presence.
func TestMigrations_processes(t *testing.T) {
	t.Parallel()
	pg.Holds(t, migrations.FS, presence.Schema)
}
