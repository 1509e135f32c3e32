package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/inbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/ledger"
)

const journalExists = `SELECT EXISTS (SELECT FROM ledger_journals WHERE key = $1)`

// errBooked refuses a second booking with the same key.
var errBooked = errors.New("booked already: nothing changed")

// Book writes a journal of live mode for an operator, such as a top-up of a float, with an audit entry. It refuses a
// journal whose key exists, so that a command that is typed twice books once.
func (s *Store) Book(ctx context.Context, operator string, j ledger.Journal) error {
	if err := j.Check(); err != nil {
		return err
	}
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var exists bool
		if err := tx.QueryRow(ctx, journalExists, j.Key).Scan(&exists); err != nil {
			return err
		}
		if exists {
			return errBooked
		}
		batch := &pgx.Batch{}
		queueJournal(batch, tenant.Live, j)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		return s.audit(ctx, tx, operator, "ledger."+j.Event, map[string]any{"key": j.Key})
	})
	return wrap(err, "book "+j.Key)
}

// Post writes the journal of a message, once for the message. A journal whose key exists changes nothing.
func (s *Store) Post(ctx context.Context, messageID string, mode tenant.Mode, j ledger.Journal) error {
	if err := j.Check(); err != nil {
		return err
	}
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if fresh, err := inbox.Fresh(ctx, tx, messageID); err != nil || !fresh {
			return err
		}
		batch := &pgx.Batch{}
		queueJournal(batch, mode, j)
		return tx.SendBatch(ctx, batch).Close()
	})
	return wrap(err, "book "+j.Key)
}
