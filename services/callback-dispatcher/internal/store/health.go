package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/discard"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

const (
	ailingSQL = `SELECT ` + endpointColumns + `, p.sequence, (1e6 * coalesce(extract(epoch FROM now() - l.failing_since), 0))::bigint, coalesce(l.failures, 0),
	(1e6 * coalesce(extract(epoch FROM l.failed_at - l.failing_since), 0))::bigint, coalesce(l.warned, 0)
FROM endpoint p LEFT JOIN lane l ON l.target = p.id
WHERE p.deleted_at IS NULL AND p.id > $2 AND (NOT p.announced OR p.enabled AND l.failing_since < now() - $1::bigint * interval '1 microsecond'
	AND p.id IN (SELECT target FROM lane WHERE failing_since IS NOT NULL))
ORDER BY p.id LIMIT 1 FOR UPDATE OF p SKIP LOCKED`
	treatSQL = `UPDATE endpoint SET sequence = sequence + 1, announced = true, updated_at = now(),
	disabled_reason = CASE WHEN $2 THEN 'failing' ELSE disabled_reason END, disabled_at = CASE WHEN $2 THEN now() ELSE disabled_at END,
	enabled = enabled AND NOT $2
WHERE id = $1`
	warnedSQL = `UPDATE lane SET warned = $2, held = held OR $3 WHERE target = $1`
)

// Ailing implements app.Ward: one endpoint and one commit at a time.
func (s *Store) Ailing(ctx context.Context, failing time.Duration, judge func(app.Ailing, []app.Endpoint) (app.Remedy, error)) error {
	for after := ""; ; {
		found, err := s.treat(ctx, failing, after, judge)
		if err != nil || found == "" {
			return err
		}
		after = found
	}
}

func (s *Store) treat(ctx context.Context, failing time.Duration, after string, judge func(app.Ailing, []app.Endpoint) (app.Remedy, error)) (found string, err error) {
	err = postgres.Tx(ctx, s.db, func(tx pgx.Tx) error {
		found = ""
		rows, err := tx.Query(ctx, ailingSQL, failing.Microseconds(), after)
		if err != nil {
			return fmt.Errorf("look for failing endpoints: %w", err)
		}
		ailing, err := pgx.CollectRows(rows, scanAiling)
		if err != nil || len(ailing) == 0 {
			return err
		}
		a := ailing[0]
		found = a.Endpoint.ID
		owner := a.Endpoint.Owner()
		others, err := s.Registered(ctx, []tenant.Owner{owner})
		if err != nil {
			return err
		}
		remedy, err := judge(a, others[owner])
		if err != nil || remedy.Event == nil {
			return err
		}
		if _, err := tx.Exec(ctx, treatSQL, a.Endpoint.ID, remedy.Disable); err != nil {
			return fmt.Errorf("record a notice about an endpoint: %w", err)
		}
		if _, err := tx.Exec(ctx, warnedSQL, a.Endpoint.ID, remedy.Warned, remedy.Disable); err != nil {
			return fmt.Errorf("record a warning: %w", err)
		}
		_, err = s.accept(ctx, tx, []app.Arrival{*remedy.Event}, delivery.Auto)
		return err
	})
	return found, err
}

func scanAiling(row pgx.CollectableRow) (a app.Ailing, err error) {
	e := &a.Endpoint
	var disabled, since *time.Time
	var failing, span int64
	err = row.Scan(&e.ID, &e.MerchantID, &e.Mode, &e.URL, &e.Description, &e.Types, &e.Enabled, &e.DisabledReason, &disabled, &since,
		&e.CreatedAt, &e.UpdatedAt, &e.Earlier, &a.Sequence, &failing, &a.Failures, &span, &a.Warned)
	if since != nil {
		e.FailingSince = *since
	}
	a.Failing, a.Span = micro(failing), micro(span)
	return a, err
}

// The statements of upkeep of what nobody waits for any more.
var (
	// abandonSQL ends, a few at a time, deliveries that can never be made: those of deleted endpoints, and those that
	// have been held for as long as their events are kept.
	abandonSQL = `WITH m AS (
	(SELECT d.id, 'endpoint_deleted' AS class FROM endpoint p JOIN delivery d ON d.endpoint_id = p.id AND d.target = p.id
	WHERE p.deleted_at IS NOT NULL AND d.state = 'due' LIMIT 1000)
	UNION
	(SELECT id, 'expired' FROM delivery WHERE id < $1 AND state = 'due' AND created_at < now() - interval '31 days' ORDER BY id LIMIT 1000)
), o AS (
	DELETE FROM delivery d USING (SELECT id, min(class) AS class FROM m GROUP BY id) AS x WHERE d.id = x.id AND d.state = 'due' RETURNING d.*, x.class
)
INSERT INTO delivery_done (slot, id, event_id, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence, state, attempts,
	last_class, last_status, created_at, first_attempt_at)
SELECT event_slot, id, event_id, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence, 'exhausted', attempts,
	class, last_status, created_at, first_attempt_at
FROM o ON CONFLICT (id, slot) DO NOTHING`
	forgetLanesSQL = `DELETE FROM lane WHERE due_at = 'infinity' AND NOT held AND (used_at < now() - interval '1 hour' AND failures <= 0
	OR used_at < now() - interval '7 days' AND target LIKE 'url\_%')`
	forgetEndpointsSQL = `WITH p AS (DELETE FROM endpoint p WHERE deleted_at < now() - interval '40 days'
	AND NOT EXISTS (SELECT FROM delivery d WHERE d.endpoint_id = p.id) RETURNING id, merchant_id, mode),
l AS (DELETE FROM lane USING p WHERE lane.target = p.id)
DELETE FROM secret USING p WHERE secret.endpoint_id = p.id AND secret.merchant_id = p.merchant_id AND secret.mode = p.mode`
)

// Abandon ends what can never be delivered and forgets targets that are idle.
func (s *Store) Abandon(ctx context.Context) error {
	const most = 100 // rounds of 1 000
	for range most {
		tag, err := s.db.Exec(ctx, abandonSQL, app.ReplayBound(time.Now().Add(-30*24*time.Hour)))
		if err != nil {
			return fmt.Errorf("end deliveries that can never be made: %w", err)
		}
		if tag.RowsAffected() < 1000 {
			break
		}
	}
	for _, sql := range []string{forgetLanesSQL, forgetEndpointsSQL, forgetURLsSQL, forgetDeadSQL} {
		if _, err := s.db.Exec(ctx, sql); err != nil {
			return fmt.Errorf("forget idle targets: %w", err)
		}
	}
	return discard.Forget(ctx, s.db)
}
