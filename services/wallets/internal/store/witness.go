package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/wallet"
)

var _ scanner.Testimony = (*Store)(nil)

const (
	unwitnessedSQL = `SELECT ` + depositColumns + `, a.key, (SELECT count(*) FROM deposits o WHERE o.mode = d.mode AND o.network = d.network
	AND o.tx_hash = d.tx_hash AND o.ordinal >= 1000000 AND o.ordinal < d.ordinal AND o.block_hash = d.block_hash AND o.state <> 'reverted'
	AND o.address = d.address AND o.contract = d.contract AND o.amount = d.amount)
FROM deposits d
JOIN addresses a ON a.mode = d.mode AND a.family = d.family AND a.address = d.address
WHERE d.mode = $1 AND d.network = $2 AND d.state = 'confirmed' AND d.witness = ANY($3)
AND d.witness IN ('pending', 'contradicted', 'alone') -- as the index says
ORDER BY d.witness = 'pending' DESC, random() LIMIT $4`

	inBlockSQL = `SELECT ` + depositColumns + ` FROM deposits d WHERE d.mode = $1 AND d.network = $2 AND d.tx_hash = $3 AND d.ordinal = $4
AND d.block_hash = $5 FOR UPDATE OF d`

	unsureSQL = `SELECT count(*) FILTER (WHERE witness = 'contradicted'), count(*) FILTER (WHERE witness = 'pending')
FROM deposits WHERE mode = $1 AND network = $2 AND state = 'confirmed' AND witness IN ('pending', 'contradicted')`
)

// Unwitnessed implements scanner.Testimony.
func (s *Store) Unwitnessed(ctx context.Context, c scanner.Chain, answers []wallet.Witness, limit int) (out []scanner.Testified, err error) {
	err = postgres.Planned(ctx, s.pool, postgres.InOrderSQL, func(rows pgx.Rows) (err error) {
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t scanner.Testified, err error) {
			t.Deposit, err = toDeposit(withMore{row, []any{&t.Key, &t.EqualBefore}})
			return t, err
		})
		return err
	}, unwitnessedSQL, c.Mode, c.Network, answers, limit)
	if err != nil {
		return nil, fmt.Errorf("reading deposits without a witness: %w", err)
	}
	return out, nil
}

// withMore is a row that has more columns after those of a deposit.
type withMore struct {
	pgx.CollectableRow
	more []any
}

func (r withMore) Scan(dest ...any) error { return r.CollectableRow.Scan(append(dest, r.more...)...) }

// Unsure implements scanner.Testimony.
func (s *Store) Unsure(ctx context.Context, c scanner.Chain) (contradicted, pending int, err error) {
	err = postgres.Planned(ctx, s.pool, postgres.InOrderSQL, func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&contradicted, &pending}, func() error { return nil })
		return err
	}, unsureSQL, c.Mode, c.Network)
	return contradicted, pending, err
}

// Testify implements scanner.Testimony. It does not change a deposit that left its block meanwhile.
func (s *Store) Testify(ctx context.Context, c scanner.Chain, d wallet.Deposit, answer wallet.Witness) error {
	err := s.tx(ctx, func(tx pgx.Tx) error {
		at, err := lockCursor(ctx, tx, c)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, inBlockSQL, c.Mode, c.Network, d.TxHash, d.Ordinal, d.BlockHash)
		if err != nil {
			return err
		}
		now, err := pgx.CollectExactlyOneRow(rows, toDeposit)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		next, changed := now.Witnessed(answer)
		if !changed {
			return nil
		}
		_, err = s.publish(ctx, tx, c, []wallet.Deposit{next}, at.Height)
		return err
	})
	if err != nil {
		return fmt.Errorf("storing the hosts' answer about %s: %w", d.Key(), err)
	}
	s.wake()
	return nil
}
