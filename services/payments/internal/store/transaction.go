package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/payments/internal/change"
)

const (
	// The lock of the payment holds its number of transactions below the limit.
	lockNaming = `SELECT 1 FROM payments WHERE id = $1 FOR UPDATE`

	namedAlready = `SELECT count(*), coalesce(bool_or(tx_hash = $2), false) FROM payment_transactions WHERE payment_id = $1`

	nameTransaction = `INSERT INTO payment_transactions (payment_id, tx_hash) VALUES ($1, $2)`

	noteUntraced = `UPDATE scan_progress SET untraced = $3 WHERE mode = $1 AND network = $2 AND untraced <> $3`
)

// NameTransaction is Keep of checkouts.Checkouts.
func (s *Store) NameTransaction(ctx context.Context, paymentID, txHash string, most int, c change.Command) (ok bool, err error) {
	msg, err := outbox.Encode(ctx, c.Name, c.ID, c.Payload)
	if err != nil {
		return false, err
	}
	written := false
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		ok, written = false, false
		if _, err := tx.Exec(ctx, lockNaming, paymentID); err != nil {
			return err
		}
		var count int
		var known bool
		if err := tx.QueryRow(ctx, namedAlready, paymentID, txHash).Scan(&count, &known); err != nil {
			return err
		}
		if ok = known || count < most; known || !ok {
			return nil
		}
		if _, err := tx.Exec(ctx, nameTransaction, paymentID, txHash); err != nil {
			return err
		}
		written = true
		return outbox.Insert(ctx, tx, msg)
	})
	if err != nil {
		return false, fmt.Errorf("store a payer's transaction: %w", err)
	}
	if written {
		s.Wake()
	}
	return ok, nil
}
