package store

import (
	"context"
	"fmt"
)

// recoveryMargin is how many ids are skipped after a restore: more keys than can have been made since the backup.
const recoveryMargin = 100_000

// skipIDsSQL draws ids until the next one is past all that may have been given. It draws none if that has been done.
const skipIDsSQL = `SELECT count(nextval(pg_get_serial_sequence('api_keys', 'id'))) FROM generate_series(1, $1::bigint)
WHERE (SELECT last_value FROM api_keys_id_seq) < (SELECT coalesce(max(id), 0) FROM api_keys) + $1`

// Recover prepares a database that was restored from a backup. Services store wallets and reports under the id of a
// key, so no new key may get the id of a lost one. It may run in several processes at once, and repeatedly.
func (s *Store) Recover(ctx context.Context) error {
	if _, err := s.pool.Exec(ctx, skipIDsSQL, recoveryMargin); err != nil {
		return fmt.Errorf("prepare a restored database: %w", err)
	}
	return nil
}
