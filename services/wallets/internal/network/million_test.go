//go:build integration

package network_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/fixture"
	"causeway.internal/services/wallets/internal/messaging"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/migrations"
)

// addMillion fills the database with a million addresses that nobody pays.
func addMillion(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `INSERT INTO addresses (mode, family, seq, account, idx, key, address, wallet_id)
		SELECT 'live', 'evm', n, 1, n, decode(md5(n::text) || left(md5('x' || n), 8), 'hex'), '0x' || md5(n::text) || left(md5('x' || n), 8), 'wal_' || n
		FROM generate_series(1001, 1001000) AS n`)
	return err
}

// BenchmarkMillion is the scanner with a million addresses in the database: load-ms is the time to read them into the
// set, found-ms-p50 and -p99 the time from the moment at which the node serves a block to the commit and message of its
// deposit. The head is read every 100 ms.
func BenchmarkMillion(b *testing.B) {
	s := fixture.SubjectOf(b, "evm")
	l := fixture.NewChain(b, s, s.Start(b))
	l.Stop()
	if err := addMillion(b.Context(), l.Pool); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	watch := scanner.NewWatch(tenant.Live, money.EVM, l.Book)
	if err := watch.Refresh(b.Context()); err != nil || watch.Len() < 1_000_000 {
		b.Fatal(err, watch.Len())
	}
	loaded := time.Since(began)
	runtime.GC()
	l.Log = slog.New(slog.DiscardHandler)
	l.Config.Poll = 100 * time.Millisecond
	l.Start()
	l.CaughtUp()
	var waits []time.Duration
	for b.Loop() {
		tx := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": "7", "token": "USDT"})
		l.Mine(1)
		served := time.Now()
		l.One(tx, "seen", func(d wire.DepositChanged) bool { return d.State == wire.Seen })
		waits = append(waits, time.Since(served))
	}
	slices.Sort(waits)
	report(b, loaded, "load-ms")
	report(b, waits[len(waits)/2], "found-ms-p50")
	report(b, waits[(len(waits)-1)*99/100], "found-ms-p99")
}

// hundredMillion are addresses of live EVM networks in segments.
const hundredMillion = 100_000_000

// addSegments fills the database with segments of addresses that nobody pays.
func addSegments(b *testing.B, pool *pgxpool.Pool) {
	b.Helper()
	exec := func(sql string, args ...any) {
		if _, err := pool.Exec(b.Context(), sql, args...); err != nil {
			b.Fatal(err)
		}
	}
	exec(`ALTER TABLE address_segments SET UNLOGGED`) // the benchmark reads them; it needs no log of 800 MB
	random := rand.NewChaCha8([32]byte{})
	ends := make([]byte, 8*store.SegmentSize)
	for last := 0; last < hundredMillion; {
		last += len(ends) / 8
		_, _ = random.Read(ends) // never fails
		exec(`INSERT INTO address_segments (mode, family, last_seq, count, ends) VALUES ('live', 'evm', $1, $2, $3)`, last, len(ends)/8, ends)
	}
	exec(`UPDATE counters SET last_seq = $1 WHERE mode = 'live' AND family = 'evm'`, hundredMillion)
}

// growing has a quarter more addresses for a reader who continues after the segments.
type growing struct{ *store.Store }

func (g growing) AddressesAfter(ctx context.Context, mode tenant.Mode, family money.Family, seq int64, f func(int64, []byte)) error {
	if seq == 0 {
		return g.Store.AddressesAfter(ctx, mode, family, seq, f)
	}
	random := rand.NewChaCha8([32]byte{1})
	key := make([]byte, 8)
	for range hundredMillion / 4 {
		seq++
		_, _ = random.Read(key) // never fails
		f(seq, key)
	}
	return nil
}

// podHeap is the limit that a process sets its heap in the pod of wallets work: eight tenths of 1 GiB (k8s/base).
const podHeap = 1 << 30 / 10 * 8

// BenchmarkHundredMillion is the start of a process that watches a hundred million addresses, and its growth by a
// quarter, for which every table of the set grows: start-ms is the time to read them into the set, MB and grown-MB the
// most memory that the process has taken until then. It collects its garbage as wallets does.
func BenchmarkHundredMillion(b *testing.B) {
	lifecycle.Memory()
	debug.SetMemoryLimit(podHeap)
	pool := pg.New(b, migrations.FS)
	addSegments(b, pool)
	book := store.New(pool, messaging.Out{Now: time.Now}, store.Settings{Now: time.Now})
	for b.Loop() {
		began := time.Now()
		watch := scanner.NewWatch(tenant.Live, money.EVM, growing{book})
		if err := watch.Refresh(b.Context()); err != nil || watch.Len() < hundredMillion*999/1000 {
			b.Fatal(err, watch.Len())
		}
		report(b, time.Since(began), "start-ms")
		b.ReportMetric(float64(peak(b)), "MB") //nolint:forbidigo // how the testing package takes a number
		if err := watch.Refresh(b.Context()); err != nil || watch.Len() < hundredMillion*5/4*999/1000 {
			b.Fatal(err, watch.Len())
		}
		b.ReportMetric(float64(peak(b)), "grown-MB") //nolint:forbidigo // how the testing package takes a number
	}
}

// peak is the most memory that the process has taken so far, in megabytes.
func peak(b *testing.B) int {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		b.Fatal(err)
	}
	return kilobytes >> 10
}

func report(b *testing.B, took time.Duration, unit string) {
	b.ReportMetric(float64(took.Microseconds())/1000, unit) //nolint:forbidigo // how the testing package takes a number
}
