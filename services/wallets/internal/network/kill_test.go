//go:build integration

package network_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/fixture"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
)

// killedAtEveryStep changes the chain and lets a process of its own scan that. It repeats this, and the process kills
// itself one step later each time, until one reaches the head alive. It returns the steps at which the others died.
func killedAtEveryStep(l *fixture.Chain, change func(i int)) (died []string) {
	l.T.Helper()
	for step := 1; ; step++ {
		change(step - 1)
		l.Epoch++
		text, err := json.Marshal(victim{Settings: l.Settings, Epoch: l.Epoch, Step: step})
		if err != nil {
			l.T.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^$") //nolint:gosec // this test itself
		cmd.Env = append(os.Environ(), victimVariable+"="+string(text))
		out, err := cmd.Output()
		where := strings.TrimSpace(string(out))
		var state *exec.ExitError
		switch ok := errors.As(err, &state); {
		case err == nil:
			return died
		case ok && state.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL && step < 60:
			died = append(died, where)
		default:
			l.T.Fatalf("step %d: %v %s", step, err, where)
		}
		l.RunOnce()
	}
}

// victim is a process that scans the same chain into the same database, and kills itself.
type victim struct {
	fixture.Settings
	Epoch int64
	Step  int // at which it dies
}

const victimVariable = "CAUSEWAY_TEST_SCAN_AND_DIE"

// TestMain turns a process of this test into a scanner that kills itself when the environment asks for it.
func TestMain(m *testing.M) {
	text := os.Getenv(victimVariable)
	if text == "" {
		flag.Parse()
		_ = flag.Set("test.parallel", "8") // the tests wait for chains and clocks more than they compute
		os.Exit(m.Run())
	}
	var v victim
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(err)
	}
	if err := v.run(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// run scans until the cursor is at the head, or to the step at which it kills itself.
func (v victim) run() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pool, err := pgxpool.New(ctx, v.Database)
	if err != nil {
		return err
	}
	defer pool.Close()
	book := fixture.NewBook(pool, nil)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	driver, cfg := v.Open(log, rpc.NewMetrics(prometheus.NewRegistry()), book)
	cfg.Prefetch = 1 // one step after the other
	d := &steps{last: v.Step}
	watched := dyingStore{book, d}
	s := scanner.New(cfg, dyingDriver{driver, d, func(head chain.Head) {
		var hash string
		if err := pool.QueryRow(ctx, `SELECT hash FROM cursors WHERE mode = 'live'`).Scan(&hash); err == nil && hash == head.Hash {
			os.Exit(0) // everything is scanned and this process never reached its step
		}
	}}, watched, scanner.NewWatch(tenant.Live, cfg.Family, watched), log, scanner.NewMetrics(prometheus.NewRegistry()))
	return s.Run(ctx, v.Epoch)
}

// steps counts calls and kills the process at one of them with SIGKILL, which nothing can prevent.
type steps struct {
	last, at int
	looked   bool
}

func (d *steps) pass(where string) {
	if where == "before Header" || where == "after Header" { // the steps of the search for the common ancestor are alike
		if d.looked {
			return
		}
		d.looked = where == "after Header"
	}
	if d.at++; d.at == d.last {
		fmt.Println(where)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func around[T any](d *steps, name string, f func() (T, error)) (T, error) {
	d.pass("before " + name)
	out, err := f()
	d.pass("after " + name)
	return out, err
}

type dyingDriver struct {
	chain.Driver
	steps *steps
	look  func(chain.Head)
}

func (d dyingDriver) Head(ctx context.Context) (chain.Head, error) {
	head, err := around(d.steps, "Head", func() (chain.Head, error) { return d.Driver.Head(ctx) })
	if err == nil {
		d.look(head)
	}
	return head, err
}

func (d dyingDriver) Header(ctx context.Context, height int64) (chain.Header, error) {
	return around(d.steps, "Header", func() (chain.Header, error) { return d.Driver.Header(ctx, height) })
}

func (d dyingDriver) Fetch(ctx context.Context, height int64) (chain.Block, error) {
	b, err := around(d.steps, "Fetch", func() (chain.Block, error) { return d.Driver.Fetch(ctx, height) })
	return dyingBlock{b, d.steps}, err
}

type dyingBlock struct {
	chain.Block
	steps *steps
}

func (b dyingBlock) Match(ctx context.Context, watched chain.Watched) ([]chain.Transfer, error) {
	return around(b.steps, "Match", func() ([]chain.Transfer, error) { return b.Block.Match(ctx, watched) })
}

type dyingStore struct {
	*store.Store
	steps *steps
}

func (s dyingStore) write(name string, f func() error) error {
	_, err := around(s.steps, name, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func (s dyingStore) Adopt(ctx context.Context, lease scanner.Lease) (at scanner.Cursor, found bool, err error) {
	err = s.write("Adopt", func() error {
		at, found, err = s.Store.Adopt(ctx, lease)
		return err
	})
	return at, found, err
}

func (s dyingStore) Advance(ctx context.Context, lease scanner.Lease, from scanner.Cursor, step scanner.Step) error {
	return s.write("Advance", func() error { return s.Store.Advance(ctx, lease, from, step) })
}

func (s dyingStore) Rewind(ctx context.Context, lease scanner.Lease, from scanner.Cursor, ancestor chain.Header) error {
	return s.write("Rewind", func() error { return s.Store.Rewind(ctx, lease, from, ancestor) })
}

func (s dyingStore) AddressesAfter(ctx context.Context, mode tenant.Mode, family money.Family, seq int64, f func(seq int64, key []byte)) error {
	return s.write("AddressesAfter", func() error { return s.Store.AddressesAfter(ctx, mode, family, seq, f) })
}
