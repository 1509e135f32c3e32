package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

// Valid implements app.Vault.
func (s *Store) Valid(ctx context.Context, o app.SecretOwner) ([]app.SealedSecret, error) {
	sql, args := validSQL, []any{o.MerchantID, o.Mode, o.EndpointID}
	if o.Earlier {
		sql, args = latelySQL, append(args, (2*app.EarlierFor).Microseconds())
	}
	rows, err := s.db.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read signing secrets: %w", err)
	}
	secrets, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (one app.SealedSecret, err error) {
		var expires *time.Time
		err = row.Scan(&one.Generation, &one.Sealed, &one.CreatedAt, &expires)
		if expires != nil {
			one.ExpiresAt = *expires
		}
		return one, err
	})
	if err != nil {
		return nil, fmt.Errorf("read signing secrets: %w", err)
	}
	return secrets, nil
}

// Create implements app.Vault.
func (s *Store) Create(ctx context.Context, o app.SecretOwner, sealed []byte) error {
	if _, err := s.db.Exec(ctx, createSQL, o.MerchantID, o.Mode, o.EndpointID, sealed); err != nil {
		return fmt.Errorf("store the first signing secret: %w", err)
	}
	return nil
}

// Adopt implements app.Vault.
func (s *Store) Adopt(ctx context.Context, o app.SecretOwner, one app.SealedSecret, oldest int) error {
	var expires *time.Time
	if !one.ExpiresAt.IsZero() {
		expires = &one.ExpiresAt
	}
	if _, err := s.db.Exec(ctx, adoptSQL, o.MerchantID, o.Mode, o.EndpointID, one.Generation, one.Sealed, one.CreatedAt, expires, oldest); err != nil {
		return fmt.Errorf("adopt a signing secret: %w", err)
	}
	return nil
}

// Rotate implements app.Vault.
func (s *Store) Rotate(ctx context.Context, o app.SecretOwner, next app.SealedSecret, revoke bool, k idempotency.Key, a idempotency.Answer) (idempotency.Answer, error) {
	earlier, found, err := idempotency.Find(ctx, s.db, k)
	if err != nil || found {
		return earlier, err
	}
	err = postgres.Tx(ctx, s.db, func(tx pgx.Tx) error {
		if err := idempotency.Put(ctx, tx, k, a); err != nil {
			return err
		}
		return rotate(ctx, tx, o, next, revoke)
	})
	if k.Sent() && idempotency.IsTaken(err) {
		return idempotency.Replay(ctx, s.db, k)
	}
	return a, err
}

func rotate(ctx context.Context, tx pgx.Tx, o app.SecretOwner, next app.SealedSecret, revoke bool) error {
	owner := []any{o.MerchantID, o.Mode, o.EndpointID}
	if _, err := tx.Exec(ctx, lockOwnerSQL, owner...); err != nil { // rotations of one owner queue up
		return fmt.Errorf("lock the signing secrets: %w", err)
	}
	var newest, valid int
	if err := tx.QueryRow(ctx, newestSQL, owner...).Scan(&newest, &valid); err != nil {
		return fmt.Errorf("read the newest signing secret: %w", err)
	}
	if !revoke && valid >= app.SecretsMost {
		return app.ErrSecretsFull
	}
	if revoke {
		if _, err := tx.Exec(ctx, revokeSQL, owner...); err != nil {
			return fmt.Errorf("revoke the signing secrets: %w", err)
		}
	} else if _, err := tx.Exec(ctx, overlapSQL, append(owner[:3:3], app.Overlap.Microseconds())...); err != nil {
		return fmt.Errorf("let the signing secret expire: %w", err)
	}
	if _, err := tx.Exec(ctx, nextSQL, append(owner[:3:3], newest+1, next.Sealed, next.CreatedAt)...); err != nil {
		return fmt.Errorf("store the signing secret: %w", err)
	}
	return nil
}
