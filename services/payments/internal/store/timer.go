package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/inbox"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/payout"
)

// Due implements app.Timers.
func (s *Store) Due(ctx context.Context, margin time.Duration, most int) ([]string, error) {
	rows, err := s.pool.Query(ctx, duePayments, margin.Seconds(), most)
	if err != nil {
		return nil, fmt.Errorf("find due payments: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("find due payments: %w", err)
	}
	return ids, nil
}

// DuePayouts implements app.Payouts.
func (s *Store) DuePayouts(ctx context.Context, most int) ([]payout.Payout, error) {
	if most <= 0 {
		return nil, nil
	}
	rows, err := s.pool.Query(ctx, duePayouts, most)
	if err != nil {
		return nil, fmt.Errorf("take due payouts: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanPayout)
	if err != nil {
		return nil, fmt.Errorf("take due payouts: %w", err)
	}
	out := make([]payout.Payout, 0, len(found))
	for _, o := range found {
		out = append(out, *o)
	}
	return out, nil
}

// Advance implements app.Progress.
func (s *Store) Advance(ctx context.Context, m wire.ScannedThrough) error {
	_, err := s.pool.Exec(ctx, upsertProgress, string(m.Mode), m.Network, m.Height, m.Finalized, m.BlockTime)
	if err != nil {
		return fmt.Errorf("note the progress of %s: %w", m.Network, err)
	}
	return nil
}

// Retain drops what is over its time: stored answers, and ids of messages. Call it every minute.
func (s *Store) Retain(ctx context.Context) error {
	if err := idempotency.Maintain(ctx, s.pool); err != nil {
		return err
	}
	return inbox.Rotate(ctx, s.pool)
}
