package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/wallet"
)

const (
	bookedSQL = `SELECT coalesce(sum(e.debit - e.credit), 0)::text, count(DISTINCT j.key)
FROM custody_journals j JOIN custody_entries e ON e.journal = j.key AND e.account = 'custody' WHERE j.mode = $1 AND j.deposit = $2`

	journalSQL = `INSERT INTO custody_journals (key, event, mode, merchant_id, wallet_id, deposit) VALUES ($1, $2, $3, $4, $5, $6)`

	entrySQL = `INSERT INTO custody_entries (journal, line, mode, merchant_id, account, network, asset, debit, credit)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::numeric, $9::text::numeric)`

	// Booked deposits, and those that are seen but not deep enough (the index deposits_pending) or not confirmed by a
	// second host (deposits_unsure), also of another crypto or on another network than the wallet's.
	balancesSQL = `SELECT network, asset, sum(available)::text, sum(pending)::text FROM (
	SELECT b.network, b.asset, b.amount AS available, 0::numeric AS pending FROM merchant_balances b WHERE b.mode = $1 AND b.merchant_id = $2
	UNION ALL
	SELECT d.network, d.asset, 0, d.amount FROM deposits d JOIN wallets w ON w.id = d.wallet_id
	WHERE d.mode = $1 AND w.mode = $1 AND w.merchant_id = $2
	AND d.state <> 'reverted' AND NOT (d.state = 'confirmed' AND d.due_height = 0)
	UNION ALL
	SELECT d.network, d.asset, 0, d.amount FROM deposits d JOIN wallets w ON w.id = d.wallet_id
	WHERE d.mode = $1 AND w.mode = $1 AND w.merchant_id = $2
	AND d.state = 'confirmed' AND d.due_height = 0 AND d.witness IN ('pending', 'contradicted')
) AS held GROUP BY network, asset ORDER BY asset, network`
)

// book writes the journal that a deposit of a wallet needs, if any. The wallet's row is locked, so journals of one
// deposit follow one another.
func (s *Store) book(ctx context.Context, tx pgx.Tx, w wallet.Wallet, d wallet.Deposit) error {
	var text string
	var journals int64
	if err := tx.QueryRow(ctx, bookedSQL, d.Mode, d.Key()).Scan(&text, &journals); err != nil {
		return fmt.Errorf("reading the journals of %s: %w", d.Key(), err)
	}
	booked, err := integer(text)
	if err != nil {
		return err
	}
	j, ok := wallet.Book(d, booked, journals)
	if !ok {
		return nil
	}
	var b pgx.Batch
	b.Queue(journalSQL, j.Key, j.Event, d.Mode, w.MerchantID, w.ID, d.Key())
	for i, e := range j.Entries {
		b.Queue(entrySQL, j.Key, i+1, d.Mode, w.MerchantID, e.Account, d.Network, d.Asset, e.Debit.String(), e.Credit.String())
	}
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("booking %s: %w", j.Key, err)
	}
	return nil
}

// Balances implements app.Wallets.
func (s *Store) Balances(ctx context.Context, o tenant.Owner) ([]wallet.Balance, error) {
	rows, err := s.pool.Query(ctx, balancesSQL, o.Mode, o.MerchantID)
	if err != nil {
		return nil, fmt.Errorf("reading balances: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (b wallet.Balance, err error) {
		var available, pending string
		if err := row.Scan(&b.Network, &b.Asset, &available, &pending); err != nil {
			return b, err
		}
		if b.Available, err = integer(available); err != nil {
			return b, err
		}
		b.Pending, err = integer(pending)
		return b, err
	})
}
