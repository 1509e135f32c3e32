//go:build integration

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/config"
	"causeway.internal/libs/money"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/address"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/messaging"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
	"causeway.internal/services/wallets/migrations"
)

// node is a real go-ethereum node with its control port (deploy/realchain).
type node struct {
	t      *testing.T
	RPC    string            `json:"rpcUrl"`
	URL    string            `json:"controlUrl"`
	Chain  int64             `json:"chainId"`
	Tokens map[string]string `json:"tokens"`
	Block  int64             `json:"block"`
}

func startNode(t *testing.T) *node {
	t.Helper()
	binary := os.Getenv("CAUSEWAY_REALCHAIN")
	if binary == "" {
		t.Fatal("CAUSEWAY_REALCHAIN is not set: it names the node that `make test` builds from deploy/realchain")
	}
	cmd := exec.Command(binary, "evm", "--chain-id", "1337", "--until-stdin-ends")
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the node did not start: %v", err)
	}
	n := &node{t: t}
	if err := json.Unmarshal(line, n); err != nil {
		t.Fatal(err)
	}
	return n
}

// do calls the control port and returns what it answers.
func (n *node) do(path string, body any) map[string]any {
	n.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		n.t.Fatal(err)
	}
	res, err := http.Post(n.URL+path, "application/json", bytes.NewReader(b))
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil || res.StatusCode != http.StatusOK {
		n.t.Fatalf("%s: %d %s", path, res.StatusCode, text)
	}
	return out
}

func (n *node) transfer(body map[string]any) string {
	n.t.Helper()
	hash, _ := n.do("/transfer", body)["txHash"].(string)
	return strings.ToLower(hash)
}

func (n *node) mine(blocks int) { n.t.Helper(); n.do("/mine", map[string]int{"blocks": blocks}) }

// live is the live ethereum network as the service scans it: real store, real driver, real node.
type liveChain struct {
	*node
	pool      *pgxpool.Pool
	book      *store.Store
	addresses []string
	last      map[string]wire.DepositChanged
	told      map[string][]wire.DepositChanged
	stop      func()
	cfg       scanner.Config
	driver    chain.Driver
}

func newLive(t *testing.T, n *node, urls ...string) *liveChain {
	t.Helper()
	pool := pg.New(t, migrations.FS)
	nets := map[wallet.Mode]address.Net{wallet.Test: address.Testnet, wallet.Live: address.Mainnet}
	l := &liveChain{node: n, pool: pool, last: map[string]wire.DepositChanged{}, told: map[string][]wire.DepositChanged{}}
	l.book = store.New(pool, messaging.Out{Now: time.Now}, store.Settings{Nets: nets, Depths: wallet.DefaultDepths(), Now: time.Now})
	settings := worldSettings{XpubLiveEVM: "xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt"}
	keys, err := settings.keys()
	if err != nil {
		t.Fatal(err)
	}
	sources, err := settings.sources(keys, nets)
	if err != nil {
		t.Fatal(err)
	}
	cases := app.New(l.book, l.book, app.Settings{Sources: sources, Nets: nets, Depths: wallet.DefaultDepths(), Most: wire.AllocateMax, Log: slog.Default()})
	if err := cases.Allocate(t.Context(), "", wallet.Request{ID: "stock", Mode: wallet.Live, Family: money.EVM, Count: 5}); err != nil {
		t.Fatal(err)
	}
	for _, m := range read[wire.AddressesAllocated](t, pool, wire.AddressesAllocatedV1) {
		for _, a := range m.Addresses {
			l.addresses = append(l.addresses, a.Address)
		}
	}
	network, _ := money.NetworkOf("ethereum")
	tel := telemetrytest.ForTest(t)
	set := live{scanSettings{URLs: config.Secret(strings.Join(append([]string{n.RPC}, urls...), ",")), Timeout: 5 * time.Second}, evmSettings{
		ChainID: n.Chain, Tokens: "USDT:" + n.Tokens["USDT"] + ",USDC:" + n.Tokens["USDC"],
	}.open}
	l.driver, err = set.driver(network, tel.Log, rpc.NewMetrics(tel.Registry))
	if err != nil {
		t.Fatal(err)
	}
	l.cfg = scanConfig(wallet.Live, network, 25*time.Millisecond, time.Second)
	l.cfg.Grace, l.cfg.Start = 500*time.Millisecond, 1
	l.start(1)
	t.Cleanup(func() { l.stop() })
	return l
}

func (l *liveChain) start(epoch int64) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.t.Context()))
	done := make(chan struct{})
	s := scanner.New(l.cfg, l.driver, l.book, scanner.NewWatch(wallet.Live, money.EVM, l.book),
		slog.New(slog.NewTextHandler(l.t.Output(), nil)), scanner.NewMetrics(prometheus.NewRegistry()), time.Now)
	go func() { defer close(done); _ = s.Run(ctx, epoch) }()
	l.stop = func() { cancel(); <-done }
}

func read[T any](t *testing.T, pool *pgxpool.Pool, name wire.Name) []T {
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

// collect takes in what was told since, checking that versions count without a gap.
func (l *liveChain) collect() {
	l.t.Helper()
	for _, d := range read[wire.DepositChanged](l.t, l.pool, wire.DepositChangedV1) {
		if d.Version != l.last[d.Key].Version+1 {
			l.t.Fatalf("version %d of %s after %d", d.Version, d.Key, l.last[d.Key].Version)
		}
		l.last[d.Key], l.told[d.Key] = d, append(l.told[d.Key], d)
	}
}

func (l *liveChain) until(key, what string, holds func(d wire.DepositChanged) bool) wire.DepositChanged {
	l.t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if l.collect(); holds(l.last[key]) {
			return l.last[key]
		}
		select {
		case <-deadline:
			l.t.Fatalf("%s: not %s: %+v; known: %v", key, what, l.last[key], l.last)
		case <-tick.C:
		}
	}
}

// caughtUp waits until the scan stands at the node's head.
func (l *liveChain) caughtUp() {
	l.t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		head, err := l.driver.Head(l.t.Context())
		if err != nil {
			l.t.Fatal(err)
		}
		var hash string
		if err := l.pool.QueryRow(l.t.Context(), `SELECT hash FROM cursors WHERE mode = 'live'`).Scan(&hash); err == nil && hash == head.Hash {
			l.collect()
			return
		}
		select {
		case <-deadline:
			l.t.Fatalf("the scan is at %s, the node at %d %s", hash, head.Height, head.Hash)
		case <-tick.C:
		}
	}
}

func key(tx string, ordinal int) string { return fmt.Sprintf("ethereum:%s:%d", tx, ordinal) }

func isSeen(d wire.DepositChanged) bool      { return d.State == wire.Seen }
func isConfirmed(d wire.DepositChanged) bool { return d.State == wire.Confirmed }
func isReverted(d wire.DepositChanged) bool  { return d.State == wire.Reverted }

func TestRealNode_foundAndConfirmed(t *testing.T) {
	t.Parallel()
	l := newLive(t, startNode(t))
	native := l.transfer(map[string]any{"to": l.addresses[0], "amount": "1500000000000000000", "token": false})
	token := l.transfer(map[string]any{"to": l.addresses[1], "amount": "25000000", "token": true, "mine": 1})
	d := l.until(key(token, 1), "seen", isSeen)
	if d.Asset != "USDT" || d.Amount != "25000000" || d.Address != l.addresses[1] || d.Contract != l.Tokens["USDT"] || d.Mode != wire.Live || len(d.Senders) != 1 {
		t.Errorf("%+v", d)
	}
	if d := l.until(key(native, 0), "seen", isSeen); d.Asset != "ETH" || d.Amount != "1500000000000000000" || d.Address != l.addresses[0] || d.Contract != "" {
		t.Errorf("%+v", d)
	}
	l.mine(10)
	l.caughtUp()
	if d := l.last[key(token, 1)]; d.State != wire.Seen || d.Version != 1 {
		t.Errorf("eleven blocks deep: %+v", d)
	}
	l.mine(1)
	if d := l.until(key(token, 1), "confirmed", isConfirmed); d.Depth != 12 || d.Version != 2 {
		t.Errorf("%+v", d)
	}
	l.until(key(native, 0), "confirmed", isConfirmed)
}

// A token that only calls itself USDT is not credited; one transaction that pays several of our addresses credits each.
func TestRealNode_fakeTokenAndBatch(t *testing.T) {
	t.Parallel()
	l := newLive(t, startNode(t))
	fake := l.transfer(map[string]any{"to": l.addresses[0], "amount": "99", "token": "FAKE", "mine": 1})
	for _, to := range []string{l.addresses[1], l.addresses[2]} { // a first balance costs more gas than the node gives a batch
		l.transfer(map[string]any{"to": to, "amount": "1", "token": true, "mine": 1})
	}
	batch := l.transfer(map[string]any{"token": true, "mine": 1, "payments": []map[string]string{
		{"to": l.addresses[1], "amount": "11"}, {"to": "0x00000000000000000000000000000000000000AA", "amount": "12"}, {"to": l.addresses[2], "amount": "13"},
	}})
	usdc := l.transfer(map[string]any{"to": l.addresses[3], "amount": "14", "token": "USDC", "mine": 1})
	if d := l.until(key(usdc, 1), "seen", isSeen); d.Asset != "USDC" {
		t.Errorf("%+v", d)
	}
	l.caughtUp()
	amounts := map[string]string{}
	for k, d := range l.last {
		if strings.Contains(k, batch) {
			amounts[d.Address] = d.Amount
		}
		if strings.Contains(k, fake) {
			t.Errorf("the fake token was credited: %+v", d)
		}
	}
	if len(amounts) != 2 || amounts[l.addresses[1]] != "11" || amounts[l.addresses[2]] != "13" {
		t.Errorf("the batch credited %v", amounts)
	}
}

// Case ii on a real node: the same transaction at another height and at another place among the block's logs is the
// same deposit.
func TestRealNode_minedAgainElsewhere(t *testing.T) {
	t.Parallel()
	l := newLive(t, startNode(t))
	tx := l.transfer(map[string]any{"to": l.addresses[0], "amount": "25000000", "token": true, "mine": 2})
	first := l.until(key(tx, 1), "seen", isSeen)
	l.do("/reorg", map[string]any{"depth": 2, "blocks": 4, "include": tx, "includeAfter": 2, "ahead": 3})
	again := l.until(key(tx, 1), "in another block", func(d wire.DepositChanged) bool { return d.State != wire.Reverted && d.BlockHash != first.BlockHash })
	if again.BlockHeight == first.BlockHeight || again.Amount != first.Amount || !again.FirstSeenAt.Equal(first.FirstSeenAt) || len(l.last) != 1 {
		t.Errorf("first %+v, again %+v of %d deposits", first, again, len(l.last))
	}
	l.mine(12)
	l.until(key(tx, 1), "confirmed", isConfirmed)
}

// Cases i, iii and iv: dropped, replaced, and a head that goes back.
func TestRealNode_droppedAndReplaced(t *testing.T) {
	t.Parallel()
	l := newLive(t, startNode(t))
	tx := l.transfer(map[string]any{"to": l.addresses[0], "amount": "25000000", "token": true, "mine": 2})
	l.until(key(tx, 1), "seen", isSeen)
	l.do("/fork", map[string]any{"depth": 2}) // the head is lower now and stays there
	l.until(key(tx, 1), "reverted", isReverted)
	instead, _ := l.do("/replace", map[string]any{"txHash": tx, "to": l.addresses[1], "amount": "7", "token": true})["txHash"].(string)
	l.mine(3)
	l.until(key(strings.ToLower(instead), 1), "seen", isSeen)
	l.caughtUp()
	if d := l.last[key(tx, 1)]; d.State != wire.Reverted {
		t.Errorf("%+v", d)
	}
}

// Case v: deeper than a final block. Nothing is taken back, nothing is skipped.
func TestRealNode_tooDeep(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	l := newLive(t, n)
	l.stop()
	l.cfg.FinalDepth = 5
	l.start(2)
	tx := l.transfer(map[string]any{"to": l.addresses[0], "amount": "25000000", "token": true, "mine": 8})
	l.until(key(tx, 1), "final", func(d wire.DepositChanged) bool { return d.Finalized })
	l.caughtUp()
	var before, after int64
	where := `SELECT height FROM cursors WHERE mode = 'live'`
	if err := l.pool.QueryRow(t.Context(), where).Scan(&before); err != nil {
		t.Fatal(err)
	}
	l.do("/reorg", map[string]any{"depth": 8, "blocks": 12})
	l.stop()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	metrics := scanner.NewMetrics(prometheus.NewRegistry())
	if err := scanner.New(l.cfg, l.driver, l.book, scanner.NewWatch(wallet.Live, money.EVM, l.book), slog.New(slog.NewTextHandler(t.Output(), nil)),
		metrics, time.Now).Run(ctx, 3); err != nil {
		t.Fatal(err)
	}
	if err := l.pool.QueryRow(t.Context(), where).Scan(&after); err != nil || after != before || metrics.Ready(t.Context()) == nil {
		t.Errorf("the scan went from %d to %d, %v; ready: %v", before, after, err, metrics.Ready(t.Context()))
	}
	if l.collect(); l.last[key(tx, 1)].State != wire.Confirmed {
		t.Errorf("%+v", l.last[key(tx, 1)])
	}
}

// Case vi and downtime: the scan is killed and started again while money moves; the node goes away and comes back.
func TestRealNode_downtime(t *testing.T) {
	t.Parallel()
	l := newLive(t, startNode(t))
	var txs []string
	for i := range int64(4) {
		txs = append(txs, l.transfer(map[string]any{"to": l.addresses[i], "amount": "25000000", "token": true, "mine": 1}))
		l.stop()
		txs = append(txs, l.transfer(map[string]any{"to": l.addresses[i], "amount": "5", "token": false, "mine": 3}))
		l.start(i + 2)
	}
	l.do("/rpc", map[string]any{"enabled": false, "mode": "error"})
	txs = append(txs, l.transfer(map[string]any{"to": l.addresses[4], "amount": "5", "token": false, "mine": 20}))
	l.do("/rpc", map[string]any{"enabled": true})
	for i, tx := range txs {
		ordinal := 1 - i%2 // tokens and coins take turns
		if i == len(txs)-1 {
			ordinal = 0
		}
		l.until(key(tx, ordinal), "confirmed", isConfirmed)
	}
	if len(l.last) != len(txs) {
		t.Errorf("%d deposits, want %d", len(l.last), len(txs))
	}
}

// Case vii: after a fail-over to a provider on another fork the scan is that provider's chain.
func TestRealNode_failOverToAnotherFork(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNode(t)
	l := newLive(t, a, b.RPC)
	tx := l.transfer(map[string]any{"to": l.addresses[0], "amount": "25000000", "token": true, "mine": 3})
	l.until(key(tx, 1), "seen", isSeen)
	b.mine(20)
	on := b.transfer(map[string]any{"to": l.addresses[1], "amount": "9", "token": false, "mine": 1})
	a.do("/rpc", map[string]any{"enabled": false})
	l.until(key(tx, 1), "reverted", isReverted)
	l.until(key(on, 0), "seen", isSeen)
}
