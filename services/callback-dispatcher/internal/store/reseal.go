package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

// resealBatch is how many secrets one transaction of Reseal changes.
const resealBatch = 500

// sealedSecret is a signing secret as it is kept.
type sealedSecret struct {
	app.SecretOwner
	generation int32
	sealed     []byte
}

// Reseal gives every signing secret that the key named first did not seal to again, which seals it anew, a batch per
// transaction. A second run finds the secrets that the first one did not reach. It may run while the service does: it
// changes a value only as it was read, and adds and removes none.
func (s *Store) Reseal(ctx context.Context, first string, again func(o app.SecretOwner, sealed []byte) ([]byte, error)) (idempotency.Resealed, error) {
	done, last := 0, sealedSecret{}
	for {
		stale, err := s.stale(ctx, first, last)
		if err != nil {
			return idempotency.Resealed{}, err
		}
		if len(stale) == 0 {
			return idempotency.Report(ctx, s.db, first, done)
		}
		last = stale[len(stale)-1]
		changed, err := s.reseal(ctx, stale, again)
		if err != nil {
			return idempotency.Resealed{}, err
		}
		done += changed
	}
}

// stale reads a batch of the secrets that another key has sealed.
func (s *Store) stale(ctx context.Context, first string, last sealedSecret) ([]sealedSecret, error) {
	rows, err := s.db.Query(ctx, staleSecretsSQL, []byte(first), last.MerchantID, last.Mode, last.EndpointID, last.generation, resealBatch)
	if err != nil {
		return nil, fmt.Errorf("find signing secrets to seal again: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (one sealedSecret, err error) {
		err = row.Scan(&one.MerchantID, &one.Mode, &one.EndpointID, &one.generation, &one.sealed)
		return one, err
	})
	if err != nil {
		return nil, fmt.Errorf("find signing secrets to seal again: %w", err)
	}
	return found, nil
}

// reseal seals a batch again.
func (s *Store) reseal(ctx context.Context, batch []sealedSecret, again func(o app.SecretOwner, sealed []byte) ([]byte, error)) (changed int, err error) {
	var merchants, modes, endpoints []string
	var generations []int32
	var was, fresh [][]byte
	for _, one := range batch {
		sealed, err := again(one.SecretOwner, one.sealed)
		if err != nil {
			return 0, fmt.Errorf("seal the signing secret %d of merchant %s, %s mode, endpoint %q again: %w",
				one.generation, one.MerchantID, one.Mode, one.EndpointID, err)
		}
		merchants, modes, endpoints = append(merchants, one.MerchantID), append(modes, string(one.Mode)), append(endpoints, one.EndpointID)
		generations, was, fresh = append(generations, one.generation), append(was, one.sealed), append(fresh, sealed)
	}
	err = postgres.Tx(ctx, s.db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, resealSQL, merchants, modes, endpoints, generations, was, fresh)
		changed = int(tag.RowsAffected())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("keep signing secrets that were sealed again: %w", err)
	}
	return changed, nil
}
