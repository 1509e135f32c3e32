package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
)

const (
	upsertFraud = `INSERT INTO fraud_signals AS f (mode, address, merchants, reports, version, at, confirmed)
VALUES ($1, $2, $3, $4, $5, $6, coalesce($7::boolean, false))
ON CONFLICT (mode, address) DO UPDATE SET merchants = excluded.merchants, reports = excluded.reports, version = excluded.version, at = excluded.at,
	confirmed = coalesce($7::boolean, f.confirmed)
WHERE f.version < excluded.version`
	// Of several questions at once. OFFSET makes PostgreSQL look each address up by the index.
	selectFraud = `SELECT DISTINCT k.place FROM unnest($1::int[], $2::text[], $3::text[]) AS k(place, mode, address),
	LATERAL (SELECT FROM fraud_signals f WHERE f.mode = k.mode AND f.address = k.address AND f.confirmed OFFSET 0) AS f`
)

// NoteFraud keeps a signal unless a newer one of its mode and address is there.
func (s *Store) NoteFraud(ctx context.Context, m wire.FraudSignal) error {
	if _, err := s.pool.Exec(ctx, upsertFraud, string(m.Mode), m.Address, m.Merchants, m.Reports, m.Version, m.OccurredAt, m.Confirmed); err != nil {
		return fmt.Errorf("write a fraud signal: %w", err)
	}
	return nil
}

// suspects are the addresses of one question.
type suspects struct {
	mode      tenant.Mode
	addresses []string
}

// FraudConfirmed implements screen.Signals.
func (s *Store) FraudConfirmed(ctx context.Context, mode tenant.Mode, addresses []string) (confirmed bool, err error) {
	if len(addresses) == 0 {
		return false, nil
	}
	confirmed, err = s.frauds.Ask(ctx, suspects{mode, addresses})
	return confirmed, wrap(err, "read fraud signals")
}

func (s *Store) fraudsConfirmed(ctx context.Context, all []suspects) ([]bool, error) {
	var places []int
	var modes, keys []string
	for i, q := range all {
		for _, a := range q.addresses {
			if strings.HasPrefix(a, "0x") || strings.HasPrefix(a, "0X") { // the form in which wire.FraudSignal names addresses
				a = strings.ToLower(a)
			}
			places, modes, keys = append(places, i), append(modes, string(q.mode)), append(keys, a)
		}
	}
	confirmed := make([]bool, len(all))
	err := postgres.Planned(ctx, s.pool, postgres.OnePlanSQL, func(rows pgx.Rows) error {
		var place int
		_, err := pgx.ForEachRow(rows, []any{&place}, func() error {
			confirmed[place] = true
			return nil
		})
		return err
	}, selectFraud, places, modes, keys)
	return confirmed, err
}
