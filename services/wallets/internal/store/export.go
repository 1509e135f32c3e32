package store

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
)

const (
	// A transaction that began before the end of the month has committed or failed by an hour later.
	monthEndedSQL = `SELECT $1::timestamptz > now() OR $1::timestamptz <= now() - interval '1 hour'`

	openingSQL = `SELECT e.account, e.network, e.asset, sum(e.debit - e.credit)::text FROM custody_journals j JOIN custody_entries e ON e.journal = j.key
WHERE j.mode = $1 AND j.merchant_id <> '' AND j.at < $2 GROUP BY e.account, e.network, e.asset HAVING sum(e.debit - e.credit) <> 0
ORDER BY e.account, e.network, e.asset`

	custodyEntriesSQL = `SELECT j.key, j.at, j.event, j.merchant_id, j.wallet_id, e.line, e.account, e.network, e.asset, (e.debit - e.credit)::text
FROM custody_journals j JOIN custody_entries e ON e.journal = j.key
WHERE j.mode = $1 AND j.merchant_id <> '' AND j.at >= $2 AND j.at < $3 AND (j.at, j.key, e.line) > ($4, $5, $6)
ORDER BY j.at, j.key, e.line LIMIT $7`
)

// ErrMonthNotClosed means that a month has just ended, and that a journal of it may still commit.
var ErrMonthNotClosed = errors.New("this month ended less than an hour ago: a journal of it may still come")

// CustodyEntry is one line of a journal of the books of standalone wallets; an opening balance has no journal. Units
// are debits less credits in base units.
type CustodyEntry struct {
	Journal    string
	At         time.Time
	Event      string
	MerchantID string
	WalletID   string
	Line       int16
	Account    string
	Network    string
	Asset      string
	Units      *big.Int
}

// custodyPage bounds the entries that are in memory at once.
const custodyPage = 2_000

// ExportCustody passes to each the balances of standalone wallets' books before a month, and every entry of it in their
// order.
func (s *Store) ExportCustody(ctx context.Context, mode tenant.Mode, from, end time.Time, each func(CustodyEntry) error) error {
	var whole bool
	if err := s.pool.QueryRow(ctx, monthEndedSQL, end).Scan(&whole); err != nil {
		return fmt.Errorf("comparing a month with the clock: %w", err)
	}
	if !whole {
		return ErrMonthNotClosed
	}
	opening, err := s.custodyOpening(ctx, mode, from)
	if err != nil {
		return fmt.Errorf("reading the opening balances: %w", err)
	}
	for _, e := range opening {
		if err := each(e); err != nil {
			return err
		}
	}
	for last := (CustodyEntry{At: from}); ; {
		page, err := s.custodyEntries(ctx, mode, from, end, last)
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := each(e); err != nil {
				return err
			}
		}
		if len(page) < custodyPage {
			return nil
		}
		last = page[len(page)-1]
	}
}

func (s *Store) custodyOpening(ctx context.Context, mode tenant.Mode, from time.Time) (opening []CustodyEntry, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, longReadSQL); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, openingSQL, mode, from)
		if err != nil {
			return err
		}
		opening, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e CustodyEntry, err error) {
			var units string
			if err := row.Scan(&e.Account, &e.Network, &e.Asset, &units); err != nil {
				return e, err
			}
			e.Units, err = integer(units)
			return e, err
		})
		return err
	})
	return opening, err
}

func (s *Store) custodyEntries(ctx context.Context, mode tenant.Mode, from, end time.Time, after CustodyEntry) ([]CustodyEntry, error) {
	rows, err := s.pool.Query(ctx, custodyEntriesSQL, mode, from, end, after.At, after.Journal, after.Line, custodyPage)
	if err != nil {
		return nil, fmt.Errorf("reading custody journals: %w", err)
	}
	page, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e CustodyEntry, err error) {
		var units string
		err = row.Scan(&e.Journal, &e.At, &e.Event, &e.MerchantID, &e.WalletID, &e.Line, &e.Account, &e.Network, &e.Asset, &units)
		if err != nil {
			return e, err
		}
		e.Units, err = integer(units)
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading custody journals: %w", err)
	}
	return page, nil
}
