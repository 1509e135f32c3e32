package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/id"
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
)

const (
	// Each status is one short range of the index payments_list; the page is the newest of them. NULLS LAST is the index's
	// order and not the primary key's, which the planner would otherwise walk in search of a few payments of one merchant.
	listOwned = `SELECT found.id FROM unnest($3::text[]) AS s(status) CROSS JOIN LATERAL (
	SELECT p.id FROM payments p
	WHERE p.merchant_id = $1 AND p.mode = $2 AND p.status = s.status AND p.id >= $4 AND p.id < $5
		AND ($6 = '' OR p.type = $6) ORDER BY p.id DESC NULLS LAST LIMIT $7) AS found
ORDER BY found.id DESC LIMIT $7`
	listReview = `SELECT p.id FROM payments p WHERE p.status = 'needs_review' AND p.id >= $1 AND p.id < $2 AND ($3 = '' OR p.type = $3)
ORDER BY p.id DESC LIMIT $4`
	// Other statuses are looked up by the key alone, for operators: each page reads as far as it has to.
	listAll = `SELECT p.id FROM payments p WHERE p.status = ANY($1) AND p.id >= $2 AND p.id < $3 AND ($4 = '' OR p.type = $4)
ORDER BY p.id DESC LIMIT $5`
	listRows     = `SELECT d.payment_id, ` + depositColumns + ` FROM deposits d WHERE d.payment_id = ANY($1) ORDER BY d.first_seen_at, d.key`
	listPayouts  = `SELECT DISTINCT ON (o.payment_id) ` + payoutColumns + ` FROM payouts o WHERE o.payment_id = ANY($1) ORDER BY o.payment_id, o.attempt DESC`
	listHeads    = `SELECT mode, network, height, block_time FROM scan_progress`
	noteDecision = `INSERT INTO decisions (payment_id, version, operator, action, reason, tx_hash) VALUES ($1, $2, $3, $4, $5, $6)`
)

var listPayments = "SELECT " + selectColumns + " FROM payments p WHERE p.id = ANY($1) ORDER BY p.id DESC"

var _ app.Lists = (*Store)(nil)

// List implements app.Lists: one trip for the ids of the page, one for everything about them.
func (s *Store) List(ctx context.Context, f app.Filter) ([]app.View, error) {
	low, high := bounds(f)
	statuses := f.Statuses
	if len(statuses) == 0 {
		statuses = payment.Statuses()
	}
	names := make([]string, len(statuses))
	for i, status := range statuses {
		names[i] = string(status)
	}
	sql, args := listOwned, []any{f.Owner.MerchantID, string(f.Owner.Mode), names, low, high, string(f.Type), f.Limit}
	switch {
	case f.Owner.MerchantID != "":
	case len(names) == 1 && statuses[0] == payment.StatusNeedsReview:
		sql, args = listReview, []any{low, high, string(f.Type), f.Limit}
	default:
		sql, args = listAll, []any{names, low, high, string(f.Type), f.Limit}
	}
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("list payments: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(ids) == 0 {
		return nil, wrap(err, "list payments")
	}
	return s.views(ctx, ids)
}

func wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// bounds turns times and cursor into bounds of the id, which begins with the time: low included, high not.
func bounds(f app.Filter) (low, high string) {
	const lastID = id.Payment + "zzzzzzzzzzzzzzzzzzzzzzzzzzz" // after every id, in any collation
	low, high = id.Payment, lastID
	if !f.From.IsZero() {
		low = id.First(id.Payment, f.From.Add(time.Millisecond-1).Truncate(time.Millisecond))
	}
	if !f.To.IsZero() {
		high = id.First(id.Payment, f.To.Add(time.Millisecond-1).Truncate(time.Millisecond))
	}
	if f.Before != "" && f.Before < high {
		high = f.Before
	}
	return low, high
}

// views reads payments with everything that belongs to them, newest first.
func (s *Store) views(ctx context.Context, ids []string) ([]app.View, error) {
	var views []app.View
	deposits, last, heads := map[string][]payment.Deposit{}, map[string]*payout.Payout{}, map[payment.Mode]map[string]app.Head{}
	batch := &pgx.Batch{}
	batch.Queue(listPayments, ids).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (payment.Payment, error) { return s.scanPayment(row) })
		for _, p := range found {
			views = append(views, app.View{Payment: p})
		}
		return err
	})
	batch.Queue(listRows, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var of string
			d, err := scanDeposit(after{rows, &of})
			if err != nil {
				return err
			}
			deposits[of] = append(deposits[of], d)
		}
		return rows.Err()
	})
	batch.Queue(listPayouts, ids).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, s.scanPayout)
		for _, o := range found {
			last[o.PaymentID] = o
		}
		return err
	})
	batch.Queue(listHeads).Query(func(rows pgx.Rows) error {
		var mode payment.Mode
		var network string
		var h app.Head
		_, err := pgx.ForEachRow(rows, []any{&mode, &network, &h.Height, &h.Time}, func() error {
			if heads[mode] == nil {
				heads[mode] = map[string]app.Head{}
			}
			heads[mode][network] = h
			return nil
		})
		return err
	})
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("read listed payments: %w", err)
	}
	for i := range views {
		v := &views[i]
		v.Rows, v.Payout, v.Heads = deposits[v.Payment.ID], last[v.Payment.ID], heads[v.Payment.Mode]
	}
	return views, nil
}

// after is a row whose first column goes elsewhere.
type after struct {
	pgx.CollectableRow
	first *string
}

// Scan implements pgx.CollectableRow.
func (a after) Scan(dest ...any) error {
	return a.CollectableRow.Scan(append([]any{a.first}, dest...)...)
}
