package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/wallet"
)

var _ scanner.Past = (*Store)(nil)

const (
	positionSQL = `SELECT height, hash, block_time, finalized FROM cursors WHERE mode = $1 AND network = $2`

	// A header is preferred to a deposit, which has no parent.
	knownBlockSQL = `SELECT height, hash, parent, time FROM (
	(SELECT height, hash, parent, time, 0 AS rank FROM headers WHERE mode = $1 AND network = $2 AND height <= $3 ORDER BY height DESC LIMIT 1)
	UNION ALL
	(SELECT height, block_hash, '', block_time, 1 FROM deposits WHERE mode = $1 AND network = $2 AND height <= $3 AND state <> 'reverted'
	ORDER BY height DESC LIMIT 1)) AS k ORDER BY height DESC, rank LIMIT 1`

	// The whole transaction waits for the scanner's step at most this long.
	takeBackPatientSQL = `SET LOCAL lock_timeout = '10s'`

	takeBackSQL = `UPDATE cursors SET height = $3, hash = $4, block_time = $5, finalized = least(finalized, $3), moved_at = now()
WHERE mode = $1 AND network = $2`

	keepHeaderSQL = `INSERT INTO headers (mode, network, height, hash, parent, time) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`

	// A page of the deposits above a height; those that were reverted are out of the next page.
	goneSQL = aboveSQL + ` LIMIT $4`

	// A replaced one with a height was given up for what that block shows.
	goneOutgoingSQL = `SELECT id || ' ' || kind || ' ' || tx_hash || CASE state WHEN 'replaced' THEN ' given up' ELSE '' END FROM outgoing_tx
WHERE mode = $1 AND network = $2 AND height > $3 AND state IN ('final', 'failed', 'replaced') ORDER BY height, id LIMIT 100`

	auditSQL = `INSERT INTO audit (operator, action, detail) VALUES ($1, $2, $3)`
)

// At implements scanner.Past.
func (s *Store) At(ctx context.Context, c scanner.Chain) (at scanner.Cursor, found bool, err error) {
	err = s.pool.QueryRow(ctx, positionSQL, c.Mode, c.Network).Scan(&at.Height, &at.Hash, &at.Time, &at.Finalized)
	if errors.Is(err, pgx.ErrNoRows) {
		return at, false, nil
	}
	return at, err == nil, err
}

// Known implements scanner.Past.
func (s *Store) Known(ctx context.Context, c scanner.Chain, height int64) (h chain.Header, found bool, err error) {
	err = s.pool.QueryRow(ctx, knownBlockSQL, c.Mode, c.Network, height).Scan(&h.Height, &h.Hash, &h.Parent, &h.Time)
	if errors.Is(err, pgx.ErrNoRows) {
		return h, false, nil
	}
	return h, err == nil, err
}

// TakeBack implements scanner.Past. A concurrent scanner has the former position and can write nothing from there; it
// reads the new one when it takes the cursor over again.
func (s *Store) TakeBack(ctx context.Context, c scanner.Chain, plan scanner.Plan, note scanner.Note) (out scanner.TakenBack, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		out = scanner.TakenBack{}
		if _, err := tx.Exec(ctx, takeBackPatientSQL); err != nil {
			return err
		}
		at, err := lockCursor(ctx, tx, c)
		if err != nil {
			return err
		}
		if at.Height != plan.From.Height || at.Hash != plan.From.Hash {
			return scanner.ErrMoved
		}
		if err := s.cut(ctx, tx, c, plan); err != nil {
			return err
		}
		if out.Reverted, err = s.revertAbove(ctx, tx, c, plan.Fork, plan.To.Height); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, goneOutgoingSQL, c.Mode, c.Network, plan.Fork)
		if err != nil {
			return fmt.Errorf("reading outgoing transactions above the fork: %w", err)
		}
		if out.Outgoing, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return fmt.Errorf("reading outgoing transactions above the fork: %w", err)
		}
		if err := s.reverseRefunds(ctx, tx, c, plan.Fork); err != nil {
			return err
		}
		if err := findSweeps(ctx, tx, c, plan.Fork); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, auditSQL, note.Operator, "rewind", map[string]any{
			"mode": c.Mode, "network": c.Network, "from": at.Height, "fork": plan.Fork, "to": plan.To.Height, "hash": plan.To.Hash,
			"reverted": out.Reverted, "reason": note.Reason,
		})
		return err
	})
	if err == nil {
		s.wake()
	}
	return out, err
}

// cut moves the cursor to the plan's block and deletes the headers above it.
func (s *Store) cut(ctx context.Context, tx pgx.Tx, c scanner.Chain, plan scanner.Plan) error {
	to := plan.To
	if _, err := tx.Exec(ctx, takeBackSQL, c.Mode, c.Network, to.Height, to.Hash, to.Time); err != nil {
		return fmt.Errorf("moving the cursor: %w", err)
	}
	if _, err := tx.Exec(ctx, cutSQL, c.Mode, c.Network, to.Height); err != nil {
		return fmt.Errorf("cutting headers: %w", err)
	}
	if _, err := tx.Exec(ctx, keepHeaderSQL, c.Mode, c.Network, to.Height, to.Hash, to.Parent, to.Time); err != nil {
		return fmt.Errorf("storing the header: %w", err)
	}
	if _, err := tx.Exec(ctx, orphanSQL, c.Mode, c.Network, plan.Fork); err != nil {
		return fmt.Errorf("marking transfers: %w", err)
	}
	return nil
}

// revertAbove reverts the deposits above the fork, a page at a time.
func (s *Store) revertAbove(ctx context.Context, tx pgx.Tx, c scanner.Chain, fork, head int64) (reverted int, err error) {
	for {
		rows, err := tx.Query(ctx, goneSQL, c.Mode, c.Network, fork, againMost)
		if err != nil {
			return 0, fmt.Errorf("reading deposits above the fork: %w", err)
		}
		page, err := pgx.CollectRows(rows, toDeposit)
		if err != nil {
			return 0, fmt.Errorf("reading deposits above the fork: %w", err)
		}
		changed := make([]wallet.Deposit, 0, len(page))
		for _, d := range page {
			if next, ok := d.Revert(head); ok {
				changed = append(changed, next)
			}
		}
		if _, err := s.publish(ctx, tx, c, changed, head); err != nil {
			return 0, err
		}
		if reverted += len(changed); len(page) < againMost {
			return reverted, nil
		}
	}
}
