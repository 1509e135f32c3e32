package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/operator"
	"causeway.internal/libs/passkey"
	"causeway.internal/libs/postgres"
)

const (
	//nolint:gosec // columns
	passkeyColumns = `id, name, label, credential_id, public_key, created_by, created_at, revoked_at`

	//nolint:gosec // a statement
	passkeysOfSQL = `SELECT credential_id, public_key FROM operator_passkeys WHERE name = $1 AND revoked_at IS NULL ORDER BY id`

	//nolint:gosec // a statement
	heldPasskeysSQL = `SELECT count(*) FROM operator_passkeys WHERE name = $1 AND revoked_at IS NULL`

	insertPasskeySQL = `INSERT INTO operator_passkeys (name, label, credential_id, public_key, created_by) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (credential_id) DO NOTHING RETURNING ` + passkeyColumns

	revokePasskeySQL = `UPDATE operator_passkeys SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL`

	getPasskeySQL = `SELECT ` + passkeyColumns + ` FROM operator_passkeys WHERE id = $1`

	listPasskeysSQL = `SELECT ` + passkeyColumns + ` FROM operator_passkeys
WHERE revoked_at IS NULL OR revoked_at > now() - interval '90 days' ORDER BY id DESC LIMIT 500`
)

var _ operator.PasskeyStore = (*Store)(nil)

func scanPasskey(row pgx.Row) (p operator.Passkey, err error) {
	var revoked *time.Time
	err = row.Scan(&p.ID, &p.Name, &p.Label, &p.Key.ID, &p.Key.Public, &p.CreatedBy, &p.CreatedAt, &revoked)
	p.RevokedAt = value(revoked)
	return p, err
}

// PasskeysOf implements operator.PasskeyStore.
func (s *Store) PasskeysOf(ctx context.Context, name string) ([]passkey.Key, error) {
	rows, err := s.pool.Query(ctx, passkeysOfSQL, name)
	if err != nil {
		return nil, fmt.Errorf("read the passkeys of an operator: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (k passkey.Key, err error) {
		err = row.Scan(&k.ID, &k.Public)
		return k, err
	})
}

// InsertPasskey implements operator.PasskeyStore.
func (s *Store) InsertPasskey(ctx context.Context, o operator.PasskeyOrder, most int, by audit.Entry) (p operator.Passkey, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockPersonSQL, o.Name); err != nil {
			return fmt.Errorf("lock the person: %w", err)
		}
		var held int
		if err := tx.QueryRow(ctx, heldPasskeysSQL, o.Name).Scan(&held); err != nil {
			return fmt.Errorf("count the person's passkeys: %w", err)
		}
		if held >= most {
			return operator.ErrPasskeysTooMany
		}
		p, err = scanPasskey(tx.QueryRow(ctx, insertPasskeySQL, o.Name, o.Label, o.Key.ID, o.Key.Public, by.Actor))
		if errors.Is(err, pgx.ErrNoRows) {
			return operator.ErrPasskeyKnown
		}
		if err != nil {
			return fmt.Errorf("insert the passkey: %w", err)
		}
		by.Object = passkeyObject(p.ID)
		return writeAudit(ctx, tx, by)
	})
	return p, err
}

// RevokePasskey implements operator.PasskeyStore. A passkey that is revoked already leaves no second audit entry.
func (s *Store) RevokePasskey(ctx context.Context, id int64, by audit.Entry) (p operator.Passkey, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, revokePasskeySQL, id)
		if err != nil {
			return fmt.Errorf("mark the passkey: %w", err)
		}
		p, err = scanPasskey(tx.QueryRow(ctx, getPasskeySQL, id))
		if errors.Is(err, pgx.ErrNoRows) {
			return operator.ErrPasskeyNotFound
		}
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		by.Object, by.Detail = passkeyObject(id), map[string]string{"name": p.Name}
		return writeAudit(ctx, tx, by)
	})
	return p, err
}

// Passkeys implements operator.PasskeyStore.
func (s *Store) Passkeys(ctx context.Context) ([]operator.Passkey, error) {
	rows, err := s.pool.Query(ctx, listPasskeysSQL)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (operator.Passkey, error) { return scanPasskey(row) })
}

func passkeyObject(id int64) string { return "operator_passkey:" + strconv.FormatInt(id, 10) }
