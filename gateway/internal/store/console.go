package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
)

const (
	consoleSQL = `SELECT ` + keyColumns + ` FROM api_keys k JOIN api_key_secrets s ON s.key_id = k.id AND s.until IS NULL
WHERE k.merchant_id = $1 AND k.mode = $2 AND k.kind = '` + apikey.KindConsole + `'`

	insertConsoleSQL = `INSERT INTO api_keys (merchant_id, name, mode, permissions, tier, kind) VALUES ($1, $2, $3, $4, $5, '` + apikey.KindConsole + `')
ON CONFLICT (merchant_id, mode) WHERE kind = '` + apikey.KindConsole + `' DO NOTHING RETURNING id`
)

var _ apikey.ConsoleStore = (*Store)(nil)

// Console implements apikey.ConsoleStore.
func (s *Store) Console(ctx context.Context, merchantID string, mode tenant.Mode) (*apikey.Key, error) {
	key, err := scan(s.pool.QueryRow(ctx, consoleSQL, merchantID, string(mode)))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // the interface says so: no key and no fault
	}
	if err != nil {
		return nil, fmt.Errorf("look up a console key: %w", err)
	}
	return &key, nil
}

// InsertConsole implements apikey.ConsoleStore.
func (s *Store) InsertConsole(ctx context.Context, k apikey.Key, secrets apikey.Secrets, by audit.Entry) error {
	return postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if err := place(ctx, tx, &k); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, insertConsoleSQL, k.MerchantID, k.Name, string(k.Mode), k.Permissions, string(k.Tier)).Scan(&k.ID)
		if errors.Is(err, pgx.ErrNoRows) { // another process was faster
			return nil
		}
		if err != nil {
			return fmt.Errorf("insert the key: %w", err)
		}
		if _, err := tx.Exec(ctx, insertSecretSQL, secrets.Digest[:], secrets.PepperID, k.ID, secrets.PublicKey, secrets.SigningKey); err != nil {
			return fmt.Errorf("insert the secret: %w", err)
		}
		entry := by
		entry.Object = "key:" + strconv.FormatInt(k.ID, 10)
		return writeAudit(ctx, tx, entry)
	})
}
