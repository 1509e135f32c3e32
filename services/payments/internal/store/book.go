package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/approval"
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

// BookTogether is Book for a journal that can hide missing money, so that it takes two operators. It keeps the request
// of the first one, which it returns, and books when another operator sends the same within the life of a request.
func (s *Store) BookTogether(ctx context.Context, by approval.Request, j ledger.Journal) (waits *approval.Request, err error) {
	if err := j.Check(); err != nil {
		return nil, err
	}
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		waits = nil
		var exists bool
		if err := tx.QueryRow(ctx, journalExists, j.Key).Scan(&exists); err != nil {
			return err
		}
		if exists {
			return errBooked
		}
		open, err := openRequest(ctx, tx, by.Object)
		if err != nil {
			return err
		}
		confirmed, err := by.Confirms(open)
		if err != nil {
			return err
		}
		detail := map[string]any{"key": j.Key}
		if !confirmed {
			waits = &by
			if _, err := tx.Exec(ctx, insertApproval, by.Object, by.Version, by.Action, by.Digest, by.Operator, by.Reason); err != nil {
				return err
			}
			return s.audit(ctx, tx, by.Operator, "ledger."+j.Event+"_requested", detail)
		}
		batch := &pgx.Batch{}
		batch.Queue(deleteApproval, by.Object)
		queueJournal(batch, tenant.Live, j)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		detail["askedForBy"] = open.Operator
		return s.audit(ctx, tx, by.Operator, "ledger."+j.Event, detail)
	})
	return waits, wrap(err, "book "+j.Key)
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
