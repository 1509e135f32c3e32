package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/operators"
)

const (
	selectLookups = `SELECT network, tx_hash, state, asked_at, sums, block_time FROM refund_lookups
WHERE mode = $1 AND address = $2 AND network = ANY($3) AND tx_hash = ANY($4)`

	askLookup = `INSERT INTO refund_lookups AS l (mode, network, tx_hash, address, request_id) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (mode, network, tx_hash, address) DO UPDATE SET request_id = excluded.request_id, asked_at = now(), state = '', sums = '{}', block_time = NULL`

	// An answer to an earlier question about the same transaction changes nothing.
	answerLookup = `UPDATE refund_lookups SET state = $2, sums = $3, block_time = $4 WHERE request_id = $1`

	forgetLookups = `DELETE FROM refund_lookups WHERE asked_at < now() - interval '7 days'`

	// Money whose refund an operator has named is not refunded once more meanwhile. A transaction that wallets did not
	// find, or that brought nothing to the address, keeps back nothing. Neither does a question from long ago.
	openLookup = `SELECT FROM refund_lookups WHERE mode = $1 AND network = $2 AND address = $3 AND asked_at > now() - interval '6 hours'
AND (state IN ('', 'unknown', 'not_final') OR state = 'final' AND sums <> '{}')`

	endLookup = `DELETE FROM refund_lookups WHERE mode = $1 AND network = $2 AND tx_hash = $3 AND address = $4`

	// A sweep, a funding, a refund, a withdrawal or a deposit of this system is no refund from elsewhere.
	useTransaction = `INSERT INTO refund_transactions (mode, network, tx_hash, payment_id)
SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT FROM ledger_journals WHERE key = ANY($5))
AND NOT EXISTS (SELECT FROM refunds WHERE tx_hash = $3 AND mode = $1 AND network = $2)
AND NOT EXISTS (SELECT FROM draws WHERE tx_hash = $3 AND mode = $1 AND network = $2)
AND NOT EXISTS (SELECT FROM deposits WHERE tx_hash = $3 AND mode = $1 AND network = $2)
AND NOT EXISTS (SELECT FROM archived_payments a WHERE a.names @> ARRAY['tx:' || $3::text]) ON CONFLICT DO NOTHING`
)

// Lookups implements operators.Store.
func (s *Store) Lookups(ctx context.Context, mode tenant.Mode, address string, networks, hashes []string) ([]operators.Lookup, error) {
	rows, err := s.pool.Query(ctx, selectLookups, string(mode), address, networks, hashes)
	if err != nil {
		return nil, fmt.Errorf("read the look-ups of a refund: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l operators.Lookup, err error) {
		err = row.Scan(&l.Network, &l.TxHash, &l.State, (*instant)(&l.AskedAt), &l.Sums, (*instant)(&l.BlockTime))
		return l, err
	})
	return found, wrap(err, "read the look-ups of a refund")
}

// KeepFound keeps the answer of wallets about a transaction.
func (s *Store) KeepFound(ctx context.Context, requestID string, state wire.TransferState, sums map[string]decimal.Decimal, at time.Time) error {
	raw, err := json.Marshal(sums)
	if err != nil {
		return err
	}
	_, err = s.pool.Exec(ctx, answerLookup, requestID, string(state), raw, nullTime(at))
	return wrap(err, "keep the answer about a refund")
}

// ForgetLookups deletes old questions.
func (s *Store) ForgetLookups(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, forgetLookups)
	return wrap(err, "forget look-ups")
}

// queueLookups queues the questions and the used transactions of a refund.
func queueLookups(batch *pgx.Batch, v change.View, r change.Result) {
	mode := string(v.Payment.Mode)
	for _, l := range r.Lookups {
		batch.Queue(askLookup, mode, l.Network, l.TxHash, l.Address, l.RequestID)
	}
	for _, t := range slices.Concat(r.Refunding, r.Differing) {
		batch.Queue(endLookup, mode, t.Network, t.TxHash, v.Payment.RefundAddress)
	}
	for _, t := range r.Refunding {
		prefix := accountPrefix(v.Payment.Mode)
		batch.Queue(useTransaction, mode, t.Network, t.TxHash, v.Payment.ID, []string{prefix + "sweep:" + t.TxHash, prefix + "gas:" + t.TxHash}).
			Exec(exactlyOne(change.ErrTransactionUsed))
	}
}
