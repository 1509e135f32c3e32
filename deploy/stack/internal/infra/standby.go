package infra

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/stack/internal/state"
)

// PostgresSecond is the server that begins as the standby of Postgres. Failovers swap the two.
const PostgresSecond = Postgres + "-2"

// slot keeps what the standby has not received yet. The primary of the moment has it.
const slot = "standby"

// syncLimit bounds how long a standby may take to follow.
const syncLimit = time.Minute

// replicated are the settings of a server that replicates, as primary or as standby. Each waits from its start for the
// other to hold a commit, so that a standby that becomes primary acknowledges no write that it alone holds.
func replicated(name string) []string {
	other := Postgres
	if name == Postgres {
		other = PostgresSecond
	}
	return []string{
		"-c", "cluster_name=" + name, "-c", `synchronous_standby_names="` + other + `"`, "-c", "primary_slot_name=" + slot,
		"-c", "wal_keep_size=256MB", // pg_rewind reads back to the last checkpoint that both have
		// As in production: a standby that has lost its primary sleeps for so long between attempts, and may see its
		// promotion only then.
		"-c", "wal_retrieve_retry_interval=500ms",
	}
}

// standby copies the primary and starts the copy, and returns when every commit waits for it.
func (s Servers) standby(ctx context.Context, primary state.Process, password string, ca *authority) error {
	data, user, bin := primary.Spec.Dir+"-2", primary.Spec.User, filepath.Dir(primary.Spec.Path)
	if err := user.Own(data); err != nil {
		return err
	}
	source, environ, err := conninfo(primary)
	if err != nil {
		return err
	}
	err = user.Run(environ, filepath.Join(bin, "pg_basebackup"), "-D", data, "-d", source, "-R", "-C", "-S", slot, "-c", "fast", "--no-sync")
	if err != nil {
		return err
	}
	if err := ca.issue(user, data+".crt", data+".key"); err != nil {
		return err
	}
	if _, err := s.startPostgres(ctx, PostgresSecond, bin, data, user, password); err != nil {
		return err
	}
	return inSync(ctx, primary)
}

// conninfo names a server to PostgreSQL's own programs. The password is in the environment, which they copy into the
// settings of a standby.
func conninfo(server state.Process) (source string, environ []string, err error) {
	address, err := url.Parse(server.Ready)
	if err != nil {
		return "", nil, errors.New("the server has no URL") // the error would show the password
	}
	password, _ := address.User.Password()
	source = fmt.Sprintf("host=%s port=%s user=%s dbname=postgres sslmode=disable", address.Hostname(), address.Port(), address.User.Username())
	return source, []string{"PATH=" + filepath.Dir(server.Spec.Path) + ":/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "PGPASSWORD=" + password}, nil
}

// inSync waits until every commit of a primary waits for a standby that streams.
func inSync(ctx context.Context, primary state.Process) error {
	conn, err := pgx.Connect(ctx, primary.Ready)
	if err != nil {
		return fmt.Errorf("connect to the primary: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for deadline := time.Now().Add(syncLimit); time.Now().Before(deadline); {
		var follows bool
		const query = `SELECT EXISTS (SELECT FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync')`
		if err := conn.QueryRow(ctx, query).Scan(&follows); err != nil {
			return fmt.Errorf("look for the standby: %w", err)
		}
		if follows {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(25 * time.Millisecond):
		}
	}
	return fmt.Errorf("the standby does not follow within %s", syncLimit)
}

// pair finds a server of PostgreSQL and the other one.
func pair(st *state.State, name string) (one, other *state.Process, err error) {
	if name != Postgres && name != PostgresSecond {
		return nil, nil, fmt.Errorf("%s is no server of PostgreSQL", name)
	}
	if one, err = st.Find(name); err != nil {
		return nil, nil, err
	}
	second := PostgresSecond
	if name == PostgresSecond {
		second = Postgres
	}
	other, err = st.Find(second)
	return one, other, err
}

// Promote makes a standby the primary, once the primary has ended. From then on the old one is fenced: nothing starts
// it until Rewind has made it a standby.
func (s Servers) Promote(ctx context.Context, name string) error {
	var standby state.Process
	_, err := state.Change(s.Dir, func(st *state.State) error {
		one, other, err := pair(st, name)
		switch {
		case err != nil:
			return err
		case other.Ref.Alive():
			return fmt.Errorf("%s still runs", other.Name)
		case one.Fenced:
			return fmt.Errorf("%s was the primary before", one.Name)
		}
		other.Fenced, standby = true, *one
		return nil
	})
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, standby.Ready)
	if err != nil {
		return fmt.Errorf("connect to the standby: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var done bool
	if err := conn.QueryRow(ctx, `SELECT pg_promote()`).Scan(&done); err != nil {
		return fmt.Errorf("promote %s: %w", name, err)
	}
	if !done {
		return fmt.Errorf("%s is not promoted within a minute", name)
	}
	const reserve = `SELECT pg_create_physical_replication_slot($1, true) WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1)`
	if _, err := conn.Exec(ctx, reserve, slot); err != nil {
		return fmt.Errorf("keep the log for the next standby: %w", err)
	}
	return nil
}

// rewindLimit bounds how long Rewind waits for what is left of a killed primary.
const rewindLimit = 30 * time.Second

// Rewind takes back what a fenced server has and the primary has not, and makes it a standby that start may start.
func (s Servers) Rewind(ctx context.Context, name string) error {
	st, err := state.Load(s.Dir)
	if err != nil {
		return err
	}
	one, primary, err := pair(st, name)
	switch {
	case err != nil:
		return err
	case !one.Fenced:
		return fmt.Errorf("%s is not fenced", name)
	case one.Ref.Alive():
		return fmt.Errorf("%s still runs", name)
	}
	// The file from which pg_rewind reads the primary's timeline is written by a checkpoint.
	if err := checkpoint(ctx, *primary); err != nil {
		return err
	}
	source, environ, err := conninfo(*primary)
	if err != nil {
		return err
	}
	program := filepath.Join(filepath.Dir(one.Spec.Path), "pg_rewind")
	for deadline := time.Now().Add(rewindLimit); ; {
		err := one.Spec.User.Run(environ, program, "-D", one.Spec.Dir, "--source-server", source, "-R", "--no-sync")
		if err == nil {
			break
		}
		if !leftBehind(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	if _, err := os.Stat(filepath.Join(one.Spec.Dir, "standby.signal")); err != nil {
		return fmt.Errorf("%s would not start as a standby: %w", name, err)
	}
	_, err = state.Change(s.Dir, func(st *state.State) error {
		one, err := st.Find(name)
		if err == nil {
			one.Fenced = false
		}
		return err
	})
	return err
}

func checkpoint(ctx context.Context, server state.Process) error {
	conn, err := pgx.Connect(ctx, server.Ready)
	if err != nil {
		return fmt.Errorf("connect to the primary: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `CHECKPOINT`); err != nil {
		return fmt.Errorf("write a checkpoint: %w", err)
	}
	return nil
}

// leftBehind says whether processes of a killed server still hold its memory or its files.
func leftBehind(err error) bool {
	return strings.Contains(err.Error(), "shared memory block") || strings.Contains(err.Error(), "postmaster.pid")
}
