package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/inbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/ledger"
)

const journalExists = `SELECT EXISTS (SELECT FROM ledger_journals WHERE key = $1)`

// errBooked refuses a second booking with the same key.
var errBooked = errors.New("booked already: nothing changed")

// Book writes a journal of live mode for an operator, such as a top-up of a float, with an audit entry. It refuses a
// journal whose key exists, so that a command that is typed twice books once, and one that takes more out of a
// merchant's balance than is available, unless overdraw says why.
func (s *Store) Book(ctx context.Context, operator string, j ledger.Journal, overdraw string) error {
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
		detail := map[string]any{"key": j.Key}
		if overdraw != "" {
			detail["overdraw"] = overdraw
		} else if err := covered(ctx, tx, j); err != nil {
			return err
		}
		batch := &pgx.Batch{}
		queueJournal(batch, tenant.Live, j)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		return s.audit(ctx, tx, operator, "ledger."+j.Event, detail)
	})
	return wrap(err, "book "+j.Key)
}

// covered locks the balances of merchants that a journal of live mode takes from, and refuses to take more than there
// is.
func covered(ctx context.Context, tx pgx.Tx, j ledger.Journal) error {
	for _, e := range j.Entries {
		if e.Account.Kind() != ledger.KindMerchant || e.Side != ledger.Debit {
			continue
		}
		var available decimal.Decimal
		if err := tx.QueryRow(ctx, lockBalance, e.Account.Code).Scan((*number)(&available)); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("lock a balance: %w", err)
		}
		if e.Amount.GreaterThan(available) {
			return fmt.Errorf("%s %s are available in %s: book no more, or say why with --overdraw", available, e.Account.Asset, e.Account.Code)
		}
	}
	return nil
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
