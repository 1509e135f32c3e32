package store

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/jackc/pgx/v5"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
)

const (
	lockKeySQL = `SELECT 1 FROM api_keys WHERE id = $1 FOR UPDATE`

	updateKeySQL = `UPDATE api_keys SET name = $2, permissions = $3, allowed_cidrs = $4, tier = $5, expires_at = $6 WHERE id = $1`

	//nolint:gosec // a statement
	forgetSecretsSQL = `DELETE FROM api_key_secrets WHERE key_id = $1 AND until < now() - interval '30 days'`
	endOldestSQL     = `UPDATE api_key_secrets SET until = now() WHERE key_id = $1 AND until > now()`
	endCurrentSQL    = `UPDATE api_key_secrets SET until = now() + make_interval(secs => $2) WHERE key_id = $1 AND until IS NULL`
)

// Update implements apikey.Store.
func (s *Store) Update(ctx context.Context, id int64, f func(apikey.Key) (apikey.Key, *audit.Entry, error)) (k apikey.Key, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		old, err := locked(ctx, tx, id)
		if err != nil {
			return err
		}
		var entry *audit.Entry
		if k, entry, err = f(old); err != nil || entry == nil {
			return err
		}
		cidrs := k.AllowedCIDRs
		if cidrs == nil {
			cidrs = []netip.Prefix{}
		}
		if _, err := tx.Exec(ctx, updateKeySQL, id, k.Name, k.Permissions, cidrs, string(k.Tier), null(k.ExpiresAt)); err != nil {
			return fmt.Errorf("write the key: %w", err)
		}
		return writeAudit(ctx, tx, *entry)
	})
	return k, err
}

// locked reads a key under its lock.
func locked(ctx context.Context, tx pgx.Tx, id int64) (apikey.Key, error) {
	if _, err := tx.Exec(ctx, lockKeySQL, id); err != nil {
		return apikey.Key{}, fmt.Errorf("lock the key: %w", err)
	}
	return get(ctx, tx, id)
}

// Rotate implements apikey.Store. It also deletes secrets that ended a month ago, so that a key keeps few.
func (s *Store) Rotate(ctx context.Context, o apikey.Rotation, secrets apikey.Secrets, by audit.Entry,
	answer func(apikey.Key) (idempotency.Key, idempotency.Answer, error),
) (k apikey.Key, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if k, err = locked(ctx, tx, o.ID); err != nil {
			return err
		}
		k.PublicKey = secrets.PublicKey
		once, stored, err := answer(k)
		if err != nil {
			return err
		}
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{forgetSecretsSQL, []any{o.ID}},
			{endOldestSQL, []any{o.ID}},
			{endCurrentSQL, []any{o.ID, o.Overlap.Seconds()}},
			{insertSecretSQL, []any{secrets.Digest[:], secrets.PepperID, o.ID, secrets.PublicKey, secrets.SigningKey}},
		} {
			if _, err := tx.Exec(ctx, step.sql, step.args...); err != nil {
				return fmt.Errorf("replace the secret: %w", err)
			}
		}
		if err := writeAudit(ctx, tx, by); err != nil {
			return err
		}
		return idempotency.Put(ctx, tx, once, stored)
	})
	return k, err
}
