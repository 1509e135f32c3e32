//go:build integration

package main

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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/address"
	"causeway.internal/libs/config"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/chain/simulated"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/messaging"
	"causeway.internal/services/wallets/internal/network"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
	"causeway.internal/services/wallets/migrations"
)

// liveChain is a live network as the service scans it, with the real store, the real driver and the chain's own
// software.
type liveChain struct {
	*node
	pool      *pgxpool.Pool
	book      *store.Store
	addresses []string // issued addresses
	foreign   []string
	last      map[string]wire.DepositChanged
	stop      func()
	cfg       scanner.Config
	driver    chain.Driver
	endpoints *rpc.Metrics
	registry  *prometheus.Registry // of endpoints
	metrics   *scanner.Metrics
	epoch     int64
	settings  crashSettings
	strayed   chan wallet.Deposit
	log       *slog.Logger
	mempool   scanner.MempoolConfig // watched where Poll is set
}

var chainNets = map[tenant.Mode]address.Net{tenant.Test: address.Testnet, tenant.Live: address.Regtest}

func newBook(pool *pgxpool.Pool, strayed chan<- wallet.Deposit) *store.Store {
	return store.New(pool, messaging.Out{Now: time.Now}, store.Settings{
		Nets: chainNets, Depths: wallet.DefaultDepths(), Now: time.Now, Strayed: func(_ context.Context, _ wallet.Wallet, d wallet.Deposit) { strayed <- d },
	})
}

func newLiveChain(t testing.TB, s subject, n *node, urls ...string) *liveChain {
	t.Helper()
	url := pg.URL(t, migrations.FS)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	l := &liveChain{
		node: n, pool: pool, strayed: make(chan wallet.Deposit, 10), last: map[string]wire.DepositChanged{}, metrics: scanner.NewMetrics(prometheus.NewRegistry()),
		registry: prometheus.NewRegistry(),
	}
	l.book, l.endpoints = newBook(pool, l.strayed), rpc.NewMetrics(l.registry)
	l.issue(s.money().Family)
	if n.sim != nil {
		if err := n.sim.attach(l.book); err != nil {
			t.Fatal(err)
		}
	}
	var tokens []string
	for _, name := range s.tokens {
		tokens = append(tokens, name+":"+n.Tokens[name])
	}
	l.settings = crashSettings{
		Database: url, Network: s.network, URLs: strings.Join(append([]string{n.RPC}, urls...), ","), Tokens: strings.Join(tokens, ","),
		ChainID: n.Chain, Genesis: n.Genesis, Net: address.Regtest, Start: n.Block + 1, Simulated: s.simulated,
	}
	l.log = slog.New(slog.NewTextHandler(t.Output(), nil))
	l.driver, l.cfg = l.settings.open(l.log, l.endpoints, l.book)
	l.start()
	t.Cleanup(func() { l.stop() })
	return l
}

// issue stores addresses as issued ones, and makes some foreign ones.
func (l *liveChain) issue(family money.Family) {
	l.t.Helper()
	const ours, theirs = 5, 3
	for i := range ours + theirs {
		sum := address.Keccak256([]byte(fmt.Sprint(family, i)))
		key := sum[:20]
		if family == money.Solana {
			list, err := derivation.NewSandbox().Derive(uint32(i), 1)
			if err != nil {
				l.t.Fatal(err)
			}
			key = list[0].Key
		}
		text, err := address.Encode(family, chainNets[tenant.Live], key)
		if err != nil {
			l.t.Fatal(err)
		}
		if i >= ours {
			l.foreign = append(l.foreign, text)
			continue
		}
		if _, err := l.pool.Exec(l.t.Context(), `INSERT INTO addresses (mode, family, seq, account, idx, key, address, wallet_id)
			VALUES ('live', $1, $2, 0, $2, $3, $4, $5)`, string(family), i+1, key, text, fmt.Sprint("wal_", i)); err != nil {
			l.t.Fatal(err)
		}
		l.addresses = append(l.addresses, text)
	}
}

// crashSettings are the settings of a process that scans the same chain into the same database.
type crashSettings struct {
	Database, Network, URLs, Tokens, Genesis, Trace string
	Net                                             address.Net
	ChainID, Start, Epoch                           int64
	Step                                            int // at which the process kills itself
	Simulated                                       bool
}

// live is the network as the service reads it from its environment.
func (c crashSettings) live() (network.Live, money.Network) {
	listed, _ := money.NetworkOf(c.Network)
	scan := network.Scan{URLs: config.Secret(c.URLs), Timeout: 5 * time.Second, Poll: 25 * time.Millisecond, Prefetch: 6, Grace: 500 * time.Millisecond, Start: c.Start}
	set := network.EVM{Scan: scan, ChainID: c.ChainID, Tokens: c.Tokens, Trace: c.Trace}
	all := network.Settings{Bitcoin: network.Bitcoin{Scan: scan}, Ethereum: set, Polygon: set, Tron: network.Tron{Scan: scan, Genesis: c.Genesis, Tokens: c.Tokens}, Solana: network.Solana{Scan: scan, Genesis: c.Genesis, Tokens: c.Tokens}}
	return all.Networks(c.Net)[c.Network], listed
}

// open makes the driver and the scan settings as the service does from its environment.
func (c crashSettings) open(log *slog.Logger, endpoints *rpc.Metrics, book *store.Store) (chain.Driver, scanner.Config) {
	live, listed := c.live()
	if c.Simulated {
		return simulated.New(listed, book, log), live.Config(listed, time.Second)
	}
	driver, err := live.Driver(listed, log, endpoints)
	if err != nil {
		panic(err)
	}
	return driver, live.Config(listed, time.Second)
}

func (l *liveChain) start() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.t.Context()))
	done := make(chan struct{})
	l.epoch++
	watch, epoch := scanner.NewWatch(tenant.Live, l.cfg.Family, l.book), l.epoch
	s := scanner.New(l.cfg, l.driver, l.book, watch, l.log, l.metrics)
	var beside sync.WaitGroup
	if l.mempool.Poll > 0 {
		cfg := l.mempool
		cfg.Chain = l.cfg.Chain
		m := scanner.NewMempool(cfg, l.driver.(chain.Mempool), l.book, watch, l.log, l.metrics)
		beside.Go(func() { _ = m.Run(ctx, epoch) })
	}
	go func() { defer close(done); _ = s.Run(ctx, epoch) }()
	l.stop = func() { cancel(); <-done; beside.Wait() }
}

// forget resets the database to one that never scanned the chain.
func (l *liveChain) forget() {
	l.t.Helper()
	if _, err := l.pool.Exec(l.t.Context(), `DELETE FROM cursors WHERE mode = 'live'`); err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.pool.Exec(l.t.Context(), `DELETE FROM headers WHERE mode = 'live'`); err != nil {
		l.t.Fatal(err)
	}
}

func read[T any](t testing.TB, pool *pgxpool.Pool, name wire.Name) []T {
	t.Helper()
	rows, err := pool.Query(t.Context(), `WITH gone AS (DELETE FROM outbox WHERE name = $1 RETURNING id, body) SELECT body FROM gone ORDER BY id`, string(name))
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		t.Fatal(err)
	}
	out := make([]T, len(bodies))
	for i, b := range bodies {
		if err := json.Unmarshal(b, &out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// collect reads the new messages and checks that versions count without a gap.
func (l *liveChain) collect() {
	l.t.Helper()
	for _, d := range read[wire.DepositChanged](l.t, l.pool, wire.DepositChangedV1) {
		if d.Version != l.last[d.Key].Version+1 {
			l.t.Fatalf("version %d of %s after %d", d.Version, d.Key, l.last[d.Key].Version)
		}
		l.last[d.Key] = d
	}
}

// of returns the deposits of a transaction by their last message.
func (l *liveChain) of(tx string) (out []wire.DepositChanged) {
	for key, d := range l.last {
		if strings.HasPrefix(key, l.subject.network+":"+tx+":") {
			out = append(out, d)
		}
	}
	return out
}

// one waits until the only deposit of a transaction has the wanted state.
func (l *liveChain) one(tx, what string, holds func(d wire.DepositChanged) bool) (d wire.DepositChanged) {
	l.t.Helper()
	await(l.t, tx+" to be "+what, func() bool {
		l.collect()
		list := l.of(tx)
		if len(list) > 1 {
			l.t.Fatalf("%d deposits of %s: %+v", len(list), tx, list)
		}
		if len(list) == 1 {
			d = list[0]
		}
		return len(list) == 1 && holds(d)
	})
	return d
}

// found waits until a transaction's deposit exists, at any depth.
func (l *liveChain) found(tx string) wire.DepositChanged {
	l.t.Helper()
	return l.one(tx, "found", func(d wire.DepositChanged) bool { return d.State != wire.Reverted })
}

// caughtUp waits until the scan is at the node's head.
func (l *liveChain) caughtUp() {
	l.t.Helper()
	await(l.t, "the scan to reach the head", func() bool {
		head, err := l.driver.Head(l.t.Context())
		if err != nil { // a node may drop a connection; the scan tries again, and so does this loop
			return false
		}
		var height int64
		var hash string
		err = l.pool.QueryRow(l.t.Context(), `SELECT height, hash FROM cursors WHERE mode = 'live'`).Scan(&height, &hash)
		return err == nil && hash == head.Hash && height == head.Height
	})
	l.collect()
}

func (l *liveChain) scanned() (height int64) {
	l.t.Helper()
	if err := l.pool.QueryRow(l.t.Context(), `SELECT height FROM cursors WHERE mode = 'live'`).Scan(&height); err != nil {
		l.t.Fatal(err)
	}
	return height
}

// runOnce scans to the head and stops.
func (l *liveChain) runOnce() {
	l.t.Helper()
	l.start()
	l.caughtUp()
	l.stop()
}

// killedAtEveryStep changes the chain and lets a process of its own scan that. It repeats this, and the process kills
// itself one step later each time, until one reaches the head alive. It returns the steps at which the others died.
func (l *liveChain) killedAtEveryStep(change func(i int)) (died []string) {
	l.t.Helper()
	for step := 1; ; step++ {
		change(step - 1)
		l.epoch++
		set := l.settings
		set.Epoch, set.Step = l.epoch, step
		text, err := json.Marshal(set)
		if err != nil {
			l.t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^$") //nolint:gosec // this test itself
		cmd.Env = append(os.Environ(), crashVariable+"="+string(text))
		out, err := cmd.Output()
		where := strings.TrimSpace(string(out))
		var state *exec.ExitError
		switch ok := errors.As(err, &state); {
		case err == nil:
			return died
		case ok && state.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL && step < 60:
			died = append(died, where)
		default:
			l.t.Fatalf("step %d: %v %s", step, err, where)
		}
		l.runOnce()
	}
}

const crashVariable = "CAUSEWAY_TEST_SCAN_AND_DIE"

// TestMain turns a process of this test into a scanner that kills itself when the environment asks for it.
func TestMain(m *testing.M) {
	text := os.Getenv(crashVariable)
	if text == "" {
		flag.Parse()
		_ = flag.Set("test.parallel", "8") // the tests wait for chains and clocks more than they compute
		os.Exit(m.Run())
	}
	var set crashSettings
	if err := json.Unmarshal([]byte(text), &set); err != nil {
		panic(err)
	}
	if err := set.run(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// run scans until the cursor is at the head, or to the step at which it kills itself.
func (c crashSettings) run() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pool, err := pgxpool.New(ctx, c.Database)
	if err != nil {
		return err
	}
	defer pool.Close()
	book := newBook(pool, nil)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	driver, cfg := c.open(log, rpc.NewMetrics(prometheus.NewRegistry()), book)
	cfg.Prefetch = 1 // one step after the other
	d := &doom{step: c.Step}
	watched := doomedStore{book, d}
	s := scanner.New(cfg, doomedDriver{driver, d, func(head chain.Head) {
		var hash string
		if err := pool.QueryRow(ctx, `SELECT hash FROM cursors WHERE mode = 'live'`).Scan(&hash); err == nil && hash == head.Hash {
			os.Exit(0) // everything is scanned and this process never reached its step
		}
	}}, watched, scanner.NewWatch(tenant.Live, cfg.Family, watched), log, scanner.NewMetrics(prometheus.NewRegistry()))
	return s.Run(ctx, c.Epoch)
}

// doom counts calls and kills the process at one of them with SIGKILL, which nothing can prevent.
type doom struct {
	step, at int
	looked   bool
}

func (d *doom) pass(where string) {
	if where == "before Header" || where == "after Header" { // the steps of the search for the common ancestor are alike
		if d.looked {
			return
		}
		d.looked = where == "after Header"
	}
	if d.at++; d.at == d.step {
		fmt.Println(where)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func around[T any](d *doom, name string, f func() (T, error)) (T, error) {
	d.pass("before " + name)
	out, err := f()
	d.pass("after " + name)
	return out, err
}

type doomedDriver struct {
	chain.Driver
	doom *doom
	look func(chain.Head)
}

func (d doomedDriver) Head(ctx context.Context) (chain.Head, error) {
	head, err := around(d.doom, "Head", func() (chain.Head, error) { return d.Driver.Head(ctx) })
	if err == nil {
		d.look(head)
	}
	return head, err
}

func (d doomedDriver) Header(ctx context.Context, height int64) (chain.Header, error) {
	return around(d.doom, "Header", func() (chain.Header, error) { return d.Driver.Header(ctx, height) })
}

func (d doomedDriver) Fetch(ctx context.Context, height int64) (chain.Block, error) {
	b, err := around(d.doom, "Fetch", func() (chain.Block, error) { return d.Driver.Fetch(ctx, height) })
	return doomedBlock{b, d.doom}, err
}

type doomedBlock struct {
	chain.Block
	doom *doom
}

func (b doomedBlock) Match(ctx context.Context, watched chain.Watched) ([]chain.Transfer, error) {
	return around(b.doom, "Match", func() ([]chain.Transfer, error) { return b.Block.Match(ctx, watched) })
}

type doomedStore struct {
	*store.Store
	doom *doom
}

func (s doomedStore) write(name string, f func() error) error {
	_, err := around(s.doom, name, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func (s doomedStore) Adopt(ctx context.Context, lease scanner.Lease) (at scanner.Cursor, found bool, err error) {
	err = s.write("Adopt", func() error {
		at, found, err = s.Store.Adopt(ctx, lease)
		return err
	})
	return at, found, err
}

func (s doomedStore) Advance(ctx context.Context, lease scanner.Lease, from scanner.Cursor, step scanner.Step) error {
	return s.write("Advance", func() error { return s.Store.Advance(ctx, lease, from, step) })
}

func (s doomedStore) Rewind(ctx context.Context, lease scanner.Lease, from scanner.Cursor, ancestor chain.Header) error {
	return s.write("Rewind", func() error { return s.Store.Rewind(ctx, lease, from, ancestor) })
}

func (s doomedStore) AddressesAfter(ctx context.Context, mode tenant.Mode, family money.Family, seq int64, f func(seq int64, key []byte)) error {
	return s.write("AddressesAfter", func() error { return s.Store.AddressesAfter(ctx, mode, family, seq, f) })
}
