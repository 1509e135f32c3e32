package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/provider"
)

var _ operators.Overview = (*Store)(nil)

const (
	// The index has the payouts of a corridor by their end, and those without one together.
	corridorEnds = `SELECT w.mode, w.rail, w.currency, ended.n, ended.succeeded, ended.failed, ended.returned, ended.newest, waiting.n, waiting.oldest
FROM unnest($1::text[], $2::text[], $3::text[]) AS w(mode, rail, currency)
CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE state <> 'withdrawn') AS n, count(*) FILTER (WHERE state = 'succeeded') AS succeeded,
	count(*) FILTER (WHERE state = 'failed') AS failed, count(*) FILTER (WHERE state = 'returned') AS returned, max(done_at) AS newest FROM (
	SELECT o.state, o.done_at FROM payouts o WHERE o.mode = w.mode AND o.rail = w.rail AND o.currency = w.currency
		AND o.done_at > now() - interval '1 day' ORDER BY o.done_at DESC LIMIT $4) AS newest) AS ended
CROSS JOIN LATERAL (SELECT count(*) AS n, min(created_at) AS oldest FROM (
	SELECT o.created_at FROM payouts o WHERE o.mode = w.mode AND o.rail = w.rail AND o.currency = w.currency AND o.done_at IS NULL LIMIT $5) AS open) AS waiting`

	listRailStates = `SELECT rail, currency, unclear, open_until, balance, read_at FROM rail_states WHERE told_at > now() - interval '1 minute'`
	tellRailStates = `INSERT INTO rail_states (worker, rail, currency, unclear, open_until, balance, read_at)
SELECT $1, r, c, u, o, b::numeric, a FROM unnest($2::text[], $3::text[], $4::int[], $5::timestamptz[], $6::text[], $7::timestamptz[]) AS k(r, c, u, o, b, a)
ON CONFLICT (rail, currency, worker) DO UPDATE SET unclear = excluded.unclear, open_until = excluded.open_until, balance = excluded.balance,
	read_at = excluded.read_at, told_at = now()`
	forgetRailStates = `DELETE FROM rail_states WHERE told_at < now() - interval '10 minutes'`

	listHits = `SELECT s.id, s.mode, coalesce(s.payment_id, ''), coalesce(p.merchant_id, ''), coalesce(s.deposit, ''), s.stage, s.verdict, s.reason, s.lists, s.addresses, s.at,
	coalesce(p.status, ''), coalesce(p.hold, '')
FROM screenings s LEFT JOIN payments p ON p.id = s.payment_id
WHERE s.verdict = 'hit' AND s.id < $1 AND ($2 = '' OR s.mode = $2) AND ($3 = '' OR s.stage = $3) ORDER BY s.id DESC LIMIT $4`

	listCloses = `SELECT to_char(c.day, 'YYYY-MM-DD'), c.last_journal, c.closed_at,
	ARRAY(SELECT t.mode FROM treasury_closes t WHERE t.day = c.day ORDER BY t.mode), CASE WHEN r.finished_at IS NOT NULL THEN r.found END
FROM ledger_closes c LEFT JOIN reconciliations r ON r.day = c.day
WHERE c.day < coalesce(nullif($1, '')::date, 'infinity') ORDER BY c.day DESC LIMIT $2`
)

// openCounted bounds how many open payouts of a corridor are counted.
const openCounted = 10_000

// Traffic implements operators.Overview.
func (s *Store) Traffic(ctx context.Context, of []operators.Corridor, most int) ([]operators.Traffic, error) {
	modes, rails, currencies := make([]string, len(of)), make([]string, len(of)), make([]string, len(of))
	for i, c := range of {
		modes[i], rails[i], currencies[i] = string(c.Mode), c.Rail, string(c.Currency)
	}
	rows, err := s.pool.Query(ctx, corridorEnds, modes, rails, currencies, most, openCounted)
	if err != nil {
		return nil, fmt.Errorf("read the payouts of rails: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t operators.Traffic, err error) {
		var newest, oldest *time.Time
		err = row.Scan(&t.Mode, &t.Rail, &t.Currency, &t.Ended, &t.Succeeded, &t.Failed, &t.Returned, &newest, &t.Open, &oldest)
		t.Newest, t.OldestOpen = orNoTime(newest), orNoTime(oldest)
		return t, err
	})
	return found, wrap(err, "read the payouts of rails")
}

func orNoTime(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// RailStates implements operators.Overview.
func (s *Store) RailStates(ctx context.Context) ([]provider.RailState, error) {
	rows, err := s.pool.Query(ctx, listRailStates)
	if err != nil {
		return nil, fmt.Errorf("read the states of rails: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r provider.RailState, err error) {
		var until, read *time.Time
		var balance decimal.NullDecimal
		err = row.Scan(&r.Rail, &r.Currency, &r.Unclear, &until, &balance, &read)
		r.OpenUntil, r.ReadAt, r.Balance = orNoTime(until), orNoTime(read), balance.Decimal
		return r, err
	})
	return found, wrap(err, "read the states of rails")
}

// TellRails implements payouts.Store.
func (s *Store) TellRails(ctx context.Context, worker string, states []provider.RailState) error {
	n := len(states)
	rails, currencies, unclear := make([]string, n), make([]string, n), make([]int32, n)
	until, balances, read := make([]*time.Time, n), make([]*string, n), make([]*time.Time, n)
	for i, r := range states {
		rails[i], currencies[i], unclear[i] = r.Rail, string(r.Currency), int32(min(r.Unclear, 1<<30)) //nolint:gosec // bounded
		if !r.OpenUntil.IsZero() {
			until[i] = &r.OpenUntil
		}
		if !r.ReadAt.IsZero() {
			text := r.Balance.String()
			balances[i], read[i] = &text, &r.ReadAt
		}
	}
	batch := &pgx.Batch{}
	if n > 0 {
		batch.Queue(tellRailStates, worker, rails, currencies, unclear, until, balances, read)
	}
	batch.Queue(forgetRailStates)
	return wrap(s.pool.SendBatch(ctx, batch).Close(), "keep the states of rails")
}

// Hits implements operators.Overview.
func (s *Store) Hits(ctx context.Context, f operators.ScreeningFilter) ([]operators.Screening, error) {
	rows, err := s.pool.Query(ctx, listHits, f.Before, string(f.Mode), f.Stage, f.Most)
	if err != nil {
		return nil, fmt.Errorf("list hits: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[operators.Screening])
	return found, wrap(err, "list hits")
}

// Closes implements operators.Overview.
func (s *Store) Closes(ctx context.Context, before string, most int) ([]operators.Close, error) {
	rows, err := s.pool.Query(ctx, listCloses, before, most)
	if err != nil {
		return nil, fmt.Errorf("list closed days: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[operators.Close])
	return found, wrap(err, "list closed days")
}
