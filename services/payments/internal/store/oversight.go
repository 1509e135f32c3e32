package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/postgres"
)

// Statements for operators after a restore or in a drill. They read whole tables, which no request does.
const (
	patient      = `SET LOCAL statement_timeout = '30min'`
	payoutStates = `SELECT mode, state, count(*) FROM (SELECT mode, state FROM payouts
	UNION ALL SELECT o ->> 'mode', o ->> 'state' FROM archived_payments a, jsonb_array_elements(a.kept -> 'payouts') o) AS o GROUP BY mode, state ORDER BY mode, state`
	paymentStates       = `SELECT mode, status, count(*) FROM payments GROUP BY mode, status ORDER BY mode, status`
	unmatchedReferences = `SELECT r FROM unnest($1::text[]) WITH ORDINALITY AS x (r, n) WHERE NOT EXISTS (SELECT FROM payouts o WHERE o.reference = r)
	AND NOT EXISTS (SELECT FROM archived_payments a WHERE a.names @> ARRAY['payout:' || r]) ORDER BY n`
	unmatchedRefunds = `SELECT x.id, coalesce(r.state, '') FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS x (id, state, n)
LEFT JOIN (SELECT id, state FROM refunds UNION ALL SELECT id, state FROM draws) r ON r.id = x.id WHERE r.state IS DISTINCT FROM x.state ORDER BY x.n`
	assetSums    = `SELECT asset, sum(CASE side WHEN 'debit' THEN amount ELSE -amount END) FROM ledger_entries GROUP BY asset ORDER BY asset`
	changedSince = `SELECT p.id, p.merchant_id, p.mode, p.sequence FROM payments p
WHERE $1 <= ANY (p.changed_at) OR EXISTS (SELECT FROM history_rows h WHERE h.payment_id = p.id AND h.at >= $1)`
	confirmedAddresses = `SELECT mode, address FROM fraud_signals WHERE confirmed ORDER BY mode, address`
	selectExpiry       = `SELECT s.mode, s.network, s.height, s.block_time, (SELECT min(w.told_at) FROM scan_waiting w
	WHERE w.mode = s.mode AND w.network = s.network AND s.settled >= 0) FROM scan_progress s ORDER BY s.mode, s.network`
	// Claimable gifts that are older than the mark in references of gifts. The mark is the 16th character.
	unmarkedGifts = `SELECT count(*) OVER (), mode, id, status FROM payments WHERE type = 'gift' AND length(reference) < 16
AND claim <> 'claimed' AND status NOT IN ('settled', 'expired', 'cancelled') ORDER BY id DESC LIMIT 20`
	// The numbers up to the oldest progress that has waited for ten minutes, which an alert has named, count as taken
	// in. Progress that is known now may be older than the deposits that wallets has published again, and would close
	// the windows of their payments. So it is forgotten, and only progress that wallets publishes a minute after this,
	// by either clock, counts.
	lockProgress = `SELECT FROM scan_progress WHERE mode = $1 AND network = $2 FOR UPDATE`
	skipDeposits = `WITH gap AS (
	SELECT s.settled AS first, min(w.deposits) AS last FROM scan_progress s JOIN scan_waiting w USING (mode, network)
	WHERE s.mode = $1 AND s.network = $2 AND s.settled >= 0 AND w.deposits > s.settled AND w.told_at < now() - interval '10 minutes'
	GROUP BY s.settled
), forgotten AS (
	DELETE FROM scan_waiting w USING gap WHERE w.mode = $1 AND w.network = $2
)
UPDATE scan_progress s SET settled = gap.last, believed_from = greatest(now(), s.told_at + (now() - s.updated_at)) + interval '1 minute'
FROM gap WHERE s.mode = $1 AND s.network = $2 AND s.settled = gap.first
RETURNING gap.last - gap.first - (SELECT count(*) FROM scan_taken t
	WHERE t.mode = $1 AND t.network = $2 AND t.number > gap.first AND t.number <= gap.last)`
)

// Count is the number of rows in a state.
type Count struct {
	Mode  string `json:"mode"`
	State string `json:"state"`
	Count int64  `json:"count"`
}

// AssetSum is the sum of an asset's ledger entries, debits less credits.
type AssetSum struct {
	Asset string          `json:"asset"`
	Sum   decimal.Decimal `json:"sum"`
}

// Sequence is the number of the last event of a payment.
type Sequence struct {
	ObjectID   string `json:"objectId"`
	MerchantID string `json:"merchantId"`
	Mode       string `json:"mode"`
	Sequence   int64  `json:"sequence"`
}

// UnmarkedGift is a claimable gift whose reference has no mark. The reference is not shown.
type UnmarkedGift struct {
	Mode   string `json:"mode"`
	ID     string `json:"id"`
	Status string `json:"status"`
}

// Address is an address of a mode.
type Address struct {
	Mode    string `json:"mode"`
	Address string `json:"address"`
}

// Expiry is the time until which payments of a network may expire.
type Expiry struct {
	Mode    string     `json:"mode"`
	Network string     `json:"network"`
	Height  int64      `json:"height"`
	Until   time.Time  `json:"expiresUntil"`
	Waits   *time.Time `json:"waitsSince"` // since when progress waits for deposits; null where none is missing
}

// PayoutStates counts payouts by state.
func (s *Store) PayoutStates(ctx context.Context, each func(Count) error) error {
	var c Count
	return s.whole(ctx, payoutStates, []any{&c.Mode, &c.State, &c.Count}, func() error { return each(c) })
}

// PaymentStates counts payments by status.
func (s *Store) PaymentStates(ctx context.Context, each func(Count) error) error {
	var c Count
	return s.whole(ctx, paymentStates, []any{&c.Mode, &c.State, &c.Count}, func() error { return each(c) })
}

// AssetSums sums the ledger entries of each asset. Each sum must be zero.
func (s *Store) AssetSums(ctx context.Context, each func(AssetSum) error) error {
	var a AssetSum
	return s.whole(ctx, assetSums, []any{&a.Asset, &a.Sum}, func() error { return each(a) })
}

// ChangedSince returns the changed payments with the number of their last event.
func (s *Store) ChangedSince(ctx context.Context, from time.Time, each func(Sequence) error) error {
	var q Sequence
	return s.whole(ctx, changedSince, []any{&q.ObjectID, &q.MerchantID, &q.Mode, &q.Sequence}, func() error { return each(q) }, from)
}

// UnmarkedGifts returns the newest claimable gifts whose reference has no mark, and counts all of them.
func (s *Store) UnmarkedGifts(ctx context.Context, each func(UnmarkedGift) error) (n int64, err error) {
	var g UnmarkedGift
	err = s.whole(ctx, unmarkedGifts, []any{&n, &g.Mode, &g.ID, &g.Status}, func() error { return each(g) })
	return n, err
}

// ConfirmedAddresses returns the reported addresses that an operator has confirmed. payments holds money from them.
func (s *Store) ConfirmedAddresses(ctx context.Context, each func(Address) error) error {
	var a Address
	return s.whole(ctx, confirmedAddresses, []any{&a.Mode, &a.Address}, func() error { return each(a) })
}

// whole runs a query that reads a whole table, and calls each for every row.
func (s *Store) whole(ctx context.Context, sql string, into []any, each func() error, args ...any) error {
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, patient); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		_, err = pgx.ForEachRow(rows, into, each)
		return err
	})
	return wrap(err, "read for an operator")
}

// UnmatchedReferences returns the references that no payout has.
func (s *Store) UnmatchedReferences(ctx context.Context, references []string) ([]string, error) {
	rows, err := s.pool.Query(ctx, unmatchedReferences, references)
	if err != nil {
		return nil, fmt.Errorf("look for payouts: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return found, wrap(err, "look for payouts")
}

// RefundState is a refund and its state, "" for one that does not exist.
type RefundState struct {
	ID    string `json:"refundId"`
	State string `json:"state"`
}

// UnmatchedRefunds returns those of the refunds that have another state here, with that state.
func (s *Store) UnmatchedRefunds(ctx context.Context, list []RefundState) ([]RefundState, error) {
	var ids, states []string
	for _, r := range list {
		ids, states = append(ids, r.ID), append(states, r.State)
	}
	rows, err := s.pool.Query(ctx, unmatchedRefunds, ids, states)
	if err != nil {
		return nil, fmt.Errorf("look for refunds: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[RefundState])
	return found, wrap(err, "look for refunds")
}

// Expiries returns for each network the time until which its payments may expire.
func (s *Store) Expiries(ctx context.Context, each func(Expiry) error) error {
	var e Expiry
	return s.whole(ctx, selectExpiry, []any{&e.Mode, &e.Network, &e.Height, &e.Until, &e.Waits}, func() error { return each(e) })
}

// errNoGap refuses SkipDeposits where no deposit is missing.
var errNoGap = errors.New("nothing changed: no deposit of that network has been missing for ten minutes (`payments expiry` shows it)")

// SkipDeposits lets payments of a network expire again although deposit messages are lost, and returns the number of
// skipped messages. The first progress that wallets publishes a minute later settles them. It writes an audit entry.
func (s *Store) SkipDeposits(ctx context.Context, operator, mode, network, reason string) (skipped int64, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		// Progress that another transaction is just noting must be committed before the next statement forgets it.
		if _, err := tx.Exec(ctx, lockProgress, mode, network); err != nil {
			return err
		}
		switch err := tx.QueryRow(ctx, skipDeposits, mode, network).Scan(&skipped); {
		case errors.Is(err, pgx.ErrNoRows):
			return errNoGap
		case err != nil:
			return err
		}
		return s.audit(ctx, tx, operator, "expiry.skipped",
			map[string]any{"mode": mode, "network": network, "reason": reason, "skipped": skipped})
	})
	return skipped, wrap(err, "skip missing deposits")
}
