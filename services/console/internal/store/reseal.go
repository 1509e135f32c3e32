package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
)

const (
	// The id of a sealed value's key has its length in the second byte and begins at the third.
	staleSQL = `SELECT id, totp FROM people
		WHERE totp IS NOT NULL AND substring(totp FROM 3 FOR get_byte(totp, 1)) <> $1 AND id > $2 ORDER BY id LIMIT $3 FOR UPDATE`

	resealSQL = `UPDATE people p SET totp = u.totp FROM unnest($1::text[], $2::bytea[]) AS u(id, totp) WHERE p.id = u.id`
)

// resealBatch is how many values one transaction of Reseal holds locked.
const resealBatch = 500

// Reseal seals the secrets of authenticator apps that are not under the first master key again, one batch a
// transaction. Finished batches stay; a repeated run finds the rest. Sessions are left out, since each ends within a
// week.
func (s *Store) Reseal(ctx context.Context) (done int, err error) {
	for after := ""; ; {
		n := 0
		err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
			type value struct {
				PersonID string
				Sealed   []byte
			}
			rows, err := tx.Query(ctx, staleSQL, []byte(s.ring.First()), after, resealBatch)
			if err != nil {
				return fmt.Errorf("find what is left: %w", err)
			}
			values, err := pgx.CollectRows(rows, pgx.RowToStructByPos[value])
			if err != nil {
				return fmt.Errorf("find what is left: %w", err)
			}
			if n = len(values); n == 0 {
				return nil
			}
			ids, sealed := make([]string, n), make([][]byte, n)
			for i, v := range values {
				plain, err := s.ring.Open(v.Sealed, totpPlace(v.PersonID))
				if err != nil {
					return fmt.Errorf("seal the secret of %s again: %w", v.PersonID, err)
				}
				ids[i], sealed[i] = v.PersonID, s.ring.Seal(plain, totpPlace(v.PersonID))
			}
			after = ids[n-1]
			if _, err := tx.Exec(ctx, resealSQL, ids, sealed); err != nil {
				return fmt.Errorf("write what was sealed again: %w", err)
			}
			return nil
		})
		if err != nil || n == 0 {
			return done, err
		}
		done += n
	}
}
