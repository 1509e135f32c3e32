package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/payments/internal/admission"
)

const (
	forgetOutages = `DELETE FROM sandbox_outages WHERE until <= clock_timestamp()`
	upsertOutage  = `INSERT INTO sandbox_outages (merchant_id, what, network, until) VALUES ($1, $2, $3, clock_timestamp() + $4::float8 * interval '1 second')
ON CONFLICT (merchant_id, what, network) DO UPDATE SET until = excluded.until RETURNING until`
	selectOutages = `SELECT merchant_id, what, network, until FROM sandbox_outages WHERE until > clock_timestamp()`
)

// Outages is the list of admission.NewOutages.
func (s *Store) Outages(ctx context.Context) ([]admission.Outage, error) {
	rows, err := s.pool.Query(ctx, selectOutages)
	if err != nil {
		return nil, fmt.Errorf("list outages of test mode: %w", err)
	}
	found, err := collectOutages(rows)
	return found, wrap(err, "list outages of test mode")
}

func collectOutages(rows pgx.Rows) ([]admission.Outage, error) {
	return pgx.CollectRows(rows, pgx.RowToStructByPos[admission.Outage])
}

// TakeDown begins an outage of a merchant's test mode, or ends it now where it lasts no time, and keeps the answer
// under the key of the request. idempotency.ErrTaken means that another request with the same key won.
func (s *Store) TakeDown(ctx context.Context, o admission.Outage, lasts time.Duration, k idempotency.Key, answer func(admission.Outage) (idempotency.Answer, error)) (kept idempotency.Answer, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, upsertOutage, o.MerchantID, o.What, o.Network, lasts.Seconds()).Scan(&o.Until); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, forgetOutages); err != nil {
			return err
		}
		if kept, err = answer(o); err != nil {
			return err
		}
		return idempotency.Put(ctx, tx, k, kept)
	})
	if k.Sent() && idempotency.IsTaken(err) {
		return kept, idempotency.ErrTaken
	}
	return kept, wrap(err, "take down a part of test mode")
}
