package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/wallet"
)

var _ scanner.MempoolStore = (*Store)(nil)

const (
	waitsSQL = `SELECT m.tx_hash, m.inputs FROM mempool m WHERE m.mode = $1 AND m.network = $2 ORDER BY m.tx_hash, m.ordinal`

	// ownCursorSQL locks the cursor, so that the writers of a chain wait for each other, and reads its epoch.
	ownCursorSQL = `SELECT epoch, height FROM cursors WHERE mode = $1 AND network = $2 FOR UPDATE`

	// A transaction in a block leaves the mempool table. A block that leaves the chain does not bring its transactions
	// back here: the mempool must show them again.
	minedSQL = `DELETE FROM mempool m USING deposits d WHERE m.mode = $1 AND m.network = $2 AND d.mode = m.mode AND d.network = m.network
AND d.tx_hash = m.tx_hash AND d.ordinal = m.ordinal AND NOT (d.state = 'reverted' AND d.height = 0)`

	presentSQL = `UPDATE mempool SET absent_since = NULL WHERE mode = $1 AND network = $2 AND absent_since IS NOT NULL
AND NOT tx_hash = ANY(coalesce($3, ARRAY[]::text[]))`

	absentSQL = `UPDATE mempool SET absent_since = now() WHERE mode = $1 AND network = $2 AND absent_since IS NULL AND tx_hash = ANY($3)`

	// A replaced transaction is reverted at once, a missing one after the grace.
	missedSQL = `SELECT ` + depositColumns + ` FROM deposits d JOIN mempool m ON m.mode = d.mode AND m.network = d.network
AND m.tx_hash = d.tx_hash AND m.ordinal = d.ordinal WHERE m.mode = $1 AND m.network = $2
AND (m.tx_hash = ANY($3) OR m.absent_since < now() - $4 * interval '1 second')
ORDER BY d.tx_hash, d.ordinal FOR UPDATE OF d, m`

	leftMempoolSQL = `DELETE FROM mempool WHERE mode = $1 AND network = $2 AND tx_hash = $3 AND ordinal = $4`

	waitSQL = `INSERT INTO mempool (mode, network, tx_hash, ordinal, inputs) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (mode, network, tx_hash, ordinal) DO UPDATE SET inputs = excluded.inputs, absent_since = NULL`
)

// Waits implements scanner.MempoolStore.
func (s *Store) Waits(ctx context.Context, c scanner.Chain) ([]scanner.Waiting, error) {
	rows, err := s.pool.Query(ctx, waitsSQL, c.Mode, c.Network)
	if err != nil {
		return nil, fmt.Errorf("reading waiting deposits: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (w scanner.Waiting, err error) {
		return w, row.Scan(&w.TxHash, &w.Inputs)
	})
	if err != nil {
		return nil, fmt.Errorf("reading waiting deposits: %w", err)
	}
	return slices.CompactFunc(list, func(a, b scanner.Waiting) bool { return a.TxHash == b.TxHash }), nil
}

// Mempool implements scanner.MempoolStore.
func (s *Store) Mempool(ctx context.Context, l scanner.Lease, look scanner.Look, grace time.Duration) error {
	woken := false
	err := s.tx(ctx, func(tx pgx.Tx) error {
		var epoch, height int64
		err := tx.QueryRow(ctx, ownCursorSQL, l.Mode, l.Network).Scan(&epoch, &height)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("%s was never scanned", l.Chain)
		}
		if err != nil {
			return fmt.Errorf("locking the cursor: %w", err)
		}
		if epoch != l.Epoch {
			return scanner.ErrFenced
		}
		if _, err := tx.Exec(ctx, minedSQL, l.Mode, l.Network); err != nil {
			return fmt.Errorf("deleting mined transactions: %w", err)
		}
		found, err := s.wait(ctx, tx, l.Chain, look, height)
		if err != nil {
			return err
		}
		gone, err := s.miss(ctx, tx, l.Chain, look, height, grace)
		if err != nil {
			return err
		}
		woken, err = s.publish(ctx, tx, l.Chain, append(found, gone...), height)
		return err
	})
	if err == nil && woken {
		s.wake()
	}
	return err
}

// wait makes deposits of the transactions that were found. It skips those in a block.
func (s *Store) wait(ctx context.Context, tx pgx.Tx, c scanner.Chain, look scanner.Look, head int64) (changed []wallet.Deposit, err error) {
	if len(look.Found) == 0 {
		return nil, nil
	}
	network, ok := money.NetworkOf(c.Network)
	if !ok {
		return nil, fmt.Errorf("unknown network %q", c.Network)
	}
	inputs, step := map[string][]string{}, scanner.Step{Headers: make([]chain.Header, 1)}
	for _, w := range look.Found {
		inputs[w.TxHash] = w.Inputs
		step.Transfers = append(step.Transfers, w.Transfers...)
	}
	ours, err := s.sightings(ctx, tx, c, network.Family, step)
	if err != nil {
		return nil, err
	}
	known, err := s.known(ctx, tx, c, ours)
	if err != nil {
		return nil, err
	}
	now := s.now()
	for _, sight := range ours {
		next, told := wallet.Wait(c.Mode, network, sight, head, now), true
		if before, ok := known[sight.ID]; ok {
			next, told = before.WaitAgain(sight, head)
		} else if s.set.Found != nil {
			s.set.Found(next)
		}
		if !told {
			continue
		}
		changed = append(changed, next)
		if _, err := tx.Exec(ctx, waitSQL, c.Mode, c.Network, sight.TxHash, sight.Ordinal, inputs[sight.TxHash]); err != nil {
			return nil, fmt.Errorf("storing waiting transactions: %w", err)
		}
	}
	return changed, nil
}

// miss reverts transactions that the mempool has lost. While the scan is below the node's chain none counts as lost: a
// block that is not scanned yet may hold it.
func (s *Store) miss(ctx context.Context, tx pgx.Tx, c scanner.Chain, look scanner.Look, height int64, grace time.Duration) (changed []wallet.Deposit, err error) {
	if height < look.Height {
		return nil, nil
	}
	for sql, list := range map[string][]string{presentSQL: look.Absent, absentSQL: look.Absent} {
		if _, err := tx.Exec(ctx, sql, c.Mode, c.Network, list); err != nil {
			return nil, fmt.Errorf("storing missing transactions: %w", err)
		}
	}
	rows, err := tx.Query(ctx, missedSQL, c.Mode, c.Network, look.Replaced, grace.Seconds())
	if err != nil {
		return nil, fmt.Errorf("reading lost deposits: %w", err)
	}
	gone, err := pgx.CollectRows(rows, toDeposit)
	if err != nil {
		return nil, fmt.Errorf("reading lost deposits: %w", err)
	}
	for _, d := range gone {
		next, ok := d.Revert(height)
		if !ok {
			continue
		}
		changed = append(changed, next)
		if _, err := tx.Exec(ctx, leftMempoolSQL, c.Mode, c.Network, d.TxHash, d.Ordinal); err != nil {
			return nil, fmt.Errorf("deleting lost transactions: %w", err)
		}
	}
	return changed, nil
}
