package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/sweeper"
)

const (
	missedSweepSQL = `SELECT ` + sweepColumns + `, coalesce((SELECT min(d.height) - 1 FROM deposits d WHERE d.sweep = s.id), 0)
FROM sweeps s WHERE s.id = $1 AND s.mode = 'live' AND s.state IN ('open', 'blocked')`

	// A transaction of another sweep of the same address is an own one, too.
	formsOfWalletSQL = `SELECT a.tx_hash FROM sweeps s JOIN outgoing_parts p ON p.sweep = s.id JOIN outgoing_attempts a ON a.outgoing = p.outgoing
WHERE s.wallet_id = $1 AND s.mode = 'live' AND s.network = $2 AND a.tx_hash <> ''`

	lostBySQL = `SELECT EXISTS (SELECT FROM lost_sweeps WHERE sweep = $1 AND tx_hash IN ($2, lower($2)))`

	loseSweepSQL = `INSERT INTO lost_sweeps (sweep, network, tx_hash, height, block_hash) VALUES ($1, $2, $3, $4, $5)`

	// The deposits that the foreign transaction did not spend may enter another sweep.
	unspentDepositsSQL = `UPDATE deposits d SET sweep = NULL WHERE d.sweep = $1
AND NOT EXISTS (SELECT FROM unnest($2::text[], $3::int[]) AS i(tx_hash, ordinal) WHERE i.tx_hash = d.tx_hash AND i.ordinal = d.ordinal)`

	foundSweepsSQL = `WITH found AS (DELETE FROM lost_sweeps WHERE network = $1 AND height > $2 RETURNING sweep)
UPDATE deposits SET sweep = NULL WHERE sweep IN (SELECT sweep FROM found)`
)

// Missed is a live sweep that has not ended, as a transaction of its address that spends its deposits, with the hashes
// of all forms that were signed for the address.
func (s Sweeps) Missed(ctx context.Context, id string) (o sweep.Outgoing, found bool, err error) {
	var r sweepRow
	err = s.pool.QueryRow(ctx, missedSweepSQL, id).Scan(append(r.fields(), &o.From)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return o, false, nil
	}
	if err != nil {
		return o, false, fmt.Errorf("reading a sweep: %w", err)
	}
	if o.Sweep, err = r.read(); err != nil {
		return o, false, err
	}
	o.Sender = o.Sweep.Address
	if o.Inputs, err = s.Outputs(ctx, []sweep.Sweep{o.Sweep}); err != nil {
		return o, false, err
	}
	rows, err := s.pool.Query(ctx, formsOfWalletSQL, o.Sweep.WalletID, o.Sweep.Network)
	if err != nil {
		return o, false, fmt.Errorf("reading the forms of an address: %w", err)
	}
	o.Attempts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (a sweep.Attempt, err error) {
		err = row.Scan(&a.TxHash)
		return a, err
	})
	return o, true, err
}

// LostBy reports whether a sweep has ended because a foreign transaction has taken its money.
func (s Sweeps) LostBy(ctx context.Context, id, hash string) (is bool, err error) {
	err = s.pool.QueryRow(ctx, lostBySQL, id, hash).Scan(&is)
	return is, err
}

// ErrScanMoved means that the scan of a network has changed while its chain was read.
var ErrScanMoved = errors.New("the scan of the network has changed meanwhile, or does not follow its chain: try again")

// EndLost ends a sweep, for an operator, whose money a foreign transaction has taken, as the caller has proved. No
// transaction of the sweep may be under way. On a network with outputs only the deposits that are spent are lost, and
// the others may enter another sweep. The journals keep the money: only a person can say where it went.
func (s Sweeps) EndLost(ctx context.Context, w sweep.Sweep, by sweep.Rival, note scanner.Note) error {
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if err := lockFree(ctx, tx, w.ID); err != nil {
			return err
		}
		if err := stillFinal(ctx, tx, w.Network, by.Receipt); err != nil {
			return err
		}
		if len(by.Spent) > 0 {
			if err := keepSpent(ctx, tx, w, by.Spent); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, endSweepSQL, w.ID, "released", "given up: the transaction "+by.TxHash+" has taken the money"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, loseSweepSQL, w.ID, w.Network, by.TxHash, by.Height, by.Block); err != nil {
			return fmt.Errorf("keeping a lost sweep: %w", err)
		}
		_, err := tx.Exec(ctx, auditSQL, note.Operator, "give up sweep", map[string]any{
			"sweep": w.ID, "network": w.Network, "address": w.Address, "asset": w.Asset, "units": w.Amount.String(), "spent": len(by.Spent),
			"foreign": by.TxHash, "height": by.Height, "block": by.Block, "reason": note.Reason,
		})
		return err
	})
	if errors.Is(err, sweeper.ErrStale) {
		err = ErrScanMoved
	}
	return err
}

// keepSpent frees the deposits of a sweep that are not spent.
func keepSpent(ctx context.Context, tx pgx.Tx, w sweep.Sweep, spent []sweep.Input) error {
	hashes, ordinals := make([]string, len(spent)), make([]int, len(spent))
	for i, in := range spent {
		hashes[i], ordinals[i] = in.TxHash, in.Output
	}
	if _, err := tx.Exec(ctx, unspentDepositsSQL, w.ID, hashes, ordinals); err != nil {
		return fmt.Errorf("freeing the deposits that are not spent: %w", err)
	}
	_, err := tx.Exec(ctx, keptSQL, w.ID)
	return err
}

// findSweeps frees the deposits of sweeps that were given up for a block above a fork: their money may be back.
func findSweeps(ctx context.Context, tx pgx.Tx, c scanner.Chain, fork int64) error {
	if c.Mode != tenant.Live {
		return nil
	}
	if _, err := tx.Exec(ctx, foundSweepsSQL, c.Network, fork); err != nil {
		return fmt.Errorf("freeing the deposits of lost sweeps: %w", err)
	}
	return nil
}
