package store

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/jackc/pgx/v5"

	"causeway.internal/services/wallets/internal/holdings"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/sweeper"
)

var (
	_ holdings.Outputs   = Refunds{}
	_ holdings.Elsewhere = Refunds{}
)

const (
	// The first addresses begin below everything that this system sent. A later one begins a day of blocks ago: while
	// replicas restart, one of them may pay an address that the leader does not know yet.
	beginFollowsSQL = `INSERT INTO holding_follows (network, address, height)
SELECT $1, f.address, CASE WHEN f.address = '' THEN $4::bigint ELSE greatest(0, least($4::bigint - 144, nullif(f.below, 0),
	(SELECT min(height) - 1 FROM station_outputs WHERE network = $1 AND station = f.address),
	(SELECT min(height) - 1 FROM outgoing_tx WHERE mode = 'live' AND network = $1 AND state IN ('mined', 'final', 'failed')
		AND NOT EXISTS (SELECT FROM holding_follows WHERE network = $1 AND address <> '')))) END
FROM unnest($2::text[], $3::bigint[]) AS f(address, below) ON CONFLICT DO NOTHING`

	// Only deposits on addresses that are read: others begin once they are.
	lateDepositsSQL = `UPDATE holding_follows f SET height = late.height - 1 FROM (
	SELECT min(d.height) AS height FROM ` + heldAccounts + ` AS c
	JOIN deposits d ON d.wallet_id = c.wallet_id AND d.mode = 'live' AND d.network = $1 AND d.address = c.address AND d.state <> 'reverted'
	WHERE d.height <= $2 AND NOT EXISTS (SELECT FROM holding_outputs o WHERE o.network = $1 AND o.tx_hash = d.tx_hash AND o.ordinal = d.ordinal)
) AS late WHERE f.network = $1 AND f.address = '' AND f.height >= late.height`

	followsSQL = `SELECT address, height FROM holding_follows WHERE network = $1 AND address = ANY($2)`

	depositedInSQL = `SELECT DISTINCT address FROM deposits WHERE mode = 'live' AND network = $1 AND height = $2 AND state <> 'reverted'`

	followOnSQL = `UPDATE holding_follows SET height = $3 WHERE network = $1 AND address = ANY($2) AND height = $3 - 1`

	paidOutputsSQL = `INSERT INTO holding_outputs (network, tx_hash, ordinal, address, amount, height)
SELECT $1, p.tx_hash, p.ordinal, p.address, p.amount::numeric, $2
FROM unnest($3::text[], $4::bigint[], $5::text[], $6::text[]) AS p(tx_hash, ordinal, address, amount) ON CONFLICT DO NOTHING`

	absentOutputsSQL = `INSERT INTO holding_outputs (network, tx_hash, ordinal, address, amount, height)
SELECT network, tx_hash, ordinal, address, 0, height FROM deposits
WHERE mode = 'live' AND network = $1 AND height = $2 AND state <> 'reverted' ON CONFLICT DO NOTHING`

	spendOutputsSQL = `UPDATE holding_outputs o SET spent = $2 FROM unnest($3::text[], $4::bigint[]) AS i(tx_hash, ordinal)
WHERE o.network = $1 AND o.tx_hash = i.tx_hash AND o.ordinal = i.ordinal AND o.spent IS NULL`

	unspentOutputsSQL = `SELECT address, sum(amount)::text FROM holding_outputs
WHERE network = $1 AND address = ANY($2) AND height <= $3 AND (spent IS NULL OR spent > $3) GROUP BY address`

	cutMovesSQL = `DELETE FROM holding_outputs WHERE network = $1 AND height > $2`

	cutSpendsSQL = `UPDATE holding_outputs SET spent = NULL, accepted = false WHERE network = $1 AND spent > $2`

	cutFollowsSQL = `UPDATE holding_follows SET height = $2 WHERE network = $1 AND height > $2`

	// The outputs that are thought to be unspent: those of a station that no ended transaction has spent, and those of
	// deposits that no sweep has moved, nor a person given up.
	elsewhereSQL = `SELECT o.network, k.place, o.address, o.tx_hash || ':' || o.ordinal, o.amount::text, o.spent FROM (
	SELECT s.network, s.tx_hash, s.ordinal, 'refund_station' AS place FROM station_outputs s
	UNION ALL
	SELECT d.network, d.tx_hash, d.ordinal, 'deposits' FROM deposits d
	WHERE d.mode = 'live' AND d.network = 'bitcoin' AND d.state <> 'reverted' AND d.sweep IS NULL
	UNION ALL
	SELECT d.network, d.tx_hash, d.ordinal, 'deposits' FROM sweeps w JOIN deposits d ON d.sweep = w.id
	WHERE w.mode = 'live' AND w.network = 'bitcoin' AND w.state IN ('open', 'blocked') AND d.state <> 'reverted') AS k
JOIN holding_outputs o ON o.network = k.network AND o.tx_hash = k.tx_hash AND o.ordinal = k.ordinal
WHERE o.spent IS NOT NULL AND NOT o.accepted AND NOT EXISTS (SELECT FROM outgoing_inputs i
	WHERE i.live AND i.mode = 'live' AND i.network = o.network AND i.tx_hash = o.tx_hash AND i.ordinal = o.ordinal)
ORDER BY o.spent, o.tx_hash, o.ordinal LIMIT 1000`

	acceptOutputSQL = `UPDATE holding_outputs SET accepted = true WHERE tx_hash || ':' || ordinal = $1 AND tx_hash = split_part($1, ':', 1)
AND spent IS NOT NULL AND NOT accepted RETURNING network, address, amount::text, spent`
)

// Follow implements holdings.Outputs.
func (s Refunds) Follow(ctx context.Context, network string, list []holdings.Followed, height int64) (map[string]int64, error) {
	out, addresses, below := map[string]int64{}, make([]string, len(list)), make([]int64, len(list))
	for i, f := range list {
		addresses[i], below[i] = f.Address, f.From
	}
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, beginFollowsSQL, network, addresses, below, height); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, lateDepositsSQL, network, height); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, followsSQL, network, addresses)
		if err != nil {
			return err
		}
		var address string
		var at int64
		_, err = pgx.ForEachRow(rows, []any{&address, &at}, func() error {
			out[address] = at
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading how far outputs are followed: %w", err)
	}
	return out, nil
}

// Deposited implements holdings.Outputs.
func (s Refunds) Deposited(ctx context.Context, network string, height int64) ([]string, error) {
	rows, err := s.pool.Query(ctx, depositedInSQL, network, height)
	if err != nil {
		return nil, fmt.Errorf("reading the addresses of a block's deposits: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// KeepMoves implements holdings.Outputs. The scan of the network is locked: a rewind that comes later cuts the outputs.
func (s Refunds) KeepMoves(ctx context.Context, network string, followed []string, height int64, m sweep.Moves) error {
	return s.tx(ctx, func(tx pgx.Tx) error {
		if err := stillFinal(ctx, tx, network, sweep.Receipt{Height: height, Block: m.Block}); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, followOnSQL, network, followed, height)
		if err != nil {
			return fmt.Errorf("following the outputs of block %d: %w", height, err)
		}
		if tag.RowsAffected() != int64(len(followed)) {
			return sweeper.ErrStale
		}
		return keepMoves(ctx, tx, network, height, m)
	})
}

// keepMoves keeps what a block makes before what it spends: it may spend its own outputs.
func keepMoves(ctx context.Context, tx pgx.Tx, network string, height int64, m sweep.Moves) error {
	var hashes, addresses, amounts, spentHashes []string
	var ordinals, spentOrdinals []int64
	for _, p := range m.Paid {
		hashes, ordinals = append(hashes, p.TxHash), append(ordinals, p.Output)
		addresses, amounts = append(addresses, p.To), append(amounts, p.Amount.String())
	}
	for _, p := range m.Spent {
		spentHashes, spentOrdinals = append(spentHashes, p.TxHash), append(spentOrdinals, p.Output)
	}
	var batch pgx.Batch
	batch.Queue(paidOutputsSQL, network, height, hashes, ordinals, addresses, amounts)
	batch.Queue(absentOutputsSQL, network, height)
	batch.Queue(spendOutputsSQL, network, height, spentHashes, spentOrdinals)
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("keeping the outputs of block %d: %w", height, err)
	}
	return nil
}

// Unspent implements holdings.Outputs.
func (s Refunds) Unspent(ctx context.Context, network string, addresses []string, height int64) (map[string]*big.Int, error) {
	out := map[string]*big.Int{}
	rows, err := s.pool.Query(ctx, unspentOutputsSQL, network, addresses, height)
	if err != nil {
		return nil, fmt.Errorf("adding outputs up: %w", err)
	}
	var address, sum string
	_, err = pgx.ForEachRow(rows, []any{&address, &sum}, func() (err error) {
		out[address], err = integer(sum)
		return err
	})
	return out, err
}

// SpentElsewhere implements holdings.Elsewhere.
func (s Refunds) SpentElsewhere(ctx context.Context) ([]holdings.Spent, error) {
	rows, err := s.pool.Query(ctx, elsewhereSQL)
	if err != nil {
		return nil, fmt.Errorf("listing outputs that were spent elsewhere: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[holdings.Spent])
}

// AcceptOutput notes that an operator knows who has spent an output.
func (s Refunds) AcceptOutput(ctx context.Context, output string, note scanner.Note) error {
	return s.tx(ctx, func(tx pgx.Tx) error {
		var network, address, units string
		var spent int64
		err := tx.QueryRow(ctx, acceptOutputSQL, output).Scan(&network, &address, &units, &spent)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("%.80q is no output that a final block spends, or it was accepted before", output)
		}
		if err != nil {
			return fmt.Errorf("accepting an output: %w", err)
		}
		_, err = tx.Exec(ctx, auditSQL, note.Operator, "accept spent output", map[string]any{
			"network": network, "address": address, "output": output, "units": units, "height": spent, "reason": note.Reason,
		})
		return err
	})
}
