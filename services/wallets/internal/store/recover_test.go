//go:build integration

package store_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/messaging"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
)

// A replica that recovers waits for another that recovers, for longer than any other statement may run.
func TestRecover_outwaitsTheStatementTimeout(t *testing.T) {
	t.Parallel()
	patient, pool := open(t)
	ctx := t.Context()
	if err := patient.Recover(ctx, 10); err != nil {
		t.Fatal(err)
	}
	hasty := pool.Config()
	hasty.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `SET statement_timeout = '1s'`)
		return err
	}
	hurried, err := pgxpool.NewWithConfig(ctx, hasty)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hurried.Close)
	s := store.New(hurried, messaging.Out{Now: time.Now}, settings())
	other, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := other.Exec(ctx, `SELECT 1 FROM counters FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	jumped := make(chan error, 1)
	go func() {
		_, err := s.Jump(ctx, tenant.Test, money.EVM, source(t, money.EVM))
		jumped <- err
	}()
	waits := `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
AND now() - query_start > interval '1500 ms')`
	for long := false; !long; {
		select {
		case err := <-jumped:
			t.Fatalf("it ended while another held the counters: %v", err)
		default:
		}
		if err := pool.QueryRow(ctx, waits).Scan(&long); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-jumped; err != nil {
		t.Error(err)
	}
}

// After a restore no address that may have been issued is issued again, however many processes recover at once; all of
// them are watched, and new messages win over those from before.
func TestRecover(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	key := fund(t, s, pool)
	at := begin(t, s)
	pay := []chain.Transfer{{TxHash: "0xaa", To: key, Asset: "USDT", Contract: "0xusdt", Amount: big.NewInt(5)}}
	one := header(1, "h1", "h0")
	if err := s.Advance(ctx, lease, at, scanner.Step{Headers: []chain.Header{one}, Transfers: pay}); err != nil {
		t.Fatal(err)
	}
	at = scanner.Cursor{Header: one}
	before := drain[wire.DepositChanged](t, pool, wire.DepositChangedV1)[0]

	a := app.New(s, s, app.Settings{
		Sources: keys.Sources{tenant.Test: {money.EVM: source(t, money.EVM)}, tenant.Live: {}}, Nets: nets, Most: 10, Margin: 6_000,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := a.Recover(ctx, s); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := a.Recover(ctx, s); err != nil { // a restart in recovery
		t.Fatal(err)
	}
	var next, watched int64
	counters := `SELECT next_index, last_seq FROM counters WHERE mode = 'test' AND family = 'evm'`
	if err := pool.QueryRow(ctx, counters).Scan(&next, &watched); err != nil || next != 6_001 || watched != 6_001 {
		t.Fatalf("next index %d, %d addresses, %v", next, watched, err)
	}
	if err := pool.QueryRow(ctx, `SELECT next_index, last_seq FROM counters WHERE mode = 'live' AND family = 'evm'`).Scan(&next, &watched); err != nil || next != 6_000 || watched != 0 {
		t.Errorf("without a key: next index %d, %d addresses, %v", next, watched, err)
	}
	made, err := source(t, money.EVM).Derive(5_777, 1)
	if err != nil {
		t.Fatal(err)
	}
	two := header(2, "h2", "h1")
	lost := []chain.Transfer{{TxHash: "0xbb", To: made[0].Key, Asset: "USDT", Contract: "0xusdt", Amount: big.NewInt(6)}}
	if err := s.Advance(ctx, lease, at, scanner.Step{Headers: []chain.Header{two}, Transfers: lost, Finalized: 2}); err != nil {
		t.Fatal(err)
	}
	got := drain[wire.DepositChanged](t, pool, wire.DepositChangedV1)
	year := time.Now().Add(-time.Hour).UnixMilli()
	if len(got) != 2 || got[1].Address != made[0].Address || got[1].Version <= year || got[0].Key != before.Key || got[0].Version <= year {
		t.Errorf("scan again after the restore: got %+v, want both deposits with later versions", got)
	}
	if told, err := s.Retell(ctx, lease.Chain, 0, 2); err != nil || told != 2 {
		t.Errorf("retell the deposits: got %d, %v, want 2", told, err)
	}
	if again := drain[wire.DepositChanged](t, pool, wire.DepositChangedV1); len(again) != 2 || again[0].Version != got[0].Version+1 || again[1].Number != 5 {
		t.Errorf("read the retold deposits: got %+v, want the next versions", again)
	}
	pending, err := s.PendingRescans(ctx)
	if err != nil || len(pending) != 1 || pending[0].To != 1 || !pending[0].Stood.Equal(one.Time) {
		t.Errorf("list the rescans: got %+v, %v, want one to height 1", pending, err)
	}
	if err := s.RescanDone(ctx, lease.Chain); err != nil {
		t.Fatal(err)
	}
	if pending, err = s.PendingRescans(ctx); err != nil || len(pending) != 0 {
		t.Errorf("list the rescans after the last: got %+v, %v, want none", pending, err)
	}
	if err := s.EndRecovery(ctx); err != nil {
		t.Fatal(err)
	}
	if err := a.Recover(ctx, s); err != nil { // the next restore
		t.Fatal(err)
	}
	if err := pool.QueryRow(ctx, counters).Scan(&next, &watched); err != nil || next != 12_001 {
		t.Errorf("after the second restore the next index is %d, %v", next, err)
	}
}

// nodeOf serves blocks with their transfers.
type nodeOf map[int64][]chain.Transfer

type nodeBlock struct {
	header    chain.Header
	transfers []chain.Transfer
}

func (b nodeBlock) Header() chain.Header { return b.header }

func (b nodeBlock) Match(ctx context.Context, w chain.Watched) (out []chain.Transfer, err error) {
	for _, t := range b.transfers {
		if w.Has(t.To) {
			out = append(out, t)
		}
	}
	return out, nil
}

func (n nodeOf) Head(context.Context) (chain.Head, error) {
	return chain.Head{Header: header(9, "h9", "h8")}, nil
}

func (n nodeOf) Header(_ context.Context, height int64) (chain.Header, error) {
	return header(height, fmt.Sprint("h", height), fmt.Sprint("h", height-1)), nil
}

func (n nodeOf) Fetch(ctx context.Context, height int64) (chain.Block, error) {
	h, err := n.Header(ctx, height)
	return nodeBlock{h, n[height]}, err
}

// A second look finds missed deposits, publishes known ones again and does not change the cursor.
func TestAgain(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	key := fund(t, s, pool)
	at := begin(t, s)
	known := []chain.Transfer{{TxHash: "0xaa", To: key, Asset: "USDT", Contract: "0xusdt", Amount: big.NewInt(5)}}
	missed := []chain.Transfer{{TxHash: "0xbb", To: key, Asset: "USDT", Contract: "0xusdt", Amount: big.NewInt(6)}}
	for h := int64(1); h <= 5; h++ {
		step := scanner.Step{Headers: []chain.Header{header(h, fmt.Sprint("h", h), at.Hash)}}
		if h == 2 {
			step.Transfers = known
		}
		if err := s.Advance(ctx, lease, at, step); err != nil {
			t.Fatal(err)
		}
		at = scanner.Cursor{Header: step.Last()}
	}
	drain[wire.DepositChanged](t, pool, wire.DepositChangedV1)
	node := nodeOf{2: known, 4: missed}
	reader := scanner.Reader{
		Chain: lease.Chain, Driver: node, Watch: scanner.NewWatch(tenant.Test, money.EVM, s), Prefetch: 2,
	}
	look := func(from, to int64) (scanner.Looked, error) { return reader.Again(ctx, s, from, to, slog.Default()) }
	out, err := look(1, 5)
	if err != nil || out != (scanner.Looked{Blocks: 5, Found: 1, Told: 2}) {
		t.Fatalf("scan five blocks again: got %+v, %v, want one found and two announced", out, err)
	}
	newest := map[string]wire.DepositChanged{}
	for _, d := range drain[wire.DepositChanged](t, pool, wire.DepositChangedV1) {
		newest[d.TxHash] = d
	}
	if newest["0xbb"].Depth != 2 || newest["0xbb"].Head != 5 || newest["0xaa"].Version != 2 || len(newest) != 2 {
		t.Errorf("read the newest deposits: got %+v", newest)
	}
	if out, err = look(1, 5); err != nil || out.Found != 0 {
		t.Errorf("scan five blocks a third time: got %+v, %v, want nothing found", out, err)
	}
	node[6] = missed
	if _, err = look(1, 6); err == nil {
		t.Error("money above the scan was taken in")
	}
	if _, err = look(3, 2); err == nil {
		t.Error("a range that runs backwards was accepted")
	}
	if got, found, err := s.Adopt(ctx, lease); err != nil || !found || got.Height != 5 {
		t.Errorf("the cursor moved: %+v, %v", got, err)
	}
	for _, c := range []struct {
		seconds int
		want    int64
	}{{0, 0}, {3, 3}, {59, 5}, {-5, 0}} {
		if got, err := scanner.HeightAt(ctx, node, header(0, "", "").Time.Add(time.Duration(c.seconds)*time.Second), 5); err != nil || got != c.want {
			t.Errorf("%d s: %d, %v, want %d", c.seconds, got, err, c.want)
		}
	}
	if list, err := s.DepositsOf(ctx, "0xbb"); err != nil || len(list) != 1 {
		t.Errorf("list the deposits of 0xbb: got %v, %v, want one", list, err)
	}
}
