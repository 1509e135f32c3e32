package store

import (
	"context"
	"fmt"
	"strings"

	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/payment"
)

const (
	upsertFraud = `INSERT INTO fraud_signals AS f (mode, address, merchants, reports, version, at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (mode, address) DO UPDATE SET merchants = excluded.merchants, reports = excluded.reports, version = excluded.version, at = excluded.at
WHERE f.version < excluded.version`
	selectFraud = `SELECT coalesce(max(merchants), 0) FROM fraud_signals WHERE mode = $1 AND address = ANY($2)`
)

// NoteFraud implements app.FraudSignals.
func (s *Store) NoteFraud(ctx context.Context, m wire.FraudSignal) error {
	if _, err := s.pool.Exec(ctx, upsertFraud, string(m.Mode), m.Address, m.Merchants, m.Reports, m.Version, m.OccurredAt); err != nil {
		return fmt.Errorf("write a fraud signal: %w", err)
	}
	return nil
}

// FraudMerchants implements app.FraudSignals.
func (s *Store) FraudMerchants(ctx context.Context, mode payment.Mode, addresses []string) (n int64, err error) {
	keys := make([]string, len(addresses))
	for i, a := range addresses {
		// The form in which wire.FraudSignal names addresses.
		if keys[i] = a; strings.HasPrefix(a, "0x") || strings.HasPrefix(a, "0X") {
			keys[i] = strings.ToLower(a)
		}
	}
	if err = s.pool.QueryRow(ctx, selectFraud, string(mode), keys).Scan(&n); err != nil {
		return 0, fmt.Errorf("read fraud signals: %w", err)
	}
	return n, nil
}
