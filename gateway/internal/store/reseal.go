package store

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
)

// A sealed value begins with its version, the length of its key's id and the id (libs/keyring), so a value under
// another key than the first is found without opening it.
const (
	staleKeysSQL = `SELECT public_key, signing_key FROM api_key_secrets
WHERE substring(signing_key from 3 for get_byte(signing_key, 1)) <> $1 AND public_key > $2 ORDER BY public_key LIMIT $3 FOR UPDATE`

	resealSQL = `UPDATE api_key_secrets s SET signing_key = u.sealed FROM unnest($1::text[], $2::bytea[]) AS u(public_key, sealed)
WHERE s.public_key = u.public_key`
)

// resealBatch is how many values one transaction of Reseal holds locked.
const resealBatch = 500

// Reseal passes every sealed signing key that is not under the first master key to again, which seals it anew, one
// batch per transaction with its audit row. Finished batches stay; a repeated run finds the rest.
func (s *Store) Reseal(ctx context.Context, first string, again func(publicKey string, sealed []byte) ([]byte, error), by audit.Entry) (done int, err error) {
	for after := ""; ; {
		n := 0
		err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
			type value struct {
				PublicKey string
				Sealed    []byte
			}
			rows, err := tx.Query(ctx, staleKeysSQL, []byte(first), after, resealBatch)
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
			names, sealed := make([]string, n), make([][]byte, n)
			for i, v := range values {
				names[i] = v.PublicKey
				if sealed[i], err = again(v.PublicKey, v.Sealed); err != nil {
					return fmt.Errorf("seal the signing key of %s again: %w", v.PublicKey, err)
				}
			}
			after = names[n-1]
			if _, err := tx.Exec(ctx, resealSQL, names, sealed); err != nil {
				return fmt.Errorf("write what was sealed again: %w", err)
			}
			entry := by
			entry.Detail = map[string]string{"first": first, "sealed": strconv.Itoa(n)}
			return writeAudit(ctx, tx, entry)
		})
		if err != nil || n == 0 {
			return done, err
		}
		done += n
	}
}

// Resealed is the report of a rotation after so many values were sealed again under the first key.
func (s *Store) Resealed(ctx context.Context, first string, sealed int) (idempotency.Resealed, error) {
	return idempotency.Report(ctx, s.pool, first, sealed)
}
