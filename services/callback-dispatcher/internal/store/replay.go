package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

const replayColumns = `id, merchant_id, mode, coalesce(endpoint_id, ''), from_at, to_at, states, types, state, total, sent, created_at, updated_at`

// inRange are the deliveries of a replay: $1 merchant, $2 mode, $3 endpoint or ” for callbackUrls, $4 and $5 the range,
// $6 states, $7 types, $8 and $9 the ids between which they must lie, since an id begins with its time. Those to
// earlier URLs of the endpoint are none of them.
const inRange = `merchant_id = $1 AND mode = $2 AND coalesce(endpoint_id, '') = $3 AND $3 IN ('', target)
	AND created_at >= $4 AND created_at < $5
	AND state = ANY($6::text[]) AND (cardinality($7::text[]) = 0 OR type = ANY($7::text[])) AND id > $8 AND id < $9`

// The statements of replays.
const (
	replayCountSQL = `SELECT count(*) FROM delivery_done WHERE ` + inRange
	replayOpenSQL  = `SELECT count(*) FROM replay WHERE merchant_id = $1 AND mode = $2 AND state <> 'finished'`
	replayAddSQL   = `INSERT INTO replay (id, merchant_id, mode, endpoint_id, from_at, to_at, states, types, state, total, after, created_at, updated_at)
VALUES ($1, $2, $3, nullif($4, ''), $5, $6, $7, $8, 'running', $9, $10, $11, $11)`
	replaySQL     = `SELECT ` + replayColumns + ` FROM replay WHERE merchant_id = $1 AND mode = $2 AND id = $3`
	replayTurnSQL = `UPDATE replay SET state = $4, updated_at = now()
WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND state <> 'finished' RETURNING ` + replayColumns
	replayNextSQL = `SELECT r.id, r.merchant_id, r.mode, coalesce(r.endpoint_id, ''), r.from_at, r.to_at, r.states, r.types, r.after,
	(SELECT count(*) FROM delivery d WHERE d.replay_id = r.id), (SELECT count(*) FROM delivery d WHERE d.replay_id IS NOT NULL)
FROM replay r WHERE r.state = 'running' AND r.id > $1 ORDER BY r.id LIMIT 1 FOR UPDATE OF r SKIP LOCKED`
	// A delivery that ended after the count is sent too.
	replayDoneSQL = `UPDATE replay SET sent = sent + $2, total = greatest(total, sent + $2), after = CASE WHEN $3 = '' THEN after ELSE $3 END, updated_at = now(),
	state = CASE WHEN $4 AND state = 'running' THEN 'finished' ELSE state END
WHERE id = $1`
)

var replayMoveSQL = `WITH m AS (
	SELECT id, slot FROM delivery_done WHERE ` + inRange + ` ORDER BY id LIMIT $10
), b AS (
	DELETE FROM delivery_done d USING m WHERE d.id = m.id AND d.slot = m.slot RETURNING d.*
), i AS (` + bringBack("b", "'replay'", "$11") + `
), l AS (` + touch("i") + `)
SELECT count(*), coalesce(max(id), '') FROM m`

func scanReplay(row pgx.CollectableRow) (r app.Replay, err error) {
	err = row.Scan(&r.ID, &r.MerchantID, &r.Mode, &r.EndpointID, &r.From, &r.To, &r.States, &r.Types, &r.State, &r.Total, &r.Sent, &r.CreatedAt, &r.UpdatedAt)
	return r, err
}

func rangeArgs(r *app.Replay, after string) []any {
	return []any{r.MerchantID, r.Mode, r.EndpointID, r.From, r.To, r.States, r.Types, after, app.ReplayBound(r.To.Add(time.Hour))}
}

// CountReplay implements app.Replays.
func (s *Store) CountReplay(ctx context.Context, r app.Replay) (n int64, err error) {
	if err := s.db.QueryRow(ctx, replayCountSQL, rangeArgs(&r, app.ReplayBound(r.From.Add(-time.Hour)))...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the deliveries of a replay: %w", err)
	}
	return n, nil
}

// AddReplay implements app.Replays.
func (s *Store) AddReplay(ctx context.Context, r app.Replay, most int, k idempotency.Key, body []byte) (idempotency.Answer, error) {
	return s.once(ctx, k, func(tx pgx.Tx) ([]byte, error) {
		if _, err := tx.Exec(ctx, lockOwnersSQL, r.MerchantID, r.Mode); err != nil {
			return nil, fmt.Errorf("lock the merchant's replays: %w", err)
		}
		var open int
		if err := tx.QueryRow(ctx, replayOpenSQL, r.MerchantID, r.Mode).Scan(&open); err != nil {
			return nil, fmt.Errorf("count replays: %w", err)
		}
		if open >= most {
			return nil, app.ErrReplaysFull
		}
		_, err := tx.Exec(ctx, replayAddSQL, r.ID, r.MerchantID, r.Mode, r.EndpointID, r.From, r.To, r.States, r.Types, r.Total,
			app.ReplayBound(r.From.Add(-time.Hour)), r.CreatedAt)
		if err != nil {
			return nil, fmt.Errorf("store the replay: %w", err)
		}
		return body, nil
	})
}

// ReplayOf implements app.Replays.
func (s *Store) ReplayOf(ctx context.Context, o tenant.Owner, id string) (app.Replay, error) {
	return oneReplay(s.db.Query(ctx, replaySQL, o.MerchantID, o.Mode, id))
}

// TurnReplay implements app.Replays.
func (s *Store) TurnReplay(ctx context.Context, o tenant.Owner, id, state string) (app.Replay, error) {
	r, err := oneReplay(s.db.Query(ctx, replayTurnSQL, o.MerchantID, o.Mode, id, state))
	if errors.Is(err, app.ErrReplayUnknown) { // or it is finished, and stays so
		return s.ReplayOf(ctx, o, id)
	}
	return r, err
}

func oneReplay(rows pgx.Rows, err error) (app.Replay, error) {
	if err != nil {
		return app.Replay{}, fmt.Errorf("read a replay: %w", err)
	}
	r, err := pgx.CollectExactlyOneRow(rows, scanReplay)
	if errors.Is(err, pgx.ErrNoRows) {
		return app.Replay{}, app.ErrReplayUnknown
	}
	if err != nil {
		return app.Replay{}, fmt.Errorf("read a replay: %w", err)
	}
	return r, nil
}

// Feed implements app.Feeder: it brings back what the next running replay after this one may have under way.
func (s *Store) Feed(ctx context.Context, after string, perReplay, inAll int) (last string, moved int, err error) {
	err = postgres.Tx(ctx, s.db, func(tx pgx.Tx) error {
		var r app.Replay
		var from string
		var own, all int
		last, moved = "", 0
		err := tx.QueryRow(ctx, replayNextSQL, after).Scan(&r.ID, &r.MerchantID, &r.Mode, &r.EndpointID, &r.From, &r.To, &r.States, &r.Types, &from, &own, &all)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find a running replay: %w", err)
		}
		last = r.ID
		room := min(perReplay-own, inAll-all)
		if room <= 0 {
			return nil
		}
		var end string
		if err := tx.QueryRow(ctx, replayMoveSQL, append(rangeArgs(&r, from), room, r.ID)...).Scan(&moved, &end); err != nil {
			return fmt.Errorf("add the deliveries of the replay: %w", err)
		}
		if _, err := tx.Exec(ctx, replayDoneSQL, r.ID, moved, end, moved < room); err != nil {
			return fmt.Errorf("move the replay on: %w", err)
		}
		return nil
	})
	return last, moved, err
}
