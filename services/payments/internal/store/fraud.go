package store

import (
	"context"
	"fmt"
	"strings"

	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
)

const (
	upsertFraud = `INSERT INTO fraud_signals AS f (mode, address, merchants, reports, version, at, confirmed)
VALUES ($1, $2, $3, $4, $5, $6, coalesce($7::boolean, false))
ON CONFLICT (mode, address) DO UPDATE SET merchants = excluded.merchants, reports = excluded.reports, version = excluded.version, at = excluded.at,
	confirmed = coalesce($7::boolean, f.confirmed)
WHERE f.version < excluded.version`
	selectFraud = `SELECT EXISTS (SELECT FROM fraud_signals WHERE mode = $1 AND address = ANY($2) AND confirmed)`
)

// NoteFraud keeps a signal unless a newer one of its mode and address is there.
func (s *Store) NoteFraud(ctx context.Context, m wire.FraudSignal) error {
	if _, err := s.pool.Exec(ctx, upsertFraud, string(m.Mode), m.Address, m.Merchants, m.Reports, m.Version, m.OccurredAt, m.Confirmed); err != nil {
		return fmt.Errorf("write a fraud signal: %w", err)
	}
	return nil
}

// FraudConfirmed implements screen.Signals.
func (s *Store) FraudConfirmed(ctx context.Context, mode tenant.Mode, addresses []string) (confirmed bool, err error) {
	keys := make([]string, len(addresses))
	for i, a := range addresses {
		// The form in which wire.FraudSignal names addresses.
		if keys[i] = a; strings.HasPrefix(a, "0x") || strings.HasPrefix(a, "0X") {
			keys[i] = strings.ToLower(a)
		}
	}
	if err = s.pool.QueryRow(ctx, selectFraud, string(mode), keys).Scan(&confirmed); err != nil {
		return false, fmt.Errorf("read fraud signals: %w", err)
	}
	return confirmed, nil
}
