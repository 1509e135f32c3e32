package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/sweeper"
)

const (
	beginSearchSQL = `INSERT INTO station_searches (network, station, height) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`

	searchedSQL = `SELECT height FROM station_searches WHERE network = $1 AND station = $2`

	searchOnSQL = `UPDATE station_searches SET height = $3 WHERE network = $1 AND station = $2 AND height = $3 - 1`

	foundOutputSQL = `INSERT INTO station_outputs (network, station, tx_hash, ordinal, amount, height, block)
VALUES ($1, $2, $3, $4, $5::text::numeric, $6, $7) ON CONFLICT DO NOTHING`

	// Anybody can send dust to a station, so the largest outputs come first and their number is bounded.
	stationOutputsSQL = `SELECT s.tx_hash, s.ordinal, s.amount::text, s.block FROM station_outputs s WHERE s.network = $1 AND s.station = $2
AND NOT EXISTS (SELECT FROM outgoing_inputs i WHERE i.live AND i.mode = 'live' AND i.network = s.network
	AND i.tx_hash = s.tx_hash AND i.ordinal = s.ordinal) ORDER BY s.amount DESC, s.tx_hash, s.ordinal LIMIT 1000`

	// The inputs of a transaction stay its own for ever, so that nothing else needs to know of their outputs.
	spentOutputsSQL = `DELETE FROM station_outputs s USING outgoing_inputs i
WHERE i.outgoing = $1 AND s.network = i.network AND s.tx_hash = i.tx_hash AND s.ordinal = i.ordinal`

	cutOutputsSQL = `DELETE FROM station_outputs WHERE network = $1 AND height > $2`

	cutSearchSQL = `UPDATE station_searches SET height = $2 WHERE network = $1 AND height > $2`

	// After a fork a block may hold a refund below the height at which it was planned.
	cutFromSQL = `UPDATE outgoing_tx SET from_height = $2 WHERE mode = 'live' AND network = $1 AND from_height > $2 AND refund IS NOT NULL`
)

// Searched implements sweeper.StationStore.
func (s Refunds) Searched(ctx context.Context, network, station string, from int64) (height int64, err error) {
	if _, err = s.pool.Exec(ctx, beginSearchSQL, network, station, from); err != nil {
		return 0, fmt.Errorf("beginning the search for a station: %w", err)
	}
	if err = s.pool.QueryRow(ctx, searchedSQL, network, station).Scan(&height); err != nil {
		return 0, fmt.Errorf("reading the search for a station: %w", err)
	}
	return height, nil
}

// Found implements sweeper.StationStore. The scan of the network is locked: a rewind that comes later cuts the outputs.
func (s Refunds) Found(ctx context.Context, network, station string, height int64, b sweep.Paying) error {
	return s.tx(ctx, func(tx pgx.Tx) error {
		if err := stillFinal(ctx, tx, network, sweep.Receipt{Height: height, Block: b.Block}); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, searchOnSQL, network, station, height)
		if err != nil {
			return fmt.Errorf("moving the search for a station: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return sweeper.ErrStale
		}
		for _, out := range b.Outputs {
			if _, err := tx.Exec(ctx, foundOutputSQL, network, station, out.TxHash, out.Output, out.Amount.String(), height, b.Block); err != nil {
				return fmt.Errorf("keeping an output of a station: %w", err)
			}
		}
		return nil
	})
}

// StationOutputs implements sweeper.StationStore.
func (s Refunds) StationOutputs(ctx context.Context, network, station string) (list []sweep.Input, err error) {
	rows, err := s.pool.Query(ctx, stationOutputsSQL, network, station)
	if err != nil {
		return nil, fmt.Errorf("reading outputs of a station: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (out sweep.Input, err error) {
		var amount string
		if err := row.Scan(&out.TxHash, &out.Output, &amount, &out.Block); err != nil {
			return out, err
		}
		out.Amount, err = integer(amount)
		return out, err
	})
}

// unsearch takes the searches for outputs, and that for refunds, back below a fork.
func unsearch(ctx context.Context, tx pgx.Tx, c scanner.Chain, fork int64) error {
	if c.Mode != tenant.Live {
		return nil
	}
	for _, sql := range []string{cutOutputsSQL, cutSearchSQL, cutFromSQL, cutMovesSQL, cutSpendsSQL, cutFollowsSQL} {
		if _, err := tx.Exec(ctx, sql, c.Network, fork); err != nil {
			return fmt.Errorf("taking the search for outputs back: %w", err)
		}
	}
	return nil
}
