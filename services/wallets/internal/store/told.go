package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/wire"
)

// The reason of a refund that has not failed says why it waits, and is for operators alone.
const changedRefundsSQL = `SELECT id, version, mode, network, state, tx_hash, amount::text, fee::text, CASE state WHEN 'failed' THEN reason ELSE '' END AS reason,
changed_at FROM refunds WHERE changed_at >= $1 AND id > $2 ORDER BY id LIMIT $3`

// tellRefunds bounds the refunds of one transaction.
const tellRefunds = 500

// TellRefunds publishes again the newest report of each refund that has changed since a time, and gives it to each, for
// a payments whose database was restored.
func (s *Store) TellRefunds(ctx context.Context, since time.Time, each func(wire.RefundChanged) error) error {
	last := ""
	for {
		var list []wire.RefundChanged
		err := s.tx(ctx, func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, changedRefundsSQL, since, last, tellRefunds)
			if err != nil {
				return err
			}
			if list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[wire.RefundChanged]); err != nil {
				return err
			}
			for _, c := range list {
				if err := s.publishRefund(ctx, tx, c); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("publishing refunds again: %w", err)
		}
		for _, c := range list {
			if err := each(c); err != nil {
				return err
			}
			last = c.RefundID
		}
		if len(list) < tellRefunds {
			return nil
		}
	}
}
