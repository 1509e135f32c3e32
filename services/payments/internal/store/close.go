package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/ledger"
)

const (
	// A writer of journals waits behind the close for as long as the close waits for older writers. The time is shorter
	// than deadlock_timeout (1 s), so that a wait always ends with this reason, and writers behind it look for no
	// deadlock.
	lockShortly = `SET LOCAL lock_timeout = '500ms'`

	// The check for deadlocks of a waiter is also what ends an autovacuum of the table. So one try in ten waits for it.
	lockLonger = `SET LOCAL lock_timeout = '1500ms'`

	// While the lock is held no transaction has a journal that is not committed, so every journal up to the highest id
	// that is seen is committed or will never be.
	lockJournals = `LOCK TABLE ledger_journals IN SHARE MODE`

	lastClosed = `SELECT to_char(day, 'YYYY-MM-DD') FROM ledger_closes ORDER BY day DESC LIMIT 1`

	firstBooked = `SELECT created_at FROM ledger_journals ORDER BY id LIMIT 1`

	endOfDay = `SELECT coalesce((SELECT id FROM ledger_journals WHERE created_at < $1 ORDER BY id DESC LIMIT 1), 0)`

	insertClose = `INSERT INTO ledger_closes (day, last_journal)
SELECT $1::text::date, greatest($2::bigint, (SELECT max(last_journal) FROM ledger_closes WHERE day < $1::text::date))
WHERE $3::timestamptz <= clock_timestamp() ON CONFLICT DO NOTHING`

	// A month that has ended is whole once a day of its end or later has a close.
	monthOpen = `SELECT $1::timestamptz <= now() AND NOT EXISTS (SELECT FROM ledger_closes WHERE day >= $2::text::date)`

	unfinishedClose = `SELECT to_char(c.day, 'YYYY-MM-DD') FROM ledger_closes c
WHERE NOT EXISTS (SELECT FROM treasury_closes t WHERE t.day = c.day) ORDER BY c.day LIMIT 1`

	closeOf = `SELECT last_journal FROM ledger_closes WHERE day = $1::text::date`

	// The newest complete close, on or before a day where one is named.
	closeBefore = `SELECT to_char(c.day, 'YYYY-MM-DD'), c.last_journal FROM ledger_closes c
WHERE ($1 = '' OR c.day <= nullif($1, '')::date) AND EXISTS (SELECT FROM treasury_closes t WHERE t.day = c.day) ORDER BY c.day DESC LIMIT 1`

	// The sums of the close of a day, and of the journals after its last one.
	ledgerSums = `SELECT account, asset, sum(debit), sum(credit), sum(by_hand) FROM (
	SELECT account, asset, debit, credit, by_hand FROM ledger_close_sums WHERE day = nullif($1, '')::date
	UNION ALL
	SELECT regexp_replace(regexp_replace(e.account, '^((test:)?payable):wdr_[^:]*:', '\1:withdrawal:'),
			'^((test:)?(customer|payable)):(?!withdrawal:)[^:]*:', '\1:'), e.asset,
		CASE e.side WHEN 'debit' THEN e.amount ELSE 0 END, CASE e.side WHEN 'credit' THEN e.amount ELSE 0 END,
		CASE WHEN j.event = ANY($4) THEN CASE e.side WHEN 'debit' THEN e.amount ELSE -e.amount END ELSE 0 END
	FROM ledger_journals j, ` + entriesOf + ` WHERE j.id > $2 AND j.id <= $3
) AS moved GROUP BY account, asset ORDER BY account, asset`

	feeSums = `SELECT mode, merchant_id, currency, sum(amount) FROM (
	SELECT mode, merchant_id, currency, amount FROM ledger_close_fees WHERE day = nullif($1, '')::date
	UNION ALL
	SELECT CASE WHEN e.account LIKE 'test:%' THEN 'test' ELSE 'live' END, coalesce(p.merchant_id, ''), e.asset,
		CASE e.side WHEN 'credit' THEN e.amount ELSE -e.amount END
	FROM ledger_journals j CROSS JOIN ` + entriesOf + ` LEFT JOIN payments p ON p.id = j.payment_id
	WHERE j.id > $2 AND j.id <= $3 AND (e.account LIKE 'fees:%' OR e.account LIKE 'test:fees:%')
) AS earned GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`

	insertCloseSum = `INSERT INTO ledger_close_sums (day, account, asset, debit, credit, by_hand)
SELECT $1::text::date, a, s, d::numeric, c::numeric, h::numeric FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) AS t(a, s, d, c, h)`
	insertCloseFee = `INSERT INTO ledger_close_fees (day, mode, merchant_id, currency, amount)
SELECT $1::text::date, m, i, c, a::numeric FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS t(m, i, c, a)`
	insertTreasuryClose = `INSERT INTO treasury_closes (day, mode, report, made_at) VALUES ($1::text::date, $2, $3, $4)`

	upsertTreasury = `INSERT INTO treasury_reports (mode, report, made_at) VALUES ($1, $2, $3)
ON CONFLICT (mode) DO UPDATE SET report = excluded.report, made_at = excluded.made_at`
	selectTreasury      = `SELECT report FROM treasury_reports WHERE mode = $1`
	selectTreasuryClose = `SELECT report FROM treasury_closes WHERE mode = $1 AND day = $2::text::date`

	selectReadings = `SELECT network, read_at, holdings FROM treasury_readings WHERE mode = $1 ORDER BY network`
	upsertReading  = `INSERT INTO treasury_readings AS r (mode, network, read_at, holdings) VALUES ($1, $2, $3, $4)
ON CONFLICT (mode, network) DO UPDATE SET read_at = excluded.read_at, holdings = excluded.holdings
WHERE r.read_at < excluded.read_at OR r.read_at > clock_timestamp() + interval '5 minutes'`
	inFuture = `SELECT $1::timestamptz > clock_timestamp() + interval '5 minutes'`

	// A scan that is halted or behind has an alert of its own, and a network that nobody scans any more says nothing.
	selectFollowed = `SELECT network FROM scan_progress WHERE mode = $1 AND state IN ('', 'following') AND updated_at > now() - interval '5 minutes'
ORDER BY network`
	selectMarks = `SELECT rail, currency, provider - ledger FROM float_marks WHERE mode = $1`

	newestJournal = `SELECT coalesce(max(id), 0), now() FROM ledger_journals`

	listEntries = `SELECT j.id, j.created_at, j.event, coalesce(j.payment_id, ''), e.line, e.account, e.asset, e.side, e.amount
FROM ledger_journals j, ` + entriesOf + `
WHERE (j.id > $1 OR j.id = $1 AND e.line > $2) AND j.id >= $1 AND j.id <= $3 ORDER BY j.id, e.line LIMIT $4`
)

// ClaimDay implements books.Store.
func (s *Store) ClaimDay(ctx context.Context, day string, end time.Time) error {
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		wait := lockShortly
		if rand.N(10) == 0 { //nolint:gosec // it spreads tries
			wait = lockLonger
		}
		for _, sql := range []string{wait, lockJournals} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		var last int64
		if err := tx.QueryRow(ctx, endOfDay, end).Scan(&last); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, insertClose, day, last, end)
		return err
	})
	return wrap(err, "close "+day)
}

// Days implements books.Store.
func (s *Store) Days(ctx context.Context) (d books.Days, err error) {
	ignore := func(err error) error {
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	}
	err = errors.Join(
		ignore(s.pool.QueryRow(ctx, lastClosed).Scan(&d.Last)), ignore(s.pool.QueryRow(ctx, firstBooked).Scan(&d.First)),
		ignore(s.pool.QueryRow(ctx, unfinishedClose).Scan(&d.Unfinished)), s.pool.QueryRow(ctx, databaseTime).Scan(&d.Now),
	)
	return d, wrap(err, "read the closed days")
}

// Treasury implements books.Store.
func (s *Store) Treasury(ctx context.Context, day string, build func(of, now books.Sums) (map[tenant.Mode]books.Treasury, error)) error {
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, patience); err != nil {
			return err
		}
		now, err := s.sums(ctx, tx, "")
		if err != nil {
			return err
		}
		sums := now
		if day != "" {
			if sums, err = s.sums(ctx, tx, day); err != nil {
				return err
			}
		}
		made, err := build(sums, now)
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		if day != "" {
			queueClose(batch, day, sums)
		}
		for mode, t := range made {
			raw, err := json.Marshal(t)
			if err != nil {
				return fmt.Errorf("encode the report: %w", err)
			}
			if day == "" {
				batch.Queue(upsertTreasury, string(mode), raw, t.MadeAt)
			} else {
				batch.Queue(insertTreasuryClose, day, string(mode), raw, t.MadeAt)
			}
		}
		return tx.SendBatch(ctx, batch).Close()
	})
	return wrap(err, "make the report of the treasury")
}

// sums adds up the ledger to the end of a closed day, or to now.
func (s *Store) sums(ctx context.Context, tx pgx.Tx, day string) (sums books.Sums, err error) {
	if err := tx.QueryRow(ctx, newestJournal).Scan(&sums.Through, &sums.At); err != nil {
		return sums, err
	}
	if day != "" {
		if err := tx.QueryRow(ctx, closeOf, day).Scan(&sums.Through); err != nil {
			return sums, err
		}
	}
	base, from, err := closedBy(ctx, tx, day)
	if err != nil {
		return sums, err
	}
	rows, err := tx.Query(ctx, ledgerSums, base, from, sums.Through, ledger.ByHand())
	if err != nil {
		return sums, err
	}
	if sums.Accounts, err = pgx.CollectRows(rows, pgx.RowToStructByPos[books.AccountSum]); err != nil {
		return sums, err
	}
	if rows, err = tx.Query(ctx, feeSums, base, from, sums.Through); err != nil {
		return sums, err
	}
	if sums.Fees, err = pgx.CollectRows(rows, pgx.RowToStructByPos[books.FeeSum]); err != nil {
		return sums, err
	}
	return sums, s.observed(ctx, tx, &sums)
}

// closedBy is the newest complete close on or before a day; "" without one.
func closedBy(ctx context.Context, tx pgx.Tx, day string) (base string, last int64, err error) {
	err = tx.QueryRow(ctx, closeBefore, day).Scan(&base, &last)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return base, last, err
}

// observed adds what chains and rails said.
func (s *Store) observed(ctx context.Context, tx pgx.Tx, sums *books.Sums) error {
	sums.Readings, sums.Marks, sums.Followed = map[tenant.Mode][]books.Reading{}, map[tenant.Mode][]books.Mark{}, map[tenant.Mode][]string{}
	for _, mode := range tenant.Modes() {
		rows, err := tx.Query(ctx, selectReadings, string(mode))
		if err != nil {
			return err
		}
		sums.Readings[mode], err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r books.Reading, err error) {
			var raw []byte
			if err := row.Scan(&r.Network, &r.At, &raw); err != nil {
				return r, err
			}
			return r, json.Unmarshal(raw, &r.Holdings)
		})
		if err != nil {
			return err
		}
		if rows, err = tx.Query(ctx, selectFollowed, string(mode)); err != nil {
			return err
		}
		if sums.Followed[mode], err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return err
		}
		if rows, err = tx.Query(ctx, selectMarks, string(mode)); err != nil {
			return err
		}
		if sums.Marks[mode], err = pgx.CollectRows(rows, pgx.RowToStructByPos[books.Mark]); err != nil {
			return err
		}
	}
	return nil
}

// queueClose adds the rows of a close.
func queueClose(batch *pgx.Batch, day string, sums books.Sums) {
	var accounts, assets, debits, credits, hands []string
	for _, a := range sums.Accounts {
		accounts, assets, debits = append(accounts, a.Account), append(assets, a.Asset), append(debits, a.Debit.String())
		credits, hands = append(credits, a.Credit.String()), append(hands, a.ByHand.String())
	}
	batch.Queue(insertCloseSum, day, accounts, assets, debits, credits, hands)
	var modes, merchants, currencies, amounts []string
	for _, f := range sums.Fees {
		modes, merchants, currencies, amounts = append(modes, f.Mode), append(merchants, f.MerchantID), append(currencies, f.Currency), append(amounts, f.Amount.String())
	}
	batch.Queue(insertCloseFee, day, modes, merchants, currencies, amounts)
}

// TreasuryReport implements books.Store.
func (s *Store) TreasuryReport(ctx context.Context, mode tenant.Mode, day string) (t books.Treasury, found bool, err error) {
	var raw []byte
	if day == "" {
		err = s.pool.QueryRow(ctx, selectTreasury, string(mode)).Scan(&raw)
	} else {
		err = s.pool.QueryRow(ctx, selectTreasuryClose, string(mode), day).Scan(&raw)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return t, false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &t)
	}
	return t, err == nil, wrap(err, "read the report of the treasury")
}

// KeepReading implements books.Store.
func (s *Store) KeepReading(ctx context.Context, mode tenant.Mode, r books.Reading) error {
	raw, err := json.Marshal(r.Holdings)
	if err != nil {
		return fmt.Errorf("encode a reading: %w", err)
	}
	var future bool
	if err := s.pool.QueryRow(ctx, inFuture, r.At).Scan(&future); err != nil {
		return fmt.Errorf("compare the time of a reading: %w", err)
	}
	if future {
		return fault.Permanent(fmt.Errorf("keep the reading of %s of %s: %w", r.Network, timestamp.Text(r.At), books.ErrFuture))
	}
	_, err = s.pool.Exec(ctx, upsertReading, string(mode), r.Network, r.At, raw)
	return wrap(err, "keep the reading of "+r.Network)
}

// Opening implements books.Store.
func (s *Store) Opening(ctx context.Context, before, end time.Time) (m books.Month, err error) {
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, patience); err != nil {
			return err
		}
		var open bool
		if err := tx.QueryRow(ctx, monthOpen, end, end.AddDate(0, 0, -1).Format(time.DateOnly)).Scan(&open); err != nil {
			return err
		}
		if open {
			return books.ErrMonthNotClosed
		}
		base, from, err := closedBy(ctx, tx, before.AddDate(0, 0, -1).Format(time.DateOnly))
		if err != nil {
			return err
		}
		m.Base, m.End = base, end.Format(time.DateOnly)
		if err := unarchived(ctx, tx, m); err != nil {
			return err
		}
		if m.After, err = lastOf(ctx, tx, before); err != nil {
			return err
		}
		if m.Through, err = lastOf(ctx, tx, end); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, ledgerSums, base, from, m.After, ledger.ByHand())
		if err != nil {
			return err
		}
		m.Opening, err = pgx.CollectRows(rows, pgx.RowToStructByPos[books.AccountSum])
		return err
	})
	return m, wrap(err, "read the opening balances")
}

// lastOf is the last journal of the days before a time: that of the close, where the day is closed.
func lastOf(ctx context.Context, tx pgx.Tx, end time.Time) (last int64, err error) {
	err = tx.QueryRow(ctx, closeOf, end.AddDate(0, 0, -1).Format(time.DateOnly)).Scan(&last)
	if errors.Is(err, pgx.ErrNoRows) {
		err = tx.QueryRow(ctx, endOfDay, end).Scan(&last)
	}
	return last, err
}

// unarchived fails with books.ErrMonthArchived if journals that an export reads are archived.
func unarchived(ctx context.Context, tx pgx.Tx, m books.Month) error {
	var archived bool
	if err := tx.QueryRow(ctx, daysArchived, m.Base, m.End).Scan(&archived); err != nil {
		return err
	}
	if archived {
		return books.ErrMonthArchived
	}
	return nil
}

// Entries implements books.Store. A page is whole, because it is read in one snapshot with the days that are archived.
func (s *Store) Entries(ctx context.Context, m books.Month, after books.Entry, most int) (found []books.Entry, err error) {
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if err := unarchived(ctx, tx, m); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, listEntries, after.Journal, after.Line, m.Through, most)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, pgx.RowToStructByPos[books.Entry])
		return err
	})
	return found, wrap(err, "list entries of the ledger")
}
