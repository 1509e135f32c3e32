package store

import (
	"context"
	"fmt"
)

// recoveryMargin is how many ids are passed over after a restore: more keys than can have been made since the backup.
const recoveryMargin = 100_000

// skipIDsSQL draws ids until the next one is past all that may have been given. It draws none where that has been done.
const skipIDsSQL = `SELECT count(nextval(pg_get_serial_sequence('api_keys', 'id'))) FROM generate_series(1, $1::bigint)
WHERE (SELECT last_value FROM api_keys_id_seq) < (SELECT coalesce(max(id), 0) FROM api_keys) + $1`

// Recover prepares a database that was restored from a backup. Services keep wallets and reports by the id of a key, so an
// id that a lost key had must not be another key's. It may be called by several processes at once and again.
func (s *Store) Recover(ctx context.Context) error {
	if _, err := s.pool.Exec(ctx, skipIDsSQL, recoveryMargin); err != nil {
		return fmt.Errorf("prepare a restored database: %w", err)
	}
	return nil
}
