package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/discard"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/inbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/payout"
)

// Due implements deposits.Store.
func (s *Store) Due(ctx context.Context, margin time.Duration, most int) ([]string, error) {
	var ids []string
	err := postgres.Planned(ctx, s.pool, postgres.OnePlanSQL, func(rows pgx.Rows) (err error) {
		ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	}, duePayments, margin.Seconds(), most)
	return ids, wrap(err, "find due payments")
}

// DuePayouts implements payouts.Store.
func (s *Store) DuePayouts(ctx context.Context, most int, of payout.Rails) ([]payout.Payout, error) {
	if most <= 0 {
		return nil, nil
	}
	sql, ok := duePayouts[of.Mode]
	if !ok {
		return nil, fmt.Errorf("take due payouts: no mode %q", of.Mode)
	}
	var found []*payout.Payout
	if err := postgres.Planned(ctx, s.pool, postgres.OnePlanSQL, func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, s.scanDuePayout)
		return err
	}, sql, most, append([]string{}, of.Names...), of.Others); err != nil {
		return nil, fmt.Errorf("take due payouts: %w", err)
	}
	out := make([]payout.Payout, 0, len(found))
	for _, o := range found {
		out = append(out, *o)
	}
	return out, nil
}

// Work is the tables whose work the leader waits for: payouts, and the stock of addresses while it is used.
func (s *Store) Work(payoutDue, stockUsed func()) []postgres.Work {
	return []postgres.Work{{Due: nextPayout, Wake: payoutDue}, {Due: usedStock, Wake: stockUsed}}
}

// overdue is how long progress may wait for the deposits before it until it is an alert. By then one of the messages is
// lost or dead, and no payment of the network expires.
const overdue = 10 * time.Minute

// Advance notes how far a network is scanned.
func (s *Store) Advance(ctx context.Context, m wire.ScannedThrough) error {
	mode := string(m.Mode)
	late := 0
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(postgres.InOrderSQL)
		batch.Queue(upsertProgress, mode, m.Network, m.Height, m.Finalized, string(m.State), m.Head, nullTime(m.HeadTime), nullTime(m.ToldAt))
		batch.Queue(noteUntraced, mode, m.Network, m.Untraced)
		batch.Queue(noteProgress, mode, m.Network, m.Deposits, m.BlockTime, nullTime(m.ToldAt))
		batch.Queue(settleProgress, mode, m.Network)
		batch.Queue(overdueProgress, mode, m.Network, overdue.Seconds()).QueryRow(func(row pgx.Row) error { return row.Scan(&late) })
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return fmt.Errorf("store the scan progress of %s: %w", m.Network, err)
	}
	if late > 0 {
		s.Alert(m.Mode, alert.ScanIncomplete)
		s.Log.ErrorContext(ctx, "scan progress waits for missing deposits, expiry paused",
			"mode", m.Mode, "network", m.Network)
	}
	return nil
}

// Scans is the list of admission.NewScans.
func (s *Store) Scans(ctx context.Context) ([]admission.Scan, error) {
	rows, err := s.pool.Query(ctx, selectScans)
	if err != nil {
		return nil, fmt.Errorf("list scans: %w", err)
	}
	found, err := collectScans(rows)
	return found, wrap(err, "list scans")
}

func collectScans(rows pgx.Rows) ([]admission.Scan, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (x admission.Scan, err error) {
		var quiet int64
		var head *time.Time
		err = row.Scan(&x.Mode, &x.Network, &x.State, &quiet, &x.Height, &x.Head, &head, &x.Untraced)
		x.Quiet = microseconds(quiet)
		if head != nil {
			x.HeadTime = *head
		}
		return x, err
	})
}

// Admission is the list of admission.Copies, in one round trip.
func (s *Store) Admission(ctx context.Context) (found admission.Lists, err error) {
	batch := &pgx.Batch{}
	queueList(batch, selectPauses, collectPauses, &found.Pauses)
	queueList(batch, bindingTerms, collectTerms, &found.Terms)
	queueList(batch, selectScans, collectScans, &found.Scans)
	queueList(batch, selectOutages, collectOutages, &found.Outages)
	return found, wrap(s.pool.SendBatch(ctx, batch).Close(), "list pauses, terms, scans and outages")
}

func queueList[T any](batch *pgx.Batch, sql string, collect func(pgx.Rows) ([]T, error), into *[]T) {
	batch.Queue(sql).Query(func(rows pgx.Rows) (err error) {
		*into, err = collect(rows)
		return err
	})
}

// microseconds is a time span of the database.
func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// Retain deletes expired rows: stored answers, discarded messages, days of daily settlements, operators' requests, and
// ids of messages. Call it every minute.
func (s *Store) Retain(ctx context.Context) error {
	if err := idempotency.Maintain(ctx, s.pool); err != nil {
		return err
	}
	if err := s.forgetLimits(ctx); err != nil {
		return err
	}
	if err := discard.Forget(ctx, s.pool); err != nil {
		return err
	}
	if err := s.ForgetLookups(ctx); err != nil {
		return err
	}
	if err := s.ForgetDays(ctx); err != nil {
		return err
	}
	if err := s.forgetApprovals(ctx); err != nil {
		return err
	}
	return inbox.Rotate(ctx, s.pool)
}
