package store

import (
	"context"
	"fmt"
)

// recoveryMargin is how many ids are skipped after a restore: more reports than can have been filed since the backup.
const recoveryMargin = 100_000

// skipIDs draws ids until the next one is past all that may have been shown. It draws none if that has been done.
const skipIDs = `SELECT count(nextval('report_ids')) FROM generate_series(1, $1::bigint)
WHERE (SELECT last_value FROM report_ids) < (SELECT coalesce(max(id), 0) FROM reports) + $1`

// Recover prepares a database that was restored from a backup, so that no record id is given twice. It may run in
// several processes at once, and repeatedly.
func (s *Store) Recover(ctx context.Context) error {
	if _, err := s.pool.Exec(ctx, skipIDs, recoveryMargin); err != nil {
		return fmt.Errorf("prepare a restored database: %w", err)
	}
	return nil
}
