//go:build integration

package postgres_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"causeway.internal/libs/config"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/pg"
)

// ignored lets PgBouncer drop the settings that a connection is opened with, as its manual advises for clients that
// send some which it does not know.
const ignored = "ignore_startup_parameters = statement_timeout, lock_timeout, idle_in_transaction_session_timeout, jit, " +
	"idle_session_timeout, tcp_keepalives_idle, tcp_keepalives_interval, tcp_keepalives_count, tcp_user_timeout, plan_cache_mode"

// Every pooler that lends sessions away is refused, also with a single server connection, which everybody is lent, with
// connections lent in turn, and with a reset after each transaction, which frees locks too early.
func TestOpen_refusesPoolers(t *testing.T) {
	t.Parallel()
	direct := pg.Config(t, migrations)
	for name, test := range map[string]struct {
		mode     string
		settings []string
	}{
		"transaction":            {"transaction", []string{ignored}},
		"transaction, one":       {"transaction", []string{ignored, "default_pool_size = 1"}},
		"transaction, in turn":   {"transaction", []string{ignored, "server_round_robin = 1"}},
		"transaction with reset": {"transaction", []string{ignored, "server_reset_query_always = 1"}},
		"statement":              {"statement", []string{ignored}},
		"session without reset":  {"session", []string{ignored, "server_reset_query ="}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through := pg.Pooler(t, test.mode, []string{direct.URL.Reveal()}, test.settings...)
			cfg := direct
			cfg.URL = config.Secret(through(direct.URL.Reveal()))
			pool, err := postgres.Open(t.Context(), cfg, migrations, telemetrytest.ForTest(t))
			if !errors.Is(err, postgres.ErrPooled) {
				t.Errorf("opened: %v", err)
			}
			if err == nil {
				pool.Close()
			}
			if err := postgres.Migrate(t.Context(), cfg, migrations); !errors.Is(err, postgres.ErrPooled) {
				t.Errorf("migrated: %v", err)
			}
		})
	}
}

// In session mode everything holds: settings, migrations, many processes that start at once, and leadership, which goes
// on as soon as the leader's connection ends.
func TestOpen_poolerInSessionMode(t *testing.T) {
	t.Parallel()
	direct := pg.Config(t, migrations)
	through := pg.Pooler(t, "session", []string{direct.URL.Reveal()})
	cfg := direct.With("plan_cache_mode", "force_generic_plan")
	cfg.URL = config.Secret(through(direct.URL.Reveal()))
	if err := postgres.Migrate(t.Context(), cfg, migrations); err != nil {
		t.Fatal(err)
	}
	const processes = 8
	opened := make(chan error)
	for range processes {
		go func() {
			pool, err := postgres.Open(t.Context(), cfg, migrations, telemetrytest.ForTest(t))
			if err == nil {
				pool.Close()
			}
			opened <- err
		}()
	}
	for range processes {
		if err := <-opened; err != nil {
			t.Fatal(err)
		}
	}
	pool, err := postgres.Open(t.Context(), cfg, migrations, telemetrytest.ForTest(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for name, want := range map[string]string{
		"statement_timeout": "15s", "lock_timeout": "2s", "idle_in_transaction_session_timeout": "30s", "timezone": "UTC",
		"plan_cache_mode": "force_generic_plan", "application_name": "causeway",
	} {
		var has string
		if err := pool.QueryRow(t.Context(), `SELECT current_setting($1)`, name).Scan(&has); err != nil || has != want {
			t.Errorf("%s is %q, %v; want %q", name, has, err, want)
		}
	}
	takesOver(t, cfg)
}

// takesOver elects a leader, ends it, and waits for the next.
func takesOver(t *testing.T, cfg postgres.Config) {
	t.Helper()
	log := telemetrytest.ForTest(t).Log
	var leaders atomic.Int32
	led := make(chan struct{}, 2)
	first, end := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	second, stop := context.WithCancel(t.Context())
	for _, ctx := range []context.Context{first, second} {
		go func() {
			ended <- postgres.Lead(ctx, cfg, "pooled", log, func(ctx context.Context) error {
				if leaders.Add(1) > 1 {
					t.Error("two lead at once")
				}
				led <- struct{}{}
				<-ctx.Done()
				leaders.Add(-1)
				return nil
			})
		}()
		if ctx == first {
			<-led
		}
	}
	end()
	select {
	case <-led:
	case <-time.After(2 * time.Minute): // the machine may be busy
		t.Error("nobody leads once the leader's connection is closed")
	}
	stop()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// A proof that runs out of its caller's time says nothing about a pooler: the notification may only have been late.
func TestOpen_endedWhileProving(t *testing.T) {
	t.Parallel()
	direct := pg.Config(t, migrations)
	through := pg.Pooler(t, "transaction", []string{direct.URL.Reveal()}, ignored)
	cfg := direct
	cfg.URL = config.Secret(through(direct.URL.Reveal()))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err := postgres.Open(ctx, cfg, migrations, telemetrytest.ForTest(t))
	if err == nil || errors.Is(err, postgres.ErrPooled) {
		t.Errorf("opened: %v", err)
	}
}
