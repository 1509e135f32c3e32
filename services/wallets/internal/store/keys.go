package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/services/wallets/internal/wallet"
)

const (
	keptKeysSQL = `SELECT mode, family, sealed FROM account_keys ORDER BY mode, family`

	keepKeySQL = `INSERT INTO account_keys (mode, family, sealed) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`

	resealKeySQL = `UPDATE account_keys SET sealed = $4 WHERE mode = $1 AND family = $2 AND sealed = $3`

	batchKeysSQL = `SELECT DISTINCT public_key FROM address_batches WHERE mode = $1 AND family = $2`
)

// KeptKeys implements keys.Store.
func (s *Store) KeptKeys(ctx context.Context) ([]wallet.SealedKey, error) {
	rows, err := s.pool.Query(ctx, keptKeysSQL)
	if err != nil {
		return nil, fmt.Errorf("reading the sealed keys: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (k wallet.SealedKey, err error) {
		err = row.Scan(&k.Mode, &k.Family, &k.Sealed)
		return k, err
	})
}

// KeepKey implements keys.Store.
func (s *Store) KeepKey(ctx context.Context, k wallet.SealedKey) error {
	if _, err := s.pool.Exec(ctx, keepKeySQL, k.Mode, k.Family, k.Sealed); err != nil {
		return fmt.Errorf("keeping the %s key: %w", k.Slot, err)
	}
	return nil
}

// ResealKey implements keys.Store.
func (s *Store) ResealKey(ctx context.Context, k wallet.SealedKey, sealed []byte) error {
	if _, err := s.pool.Exec(ctx, resealKeySQL, k.Mode, k.Family, k.Sealed, sealed); err != nil {
		return fmt.Errorf("sealing the %s key again: %w", k.Slot, err)
	}
	return nil
}

// BatchKeys implements keys.Store.
func (s *Store) BatchKeys(ctx context.Context, slot wallet.Slot) ([][]byte, error) {
	rows, err := s.pool.Query(ctx, batchKeysSQL, slot.Mode, slot.Family)
	if err != nil {
		return nil, fmt.Errorf("reading the keys of batches: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[[]byte])
}
