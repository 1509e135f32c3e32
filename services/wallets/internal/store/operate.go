package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/sweeper"
)

var _ app.OperatedStore = (*Store)(nil)

const (
	progressSQL = `SELECT mode, network, height, finalized, block_time, scan_state, head, head_time, moved_at, nullif(judged_at, '-infinity'),
judged_at < now() - interval '1 minute' FROM cursors ORDER BY mode, network`

	// Of several workers that have asked a host the last answer counts.
	endpointStatesSQL = `SELECT DISTINCT ON (network, host) network, host, healthy, outcome, head, answered_at, failed_at FROM endpoint_states
WHERE told_at > now() - interval '1 minute' ORDER BY network, host, greatest(answered_at, failed_at) DESC NULLS LAST`

	tellEndpointsSQL = `INSERT INTO endpoint_states (worker, network, host, healthy, outcome, head, answered_at, failed_at)
SELECT $1, * FROM unnest($2::text[], $3::text[], $4::boolean[], $5::text[], $6::bigint[], $7::timestamptz[], $8::timestamptz[])
ON CONFLICT (network, host, worker) DO UPDATE SET healthy = excluded.healthy, outcome = excluded.outcome, head = excluded.head,
answered_at = excluded.answered_at, failed_at = excluded.failed_at, told_at = now()`

	forgetEndpointsSQL = `DELETE FROM endpoint_states WHERE told_at < now() - interval '10 minutes'`

	rescanColumns = `id, mode, network, from_height, to_height, next_height, operator, reason, ordered_at, ended_at, worker <> '', problem, blocks, found, repeated`

	newestRescansSQL = `SELECT r.* FROM cursors c CROSS JOIN LATERAL (SELECT ` + rescanColumns + ` FROM rescans
	WHERE mode = c.mode AND network = c.network ORDER BY id DESC LIMIT 1) AS r`

	listRescansSQL = `SELECT ` + rescanColumns + ` FROM rescans WHERE id < $1 ORDER BY id DESC LIMIT $2`

	scannedToSQL = `SELECT height FROM cursors WHERE mode = $1 AND network = $2`

	orderRescanSQL = `INSERT INTO rescans (mode, network, from_height, to_height, next_height, operator, reason) VALUES ($1, $2, $3, $4, $3, $5, $6)
ON CONFLICT (mode, network) WHERE ended_at IS NULL DO NOTHING RETURNING ` + rescanColumns

	takeRescanSQL = `UPDATE rescans SET worker = $1, taken_until = now() + interval '5 minutes' WHERE id = (SELECT id FROM rescans
	WHERE ended_at IS NULL AND taken_until < now() AND mode || '/' || network = ANY($2) ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING ` + rescanColumns

	// The position is compared, so that a worker that was too slow counts nothing twice.
	moveRescanSQL = `UPDATE rescans SET next_height = $4, blocks = blocks + $5, found = found + $6, repeated = repeated + $7, failures = 0, problem = '',
taken_until = now() + interval '5 minutes', ended_at = CASE WHEN $4 > to_height THEN now() END
WHERE id = $1 AND worker = $2 AND next_height = $3 AND ended_at IS NULL`

	// A rescan that has failed ten times in a row ends: its blocks are gone from every node, or nobody answers.
	failRescanSQL = `UPDATE rescans SET failures = failures + 1, problem = $3, taken_until = now() + interval '10 seconds',
ended_at = CASE WHEN failures + 1 >= 10 THEN now() END WHERE id = $1 AND worker = $2 AND ended_at IS NULL`

	leaveRescanSQL = `UPDATE rescans SET taken_until = '-infinity' WHERE id = $1 AND worker = $2 AND ended_at IS NULL`

	sweepPageSQL = `SELECT s.id, s.network, s.address, s.asset, s.amount::text, s.state, s.reason, s.created_at,
coalesce(o.kind, ''), coalesce(o.state, ''), coalesce(o.attempt, 0), coalesce((SELECT a.tx_hash FROM outgoing_attempts a WHERE a.outgoing = o.id ORDER BY a.number DESC LIMIT 1), '')
FROM sweeps s LEFT JOIN LATERAL (SELECT o.* FROM outgoing_parts p JOIN outgoing_tx o ON o.id = p.outgoing WHERE p.sweep = s.id
	ORDER BY o.created_at DESC LIMIT 1) o ON true
WHERE s.state IN ('open', 'blocked') AND ($1 = '' OR s.network = $1) AND ($2 = '' OR s.state = $2) AND (s.created_at, s.id) > ($3, $4)
ORDER BY s.created_at, s.id LIMIT $5`

	stationNeedsSQL = `SELECT network, asset, sum(refunds), sum(refunds_blocked), sum(short), sum(needed)::text, sum(sweeps), sum(sweeps_blocked), sum(collecting)::text,
min(oldest_refund), min(oldest_sweep) FROM (
	SELECT network, asset, 1 AS refunds, blocked::int AS refunds_blocked, (reason = $1)::int AS short, amount AS needed, 0 AS sweeps, 0 AS sweeps_blocked,
		0::numeric AS collecting, created_at AS oldest_refund, NULL::timestamptz AS oldest_sweep
	FROM refunds WHERE mode = 'live' AND state IN ('signing', 'sent')
	UNION ALL
	SELECT network, asset, 0, 0, 0, 0, 1, (state = 'blocked')::int, amount, NULL, created_at FROM sweeps WHERE mode = 'live' AND state IN ('open', 'blocked')
) AS waiting GROUP BY network, asset ORDER BY network, asset`

	poolsSQL = `SELECT mode, family, next_index FROM counters ORDER BY mode, family`
)

// Progress implements app.OperatedStore.
func (s *Store) Progress(ctx context.Context) ([]app.Scan, error) {
	rows, err := s.pool.Query(ctx, progressSQL)
	if err != nil {
		return nil, fmt.Errorf("reading the scans: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c app.Scan, err error) {
		var headTime, judged *time.Time
		err = row.Scan(&c.Mode, &c.Network, &c.Height, &c.Finalized, &c.BlockTime, &c.State, &c.Head, &headTime, &c.MovedAt, &judged, &c.Silent)
		c.HeadTime, c.JudgedAt = orZero(headTime), orZero(judged)
		return c, err
	})
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// Endpoints implements app.OperatedStore.
func (s *Store) Endpoints(ctx context.Context) ([]app.Endpoint, error) {
	rows, err := s.pool.Query(ctx, endpointStatesSQL)
	if err != nil {
		return nil, fmt.Errorf("reading the endpoints: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e app.Endpoint, err error) {
		var answered, failed *time.Time
		err = row.Scan(&e.Network, &e.Host, &e.Healthy, &e.Outcome, &e.Head, &answered, &failed)
		e.AnsweredAt, e.FailedAt = orZero(answered), orZero(failed)
		return e, err
	})
}

// TellEndpoints stores what a worker thinks of the endpoints, and forgets what workers that are gone thought.
func (s *Store) TellEndpoints(ctx context.Context, worker string, states []app.Endpoint) error {
	n := len(states)
	networks, hosts, outcomes := make([]string, n), make([]string, n), make([]string, n)
	healthy, heads := make([]bool, n), make([]int64, n)
	answered, failed := make([]*time.Time, n), make([]*time.Time, n)
	for i, e := range states {
		networks[i], hosts[i], outcomes[i], healthy[i], heads[i] = e.Network, e.Host, e.Outcome, e.Healthy, e.Head
		answered[i], failed[i] = orNull(e.AnsweredAt), orNull(e.FailedAt)
	}
	if n > 0 {
		if _, err := s.pool.Exec(ctx, tellEndpointsSQL, worker, networks, hosts, healthy, outcomes, heads, answered, failed); err != nil {
			return fmt.Errorf("storing the health of endpoints: %w", err)
		}
	}
	if _, err := s.pool.Exec(ctx, forgetEndpointsSQL); err != nil {
		return fmt.Errorf("forgetting endpoints: %w", err)
	}
	return nil
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func scanRescan(row pgx.CollectableRow) (r app.Rescan, err error) {
	var ended *time.Time
	err = row.Scan(&r.ID, &r.Mode, &r.Network, &r.From, &r.To, &r.Next, &r.Operator, &r.Reason, &r.OrderedAt, &ended, &r.Taken, &r.Problem,
		&r.Blocks, &r.Found, &r.Repeated)
	r.EndedAt = orZero(ended)
	return r, err
}

// NewestRescans implements app.OperatedStore.
func (s *Store) NewestRescans(ctx context.Context) ([]app.Rescan, error) {
	rows, err := s.pool.Query(ctx, newestRescansSQL)
	if err != nil {
		return nil, fmt.Errorf("reading the newest rescans: %w", err)
	}
	return pgx.CollectRows(rows, scanRescan)
}

// Rescans implements app.OperatedStore.
func (s *Store) Rescans(ctx context.Context, before int64, most int) ([]app.Rescan, error) {
	rows, err := s.pool.Query(ctx, listRescansSQL, before, most)
	if err != nil {
		return nil, fmt.Errorf("listing rescans: %w", err)
	}
	return pgx.CollectRows(rows, scanRescan)
}

// ScannedTo implements app.OperatedStore.
func (s *Store) ScannedTo(ctx context.Context, mode tenant.Mode, network string) (height int64, found bool, err error) {
	err = s.pool.QueryRow(ctx, scannedToSQL, mode, network).Scan(&height)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("reading the position of a scan: %w", err)
	}
	return height, true, nil
}

// OrderRescan implements app.OperatedStore.
func (s *Store) OrderRescan(ctx context.Context, r app.Rescan, k idempotency.Key, answer func(app.Rescan) (idempotency.Answer, error)) (out idempotency.Answer, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, orderRescanSQL, r.Mode, r.Network, r.From, r.To, r.Operator, r.Reason)
		if err != nil {
			return err
		}
		ordered, err := pgx.CollectExactlyOneRow(rows, scanRescan)
		if errors.Is(err, pgx.ErrNoRows) {
			return app.ErrRescanning
		}
		if err != nil {
			return err
		}
		if out, err = answer(ordered); err != nil {
			return err
		}
		if err := note(ctx, tx, r.Operator, "rescan", map[string]any{
			"rescan": ordered.ID, "mode": r.Mode, "network": r.Network, "from": r.From, "to": r.To, "reason": r.Reason,
		}); err != nil {
			return err
		}
		return putAnswer(ctx, tx, k, out)
	})
	return out, taken(k, err)
}

// note adds a row to the audit.
func note(ctx context.Context, tx pgx.Tx, operator, action string, detail map[string]any) error {
	raw, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("encoding a note for the audit: %w", err)
	}
	_, err = tx.Exec(ctx, auditSQL, operator, action, raw)
	return err
}

func putAnswer(ctx context.Context, q postgres.Querier, k idempotency.Key, a idempotency.Answer) error {
	if !k.Sent() {
		return nil
	}
	return idempotency.Put(ctx, q, k, a)
}

// taken is idempotency.ErrTaken where a request with the same key won.
func taken(k idempotency.Key, err error) error {
	if k.Sent() && idempotency.IsTaken(err) {
		return idempotency.ErrTaken
	}
	return err
}

// TakeRescan takes the oldest rescan of some chains for a worker; found is false where none waits.
func (s *Store) TakeRescan(ctx context.Context, worker string, of []scanner.Chain) (r app.Rescan, found bool, err error) {
	names := make([]string, len(of))
	for i, c := range of {
		names[i] = string(c.Mode) + "/" + c.Network
	}
	rows, err := s.pool.Query(ctx, takeRescanSQL, worker, names)
	if err != nil {
		return r, false, fmt.Errorf("taking a rescan: %w", err)
	}
	r, err = pgx.CollectExactlyOneRow(rows, scanRescan)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("taking a rescan: %w", err)
	}
	return r, true, nil
}

// MoveRescan notes the blocks of a rescan up to next; moved is false where another worker has it.
func (s *Store) MoveRescan(ctx context.Context, r app.Rescan, worker string, next int64, looked scanner.Looked) (moved bool, err error) {
	tag, err := s.pool.Exec(ctx, moveRescanSQL, r.ID, worker, r.Next, next, looked.Blocks, looked.Found, looked.Told)
	if err != nil {
		return false, fmt.Errorf("noting a rescan: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// FailRescan notes why a rescan does not go on. It is tried again, ten times at most.
func (s *Store) FailRescan(ctx context.Context, r app.Rescan, worker string, why error) error {
	const most = 500
	text := why.Error()
	if len(text) > most {
		text = text[:most]
	}
	if _, err := s.pool.Exec(ctx, failRescanSQL, r.ID, worker, text); err != nil {
		return fmt.Errorf("noting a rescan: %w", err)
	}
	return nil
}

// LeaveRescan lets another worker go on with a rescan at once.
func (s *Store) LeaveRescan(ctx context.Context, r app.Rescan, worker string) error {
	if _, err := s.pool.Exec(ctx, leaveRescanSQL, r.ID, worker); err != nil {
		return fmt.Errorf("leaving a rescan: %w", err)
	}
	return nil
}

// UnfinishedSweeps implements app.OperatedStore.
func (s *Store) UnfinishedSweeps(ctx context.Context, q app.SweepQuery) ([]app.Sweep, error) {
	rows, err := s.pool.Query(ctx, sweepPageSQL, q.Network, q.State, q.After.At, q.After.Name, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("listing sweeps: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (w app.Sweep, err error) {
		var units string
		if err = row.Scan(&w.ID, &w.Network, &w.Address, &w.Asset, &units, &w.State, &w.Reason, &w.CreatedAt, &w.Kind, &w.Outgoing, &w.Attempt, &w.TxHash); err != nil {
			return w, err
		}
		w.Units, err = decimal.NewFromString(units)
		return w, err
	})
}

// FreeSweep implements app.OperatedStore.
func (s *Store) FreeSweep(ctx context.Context, sweepID, operator, reason string, k idempotency.Key, a idempotency.Answer) error {
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if err := release(ctx, tx, sweepID); err != nil {
			return err
		}
		if err := note(ctx, tx, operator, "sweep.release", map[string]any{"sweep": sweepID, "reason": reason}); err != nil {
			return err
		}
		return putAnswer(ctx, tx, k, a)
	})
	switch {
	case errors.Is(err, errEnded):
		return app.ErrNoSweep
	case errors.Is(err, ErrSweepBusy):
		return app.ErrSweepBusy
	}
	return taken(k, err)
}

// StationNeeds implements app.OperatedStore.
func (s *Store) StationNeeds(ctx context.Context) ([]app.Station, error) {
	rows, err := s.pool.Query(ctx, stationNeedsSQL, sweeper.ErrStation.Error())
	if err != nil {
		return nil, fmt.Errorf("reading what stations need: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (w app.Station, err error) {
		var needed, collecting string
		var refund, sweep *time.Time
		if err = row.Scan(&w.Network, &w.Asset, &w.Refunds, &w.RefundsBlocked, &w.Short, &needed, &w.Sweeps, &w.SweepsBlocked, &collecting, &refund, &sweep); err != nil {
			return w, err
		}
		w.OldestRefund, w.OldestSweep = orZero(refund), orZero(sweep)
		if w.Needed, err = decimal.NewFromString(needed); err == nil {
			w.Collecting, err = decimal.NewFromString(collecting)
		}
		return w, err
	})
}

// Pools implements app.OperatedStore.
func (s *Store) Pools(ctx context.Context) ([]app.Pool, error) {
	rows, err := s.pool.Query(ctx, poolsSQL)
	if err != nil {
		return nil, fmt.Errorf("reading the counters of addresses: %w", err)
	}
	pools, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p app.Pool, err error) {
		err = row.Scan(&p.Slot.Mode, &p.Slot.Family, &p.Issued)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the counters of addresses: %w", err)
	}
	for i := range pools {
		if pools[i].Slot != keys.Pooled {
			continue
		}
		pools[i].Imported = true
		if pools[i].Left, err = s.Left(ctx, keys.Pooled); err != nil {
			return nil, err
		}
	}
	return pools, nil
}
