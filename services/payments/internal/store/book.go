package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/inbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/ledger"
)

const (
	lockJournal   = `SELECT pg_advisory_xact_lock(hashtextextended('journal ' || $1, 0))`
	journalExists = `SELECT EXISTS (SELECT FROM ledger_journals WHERE key = $1)`
	findEntries   = `SELECT e.account, e.asset, a.normal, e.side, e.amount FROM ledger_journals j CROSS JOIN ` + entriesOf + `
	JOIN ledger_accounts a ON a.code = e.account WHERE j.key = $1 ORDER BY e.line`
)

// errBooked refuses a second booking with the same key.
var errBooked = errors.New("booked already: nothing changed")

// unbooked refuses a journal whose key exists. Bookings of one key wait for each other here, so that two at the same
// time do not both hear that they have booked it.
func unbooked(ctx context.Context, tx pgx.Tx, key string) error {
	if _, err := tx.Exec(ctx, lockJournal, key); err != nil {
		return fmt.Errorf("lock the booking: %w", err)
	}
	var exists bool
	if err := tx.QueryRow(ctx, journalExists, key).Scan(&exists); err != nil {
		return err
	}
	if exists {
		return errBooked
	}
	return nil
}

// Book writes a journal of live mode for an operator, such as a top-up of a float, with an audit entry. It refuses a
// journal whose key exists, so that a command that is typed twice books once, and one that takes more out of a
// merchant's balance than is available.
func (s *Store) Book(ctx context.Context, operator string, j ledger.Journal) error {
	if err := j.Check(); err != nil {
		return err
	}
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if err := unbooked(ctx, tx, j.Key); err != nil {
			return err
		}
		if err := covered(ctx, tx, j); err != nil {
			return err
		}
		batch := &pgx.Batch{}
		queueJournals(batch, tenant.Live, j)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		return s.audit(ctx, tx, operator, "ledger."+j.Event, map[string]any{"key": j.Key})
	})
	return wrap(err, "book "+j.Key)
}

// BookTogether is Book for a journal that one operator alone must not book: it can hide missing money, or overdraw the
// balance of a merchant. It keeps the request of the first operator, waits then, and books when another one sends the
// same within the life of a request.
func (s *Store) BookTogether(ctx context.Context, by approval.Request, j ledger.Journal) (waits bool, err error) {
	if err := j.Check(); err != nil {
		return false, err
	}
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if err := unbooked(ctx, tx, j.Key); err != nil {
			return err
		}
		waits, err = s.bookTogether(ctx, tx, by, j)
		return err
	})
	return waits, wrap(err, "book "+j.Key)
}

// TakeBack reverses a payment to a merchant that was booked by hand and did not arrive, once, as BookTogether does. It
// credits the merchant, so it books no amount of its own, and one operator alone does not book it: the merchant could
// withdraw money that it has already.
func (s *Store) TakeBack(ctx context.Context, by approval.Request, ref string) (waits bool, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		paid := ledger.Journal{Key: ledger.MerchantPaidKey(ref), Event: ledger.EventMerchantPaid}
		rows, err := tx.Query(ctx, findEntries, paid.Key)
		if err != nil {
			return err
		}
		paid.Entries, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e ledger.Entry, err error) {
			err = row.Scan(&e.Account.Code, &e.Account.Asset, &e.Account.Normal, &e.Side, (*number)(&e.Amount))
			return e, err
		})
		if err != nil {
			return err
		}
		if paid.Empty() {
			return fmt.Errorf("no payment to a merchant is booked as %s: nothing changed", paid.Key)
		}
		j := ledger.MerchantBack(ref, paid)
		if err := unbooked(ctx, tx, j.Key); err != nil {
			return err
		}
		if err := covered(ctx, tx, j); err != nil { // an earlier release booked amounts below zero
			return err
		}
		waits, err = s.bookTogether(ctx, tx, by, j)
		return err
	})
	return waits, wrap(err, "take back the payment "+ref)
}

// bookTogether books a journal if by confirms the request of another operator, and keeps by as a request otherwise.
func (s *Store) bookTogether(ctx context.Context, tx pgx.Tx, by approval.Request, j ledger.Journal) (waits bool, err error) {
	by.Object = "book " + j.Key
	open, err := openRequest(ctx, tx, by.Object)
	if err != nil {
		return false, err
	}
	confirmed, err := by.Confirms(open)
	if err != nil {
		return false, err
	}
	detail := map[string]any{"key": j.Key, "reason": by.Reason}
	if !confirmed {
		if _, err := tx.Exec(ctx, insertApproval, by.Object, by.Version, by.Action, by.Digest, by.Operator, by.Reason); err != nil {
			return false, err
		}
		return true, s.audit(ctx, tx, by.Operator, "ledger."+j.Event+"_requested", detail)
	}
	batch := &pgx.Batch{}
	batch.Queue(deleteApproval, by.Object)
	queueJournals(batch, tenant.Live, j)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return false, err
	}
	detail["askedForBy"] = open.Operator
	return false, s.audit(ctx, tx, by.Operator, "ledger."+j.Event, detail)
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

// Post writes the journals of messages in one transaction, each once for its message. A journal whose key exists
// changes nothing.
func (s *Store) Post(ctx context.Context, all []books.Posting) error {
	// In one order, so that two packs with the same journals wait for each other and never deadlock.
	all = slices.SortedFunc(slices.Values(all), func(a, b books.Posting) int { return cmp.Compare(a.Journal.Key, b.Journal.Key) })
	ids := make([]string, len(all))
	for n, p := range all {
		if err := p.Journal.Check(); err != nil {
			return err
		}
		ids[n] = p.MessageID
	}
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		fresh, err := inbox.FreshOf(ctx, tx, ids)
		if err != nil {
			return err
		}
		journals := map[tenant.Mode][]ledger.Journal{}
		for _, p := range all {
			if fresh[p.MessageID] {
				journals[p.Mode] = append(journals[p.Mode], p.Journal)
			}
		}
		batch := &pgx.Batch{}
		for _, mode := range tenant.Modes() {
			queueJournals(batch, mode, journals[mode]...)
		}
		return tx.SendBatch(ctx, batch).Close()
	})
	return wrap(err, "book the transactions of wallets")
}
