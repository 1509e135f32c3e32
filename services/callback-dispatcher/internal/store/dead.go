package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/services/callback-dispatcher/internal/app"
)

// The statements of messages that could not be taken in.
const (
	buryMessageSQL = `INSERT INTO dead (message_id, name, reason, body, trace) VALUES ($1, $2, $3, $4, $5)`
	deadListSQL    = `SELECT id, at, message_id, name, reason, body, trace FROM dead WHERE (cardinality($1::bigint[]) = 0 OR id = ANY($1::bigint[])) ORDER BY id LIMIT $2`
	deadDropSQL    = `DELETE FROM dead WHERE id = $1`
	// The time stays: a copy of a person's data goes in its time, however often it is tried (libs/erasure, Copies).
	deadAgainSQL  = `UPDATE dead SET reason = $2 WHERE id = $1`
	forgetDeadSQL = `DELETE FROM dead WHERE at < now() - interval '30 days'`
)

// Bury implements app.Graveyard.
func (s *Store) Bury(ctx context.Context, m app.DeadMessage) error {
	if _, err := s.db.Exec(ctx, buryMessageSQL, m.MessageID, m.Name, m.Reason, m.Body, m.Trace); err != nil {
		return fmt.Errorf("keep a message that cannot be taken in: %w", err)
	}
	return nil
}

// Dead lists what was buried, the oldest first; no ids means all.
func (s *Store) Dead(ctx context.Context, ids []int64, limit int) ([]app.DeadMessage, error) {
	if ids == nil {
		ids = []int64{}
	}
	rows, err := s.db.Query(ctx, deadListSQL, ids, limit)
	if err != nil {
		return nil, fmt.Errorf("list dead messages: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (m app.DeadMessage, err error) {
		err = row.Scan(&m.ID, &m.At, &m.MessageID, &m.Name, &m.Reason, &m.Body, &m.Trace)
		return m, err
	})
}

// Raised notes that a dead message was taken in (reason "") or why it was refused again.
func (s *Store) Raised(ctx context.Context, id int64, reason string) (err error) {
	if reason == "" {
		_, err = s.db.Exec(ctx, deadDropSQL, id)
	} else {
		_, err = s.db.Exec(ctx, deadAgainSQL, id, reason)
	}
	if err != nil {
		return fmt.Errorf("note what became of a dead message: %w", err)
	}
	return nil
}
