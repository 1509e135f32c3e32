package main

import (
	"context"
	"crypto/md5" //nolint:gosec // names, not secrets
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/bench/internal/drive"
)

// Reports of the two databases: so many phones, each with so many reports a day, for so many days. Every combination of
// status, type, and with or without a wallet is there equally often.
const (
	reportPhones = 40
	reportsDaily = 240
	fewDays      = 1    // 9 600 reports
	manyDays     = 1040 // 9 984 000 reports
)

// lookups measures look-ups over one or two databases of reports, one at a time behind the same gateway.
type lookups struct {
	bench     *bench
	database  map[int]string // by days
	service   swap
	perCPU    bool
	resources []string // whose processor time counts with perCPU
}

func lookupFlat(perCPU bool) func(context.Context, *bench) (measure, error) {
	return func(ctx context.Context, b *bench) (measure, error) {
		l := newLookups(b)
		l.perCPU, l.resources = perCPU, []string{"reports-serve", "postgres"}
		return measure{
			ours: func(ctx context.Context, length time.Duration) (side, error) {
				return l.side(ctx, manyDays, length, firstPage)
			},
			yardstick: func(ctx context.Context, length time.Duration) (side, error) {
				return l.side(ctx, fewDays, length, firstPage)
			},
			close: l.close,
		}, l.prepare(ctx, fewDays, manyDays)
	}
}

// newLookups runs reports without the limit of look-ups of one subject, which forty phones would meet.
func newLookups(b *bench) *lookups {
	return &lookups{bench: b, database: map[int]string{}, service: swap{bench: b, process: "reports-serve", settings: map[string]string{"LOOKUP_RATE": "0"}}}
}

func lookupDeep(ctx context.Context, b *bench) (measure, error) {
	l := newLookups(b)
	return measure{
		ours: func(ctx context.Context, length time.Duration) (side, error) {
			return l.side(ctx, manyDays, length, deepPage)
		},
		yardstick: func(ctx context.Context, length time.Duration) (side, error) {
			return l.side(ctx, manyDays, length, plainPage)
		},
		close: l.close,
	}, l.prepare(ctx, manyDays)
}

func phoneOf(p int) string { return fmt.Sprint(2_348_000_000_000 + p) }

func walletOf(p int) string { return fmt.Sprintf("T%x", md5.Sum([]byte(fmt.Sprint(p)))) } //nolint:gosec // a name

// firstPage asks in turn by phone, by wallet, with one filter, and by both with both filters; every answer is a full
// page.
func firstPage(n int) string {
	p := (n / 4) % reportPhones
	switch n % 4 {
	case 0:
		return "phoneNumber=" + phoneOf(p)
	case 1:
		return "walletAddress=" + walletOf(p)
	case 2:
		return "status=resolved&phoneNumber=" + phoneOf(p)
	default:
		return "limit=20&status=pending&complaintType=fraud&phoneNumber=" + phoneOf(p) + "&walletAddress=" + walletOf(p)
	}
}

func plainPage(n int) string { return "phoneNumber=" + phoneOf(n%reportPhones) }

func deepPage(n int) string {
	return fmt.Sprintf("offset=%d&phoneNumber=%s", rand.IntN(manyDays*reportsDaily-100), phoneOf(n%reportPhones)) //nolint:gosec // a benchmark
}

func (l *lookups) side(ctx context.Context, days int, length time.Duration, query func(n int) string) (side, error) {
	if err := l.service.to(ctx, l.database[days]); err != nil {
		return side{}, err
	}
	next := func(n int) drive.Request {
		return drive.Request{Method: http.MethodGet, Path: "/v1/reports/lookup?" + query(n)}
	}
	drive.Run(ctx, l.bench.stack.BaseURL, lookupClients, time.Second, next) // connections, plans and caches
	before, err := l.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	got := drive.Run(ctx, l.bench.stack.BaseURL, lookupClients, length, next)
	after, err := l.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	if got.Failed > 0 {
		return side{}, fmt.Errorf("%d of %d look-ups failed: %s", got.Failed, got.Failed+got.Done, got.Failure)
	}
	s := side{
		PerSec: float64(got.Done) / got.Seconds, P50: milliseconds(got.Quantile(0.5)), P99: milliseconds(got.Quantile(0.99)),
		CPU: costs(before, after, got.Done),
	}
	if l.perCPU {
		used := 0.0
		for _, name := range l.resources {
			used += after[name] - before[name]
		}
		s.PerSec = float64(got.Done) / max(used, 0.01)
	}
	return s, ctx.Err()
}

const lookupClients = 8

func (l *lookups) close(ctx context.Context) error {
	return errors.Join(l.service.back(ctx), l.bench.stack.Start(ctx, "reports-work"))
}

// prepare makes the databases that are not there yet, as copies of reports' own with rows in them. They stay with the
// instance, so that the next row finds them.
func (l *lookups) prepare(ctx context.Context, all ...int) error {
	for _, name := range []string{"reports-serve", "reports-work"} {
		if err := l.bench.stack.Stop(ctx, name); err != nil {
			return err
		}
	}
	for _, days := range all {
		began, made := time.Now(), false
		address, err := l.bench.clone(ctx, "reports", fmt.Sprint(days), func(ctx context.Context, conn *pgx.Conn) error {
			made = true
			return seedReports(ctx, conn, days)
		})
		if err != nil {
			return err
		}
		if l.database[days] = address; made {
			l.bench.say("a database of %d reports was made in %s", reportPhones*reportsDaily*days, time.Since(began).Round(time.Second))
		}
	}
	return nil
}

func seedReports(ctx context.Context, conn *pgx.Conn, days int) error {
	number := strings.NewReplacer(":phones", fmt.Sprint(reportPhones), ":daily", fmt.Sprint(reportsDaily), ":days", fmt.Sprint(days))
	if err := fillTable(ctx, conn, "reports", number.Replace(reportRows)); err != nil {
		return err
	}
	return execute(ctx, conn, number.Replace(countRows), `VACUUM ANALYZE report_counts`)
}

const reportRows = `INSERT INTO reports (id, reference, mode, merchant_id, key_id, kind, name, phone, wallet, wallet_key, description, status,
	version, sequence, created_at, updated_at)
SELECT k * :phones + p + 1, 'RPT-' || upper(lpad(to_hex(k * :phones + p + 1), 6, '0')), 'test', 'bench', 1,
	(ARRAY['track_transaction', 'stolen_funds', 'fraud'])[1 + k / 4 % 3], 'Bench', (2348000000000 + p)::text, w, w,
	'He promised to send it back and never did.', (ARRAY['pending', 'processing', 'resolved', 'dismissed'])[1 + k % 4], 1, 1, at, at
FROM (SELECT k, p, CASE WHEN k / 12 % 2 = 0 THEN 'T' || md5(p::text) END AS w,
	timestamptz '2020-01-01 00:00:00Z' + (k / :daily) * interval '1 day' + (k % :daily) * interval '5 minutes' AS at
	FROM generate_series(0, :daily * :days - 1) AS k, generate_series(0, :phones - 1) AS p) AS x`

// countRows writes what the service would have counted: of a day's reports every cell has a twelfth, of those with a
// wallet half of that.
const countRows = `INSERT INTO report_counts (subject, day, n)
SELECT substr(sha256('test'::bytea || '\x00'::bytea || what::bytea || '\x00'::bytea || value), 1, 16), d.day, array_fill((share * d.days)::int, ARRAY[12])
FROM generate_series(0, :phones - 1) AS p,
	LATERAL (VALUES ('phone', (2348000000000 + p)::text::bytea, :daily / 12), ('wallet', ('T' || md5(p::text))::bytea, :daily / 24),
		('both', (2348000000000 + p)::text::bytea || '\x00'::bytea || ('T' || md5(p::text))::bytea, :daily / 24)) AS s(what, value, share),
	LATERAL (SELECT '-infinity'::date AS day, :days AS days UNION ALL
		SELECT date '2020-01-01' + i, 1 FROM generate_series(0, :days - 1) AS i) AS d`
