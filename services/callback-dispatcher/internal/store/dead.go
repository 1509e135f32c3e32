package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/discard"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/wire"
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
	deadLockSQL   = deadListSQL + ` FOR UPDATE`
)

// Bury implements app.Graveyard.
func (s *Store) Bury(ctx context.Context, m app.DeadMessage) error {
	if _, err := s.db.Exec(ctx, buryMessageSQL, m.MessageID, m.Name, m.Reason, m.Body, m.Trace); err != nil {
		return fmt.Errorf("store a dead message: %w", err)
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
	return collectDead(rows)
}

func collectDead(rows pgx.Rows) ([]app.DeadMessage, error) {
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
		return fmt.Errorf("record the outcome of a dead message: %w", err)
	}
	return nil
}

// Discard ends dead messages: those with the ids, or without ids the oldest. Each is kept, with who discarded it and
// why.
func (s *Store) Discard(ctx context.Context, ids []int64, limit int, operator, reason string) (gone int, err error) {
	if ids == nil {
		ids = []int64{}
	}
	err = postgres.Tx(ctx, s.db, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, deadLockSQL, ids, limit)
		if err != nil {
			return fmt.Errorf("list dead messages: %w", err)
		}
		list, err := collectDead(rows)
		if err != nil {
			return err
		}
		for _, m := range list {
			err := discard.Keep(ctx, tx, discard.Note{
				Queue: wire.IntakeQueue, ID: m.MessageID, Name: m.Name, DiedAt: m.At, DiedOf: m.Reason, Body: m.Body, Operator: operator, Reason: reason,
			})
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, deadDropSQL, m.ID); err != nil {
				return fmt.Errorf("delete a dead message: %w", err)
			}
		}
		gone = len(list)
		return nil
	})
	return gone, err
}

// KeepDiscarded notes a message of the broker's dead queue that is discarded.
func (s *Store) KeepDiscarded(ctx context.Context, n discard.Note) error {
	return discard.Keep(ctx, s.db, n)
}

// Discarded lists what was discarded.
func (s *Store) Discarded(ctx context.Context, limit int) ([]discard.Note, error) {
	return discard.List(ctx, s.db, limit)
}
