package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/erasure"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/reports/internal/report"
)

// resealBatch is how many rows one read of Reseal returns.
const resealBatch = 500

// Reseal seals every report under the first master key that is under another, or in the clear, and returns the number
// of changed rows. Each report is a transaction of its own. It may run beside the service, and again after an
// interruption.
func (s *Store) Reseal(ctx context.Context) (changed int64, err error) {
	s = s.sealing()
	for last := int64(0); ; {
		rows, err := s.pool.Query(ctx, ownReports, last, resealBatch)
		if err != nil {
			return changed, fmt.Errorf("read reports to seal: %w", err)
		}
		found, err := pgx.CollectRows(rows, func(from pgx.CollectableRow) (row, error) { return s.scan(from) })
		if err != nil {
			return changed, fmt.Errorf("read reports to seal: %w", err)
		}
		for _, r := range found {
			if last = r.ID; !s.stale(r) {
				continue
			}
			if err := s.reseal(ctx, r.ID); err != nil {
				return changed, fmt.Errorf("seal report %d: %w", r.ID, err)
			}
			changed++
		}
		if len(found) < resealBatch {
			break
		}
	}
	erasures, err := erasure.Reseal(ctx, s.pool, s.keys.Ring())
	return changed + erasures, err
}

// sealing is the store with sealing on, whatever the service's setting.
func (s *Store) sealing() *Store {
	return &Store{pool: s.pool, vault: vault{keys: s.keys, seals: true}}
}

// reseal seals one report, and moves its counts.
func (s *Store) reseal(ctx context.Context, id int64) error {
	return postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		was, err := s.scan(tx.QueryRow(ctx, lockReport, id))
		if err != nil {
			return err
		}
		return s.replace(ctx, tx, was, was.Report)
	})
}

// replace stores a report again, sealed, and moves its counts, in the order of locks.
func (s *Store) replace(ctx context.Context, tx pgx.Tx, was row, r report.Report) error {
	is, err := s.keep(r)
	if err != nil {
		return err
	}
	before, err := s.hash(was)
	if err != nil {
		return err
	}
	after, err := s.hash(is)
	if err != nil {
		return err
	}
	one := report.One(was.Status, was.Kind)
	batch := &pgx.Batch{}
	batch.Queue(sealReport, r.ID, is.person, is.index, null(is.Wallet), null(report.AddressKey(is.Wallet)))
	if was.Wallet != "" && is.Wallet == "" {
		for _, sql := range []string{uncountSource, forgetSource} {
			batch.Queue(sql, string(was.Mode), report.AddressKey(was.Wallet), was.KeyID)
		}
	}
	counts := tally{}
	counts.add(was.Report.Subjects(before), was.CreatedAt, report.Counts{}.Minus(one))
	counts.add(is.Report.Subjects(after), is.CreatedAt, one)
	counts.queue(batch)
	batch.Queue(dropCounts, subjects(was.Report, before))
	if was.Fraudster != "" {
		batch.Queue(moveMark, string(was.Mode), report.AddressKey(was.Fraudster), reporter(was.Report, before), reporter(is.Report, after))
	}
	return tx.SendBatch(ctx, batch).Close()
}
