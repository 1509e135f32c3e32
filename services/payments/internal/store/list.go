package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/refund"
	"causeway.internal/services/payments/internal/views"
)

// Lists with a filter are read from the index payments_lanes (migration 00025). A run is the payments of one status,
// type, mode and merchant, newest first. The statements use the collation of that index. With the collation of the
// primary key, the planner would walk the primary key in search of a few payments.
const (
	// The columns of filters, and the table of the payment: a page reads it there alone.
	filtered   = `id, reference, merchant_id, mode, type, status, hold, exception, family, address, payer_index, account_index, merchant_reference`
	places     = `(SELECT ` + filtered + `, false AS archived FROM ONLY payments UNION ALL SELECT ` + filtered + `, true FROM archived_payments) AS p`
	findPlaces = `SELECT p.id, p.archived FROM ` + places + ` `

	merchantsRuns = `SELECT found.id, found.archived FROM unnest($2::text[]) AS m(mode) CROSS JOIN unnest($3::text[]) AS s(status) CROSS JOIN unnest($4::text[]) AS t(type)
CROSS JOIN LATERAL (
	SELECT p.id, p.archived FROM ` + places + `
	WHERE p.status = s.status AND p.type = t.type AND p.mode = m.mode AND p.merchant_id = $1 AND p.id COLLATE "C" >= $5 AND p.id COLLATE "C" < $6
	ORDER BY p.id COLLATE "C" DESC LIMIT $7) AS found
ORDER BY found.id COLLATE "C" DESC LIMIT $7`
	// All payments of a merchant, which most lists are, have an index in their order, payments_newest. It takes one scan
	// where the runs take fifty.
	merchantsNewest = ` FROM payments p WHERE p.merchant_id = $1 AND p.mode = $2 AND p.type = ANY($3) AND p.id COLLATE "C" >= $4 AND p.id COLLATE "C" < $5
ORDER BY p.id COLLATE "C" DESC LIMIT $6`
	// Some payments of all merchants, for operators. It skips from run to run, keeps the runs with the newest payments,
	// and merges them. So its cost grows with the runs and the page, not with the payments. %[1]s is a condition.
	someRuns = `WITH RECURSIVE run AS (
	SELECT s.status, t.type, f.mode, f.merchant_id FROM unnest($1::text[]) AS s(status) CROSS JOIN unnest($2::text[]) AS t(type) CROSS JOIN LATERAL (
		SELECT p.mode, p.merchant_id FROM payments p WHERE p.status = s.status AND p.type = t.type ORDER BY p.mode, p.merchant_id LIMIT 1) AS f
	UNION ALL
	SELECT r.status, r.type, f.mode, f.merchant_id FROM run r CROSS JOIN LATERAL (
		SELECT p.mode, p.merchant_id FROM payments p
		WHERE p.status = r.status AND p.type = r.type AND (p.mode, p.merchant_id) > (r.mode, r.merchant_id)
		ORDER BY p.mode, p.merchant_id LIMIT 1) AS f
), newest AS (
	SELECT r.*, f.id FROM run r CROSS JOIN LATERAL (
		SELECT p.id FROM payments p
		WHERE p.status = r.status AND p.type = r.type AND p.mode = r.mode AND p.merchant_id = r.merchant_id AND p.id COLLATE "C" >= $3 AND p.id COLLATE "C" < $4%[1]s
		ORDER BY p.id COLLATE "C" DESC LIMIT 1) AS f
	WHERE r.mode = ANY($6)
	ORDER BY f.id COLLATE "C" DESC LIMIT $5
)
SELECT found.id, found.archived FROM newest n CROSS JOIN LATERAL (
	SELECT p.id, p.archived FROM ` + places + `
	WHERE p.status = n.status AND p.type = n.type AND p.mode = n.mode AND p.merchant_id = n.merchant_id AND p.id COLLATE "C" >= $3 AND p.id COLLATE "C" <= n.id%[1]s
	ORDER BY p.id COLLATE "C" DESC LIMIT $5) AS found
ORDER BY found.id COLLATE "C" DESC LIMIT $5`
	// Every filter of a list but a run. The statements that end with it find payments by one filter, through its index,
	// and hold the few that it finds against the others. Null filters nothing.
	others = `p.merchant_id = coalesce($1, p.merchant_id) AND p.mode = ANY($2) AND p.status = ANY($3) AND p.type = ANY($4)
	AND p.id COLLATE "C" >= $5 AND p.id COLLATE "C" < $6 AND ($8::text IS NULL OR p.address = $8)
	AND ($11::text IS NULL OR p.exception = $11) AND ($12::text IS NULL OR p.merchant_reference = $12)
	ORDER BY p.id COLLATE "C" DESC LIMIT $7`
	within = `($10::text IS NULL OR EXISTS (SELECT FROM deposits d WHERE d.payment_id = p.id AND d.tx_hash = $10)
	OR EXISTS (SELECT FROM archived_payments a WHERE a.id = p.id AND 'tx:' || $10 = ANY (a.names))) AND ` + others
	ofPayer  = `($9::bytea[] IS NULL OR p.payer_index = ANY($9)) AND `
	narrowed = ofPayer + within
	// The modes and the families are few, and the index of addresses begins with them.
	byAddress     = findPlaces + `WHERE p.family = ANY($13) AND p.address = $8 AND ` + narrowed
	byTransaction = findPlaces + `WHERE p.id = ANY(ARRAY(SELECT d.payment_id FROM deposits d WHERE d.tx_hash = $10
	UNION ALL SELECT a.id FROM archived_payments a WHERE a.names @> ARRAY['tx:' || $10])) AND ` + ofPayer + others
	byException = findPlaces + `WHERE p.exception <> '' AND p.exception = $11 AND ` + narrowed
	byReference = findPlaces + `WHERE p.reference = $13 AND ` + narrowed
	// The index has the payments with a reference alone.
	byMerchants = findPlaces + `WHERE p.merchant_reference <> '' AND p.merchant_reference = $12 AND ` + narrowed
	byPaidOut   = findPlaces + `WHERE p.id = ANY(ARRAY(SELECT o.payment_id FROM payouts o WHERE o.id = $13
	UNION ALL SELECT o.payment_id FROM payouts o WHERE o.reference = $13
	UNION ALL SELECT a.id FROM archived_payments a WHERE a.names @> ARRAY['payout:' || $13::text])) AND ` + narrowed
	// As byPayer, of the last digits of accounts. The index has the payments alone that money has reached.
	byAccountEnds = `SELECT found.id, found.archived FROM unnest($9::bytea[]) AS i(account) CROSS JOIN LATERAL (
	` + findPlaces + `WHERE p.account_index = i.account
	AND p.status IN ('confirming', 'confirmed', 'settling', 'settled', 'needs_review', 'refunded') AND ` + within + `) AS found
ORDER BY found.id COLLATE "C" DESC LIMIT $7`
	// Of a payer with several indexes, under several master keys, each gives a page in the order of ids. A condition on
	// all of them besides would give up that order.
	byPayer = `SELECT found.id, found.archived FROM unnest($9::bytea[]) AS i(payer) CROSS JOIN LATERAL (
	` + findPlaces + `WHERE p.payer_index = i.payer AND ` + within + `) AS found
ORDER BY found.id COLLATE "C" DESC LIMIT $7`

	listRows     = `SELECT d.payment_id, ` + depositColumns + ` FROM (` + depositsOf + `= ANY($1)` + keptDeposits + `= ANY($1)) AS d ORDER BY d.first_seen_at, d.key`
	listPayouts  = `SELECT DISTINCT ON (o.payment_id) ` + payoutColumns + ` FROM (` + payoutsOf + `= ANY($1)` + keptPayouts + `= ANY($1)) AS o ORDER BY o.payment_id, o.attempt DESC`
	listHeads    = `SELECT mode, network, height, block_time FROM scan_progress`
	noteDecision = `INSERT INTO decisions (payment_id, version, operator, action, reason, tx_hash) VALUES ($1, $2, $3, $4, $5, $6)`
)

var (
	listOwned  = pageOf(shownColumns, merchantsRuns)
	listNewest = "SELECT " + shownColumns + merchantsNewest

	listOwnedByAddress     = pageOf(shownColumns, byAddress)
	listOwnedByTransaction = pageOf(shownColumns, byTransaction)
	listOwnedByPayer       = pageOf(shownColumns, byPayer)

	listOwnedByMerchants = pageOf(shownColumns, byMerchants)

	listMerchants     = pageOf(reviewedColumns, merchantsRuns)
	listByAddress     = pageOf(reviewedColumns, byAddress)
	listByTransaction = pageOf(reviewedColumns, byTransaction)
	listByException   = pageOf(reviewedColumns, byException)
	listByReference   = pageOf(reviewedColumns, byReference)
	listByMerchants   = pageOf(reviewedColumns, byMerchants)
	listByPayout      = pageOf(reviewedColumns, byPaidOut)
	listByAccount     = pageOf(reviewedColumns, byAccountEnds)

	listEvery = "SELECT " + reviewedColumns + " FROM payments p WHERE p.id >= $1 AND p.id < $2 ORDER BY p.id DESC LIMIT $3"
	listSome  = pageOf(reviewedColumns, fmt.Sprintf(someRuns, ""))
	listHolds = pageOf(reviewedColumns, fmt.Sprintf(someRuns, " AND p.hold <> ''"))
)

// pageOf reads the payments that a statement finds, by the primary key of the table of each. The planner assumes that
// an array is small, so its plan for any arguments is the right one.
func pageOf(columns, finds string) string {
	return "WITH found AS MATERIALIZED (\n" + finds + "\n)\nSELECT " + columns +
		" FROM ONLY payments p WHERE p.id = ANY(ARRAY(SELECT id FROM found WHERE NOT archived))\nUNION ALL SELECT " + columns +
		" FROM archived_payments p WHERE p.id = ANY(ARRAY(SELECT id FROM found WHERE archived)) ORDER BY id DESC"
}

// List implements views.Store and operators.Store.
func (s *Store) List(ctx context.Context, f views.Filter) ([]change.View, error) {
	if f.Operated {
		return s.listReviewed(ctx, f)
	}
	low, high := bounds(f)
	args := []any{f.Owner.MerchantID, []string{string(f.Owner.Mode)}, statusNames(f.Statuses), typeNames(f.Type, payment.Types()), low, high, f.Limit}
	var payer [][]byte
	if f.Payer != "" {
		payer = append([][]byte{}, s.keys.Blinds(f.Payer, blindPlace(f.Owner.Mode, f.Owner.MerchantID))...) // null would filter nothing
	}
	narrow := slices.Concat(args, []any{nullText(f.Address), payer, nullText(f.TxHash), nil, nullText(f.Merchant)})
	switch {
	case f.Address != "":
		return s.list(ctx, shown, f.Limit, listOwnedByAddress, append(narrow, families())...)
	case f.TxHash != "":
		return s.list(ctx, shown, f.Limit, listOwnedByTransaction, narrow...)
	case f.Merchant != "":
		return s.list(ctx, shown, f.Limit, listOwnedByMerchants, narrow...)
	case f.Payer != "":
		return s.listInOrder(ctx, shown, f.Limit, listOwnedByPayer, narrow...)
	case len(f.Statuses) == 0 && f.Type == "":
		return s.list(ctx, shown, f.Limit, listNewest, f.Owner.MerchantID, string(f.Owner.Mode), typeNames("", payment.Types()), low, high, f.Limit)
	}
	return s.list(ctx, shown, f.Limit, listOwned, args...)
}

// listReviewed is List for operators.
func (s *Store) listReviewed(ctx context.Context, f views.Filter) ([]change.View, error) {
	low, high := bounds(f)
	statuses, types, modes := statusNames(f.Statuses), typeNames(f.Type, payment.StoredTypes()), modeNames(f.Owner.Mode)
	narrow := []any{
		nullText(f.Owner.MerchantID), modes, statuses, types, low, high, f.Limit, nullText(f.Address), [][]byte(nil), nullText(f.TxHash),
		nullText(string(f.Exception)), nullText(f.Merchant),
	}
	switch {
	case f.Reference != "":
		return s.list(ctx, reviewed, f.Limit, listByReference, append(narrow, f.Reference)...)
	case f.Payout != "":
		return s.list(ctx, reviewed, f.Limit, listByPayout, append(narrow, f.Payout)...)
	case f.AccountEnds != "":
		narrow[8] = s.keys.Blinds(f.AccountEnds, accountPlace(f.Owner.Mode))
		return s.listInOrder(ctx, reviewed, f.Limit, listByAccount, narrow...)
	case f.Address != "":
		return s.list(ctx, reviewed, f.Limit, listByAddress, append(narrow, families())...)
	case f.TxHash != "":
		return s.list(ctx, reviewed, f.Limit, listByTransaction, narrow...)
	case f.Merchant != "":
		return s.list(ctx, reviewed, f.Limit, listByMerchants, narrow...)
	case f.Exception != payment.None: // of a merchant with few payments, those are read in place of all with the exception
		return s.listAnew(ctx, reviewed, f.Limit, listByException, narrow...)
	case f.Owner.MerchantID != "":
		return s.list(ctx, reviewed, f.Limit, listMerchants, f.Owner.MerchantID, modes, statuses, types, low, high, f.Limit)
	case len(f.Statuses) == 0 && f.Type == "" && f.Owner.Mode == "":
		return s.list(ctx, reviewed, f.Limit, listEvery, low, high, f.Limit)
	}
	return s.list(ctx, reviewed, f.Limit, listSome, statuses, types, low, high, f.Limit, modes)
}

// modeNames are the mode of a filter, or both when it has none.
func modeNames(one tenant.Mode) []string {
	if one != "" {
		return []string{string(one)}
	}
	return []string{string(tenant.Live), string(tenant.Test)}
}

// families are the names of the families of addresses.
func families() (names []string) {
	for _, f := range money.Families() {
		names = append(names, string(f))
	}
	return names
}

// list reads a page of at most most payments, and their deposits and payouts in a second round trip, if they have any.
// One plan of its statements is right for any arguments. The planner does not know that: it assumes that unknown bounds
// and an unknown limit select a fixed share of the table, finds such a plan dear, and so plans each page of a long list
// anew.
func (s *Store) list(ctx context.Context, set func(column) bool, most int, sql string, args ...any) (views []change.View, err error) {
	if err := postgres.Planned(ctx, s.pool, postgres.OnePlanSQL, func(rows pgx.Rows) (err error) {
		views, err = s.page(rows, set, most)
		return err
	}, sql, args...); err != nil {
		return nil, wrap(err, "list payments")
	}
	return views, wrap(s.complete(ctx, views), "read deposits and payouts of listed payments")
}

// listAnew is list of a statement whose best plan depends on its arguments.
func (s *Store) listAnew(ctx context.Context, set func(column) bool, most int, sql string, args ...any) ([]change.View, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("list payments: %w", err)
	}
	views, err := s.page(rows, set, most)
	if err != nil {
		return nil, fmt.Errorf("list payments: %w", err)
	}
	return views, wrap(s.complete(ctx, views), "read deposits and payouts of listed payments")
}

// The planner believes that every payer has few payments, and sorts all of them where one has many. Without bitmaps it
// reads them in the order of the index, which it can leave after a page.
const withoutBitmaps = `SET LOCAL enable_bitmapscan = off`

// listInOrder is list of a statement that has to read an index in its order.
func (s *Store) listInOrder(ctx context.Context, set func(column) bool, most int, sql string, args ...any) (views []change.View, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, withoutBitmaps); err != nil {
			return fmt.Errorf("list payments: %w", err)
		}
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return fmt.Errorf("list payments: %w", err)
		}
		views, err = s.page(rows, set, most)
		return err
	})
	if err != nil {
		return nil, err
	}
	return views, wrap(s.complete(ctx, views), "read deposits and payouts of listed payments")
}

// page reads the payments of a page.
func (s *Store) page(rows pgx.Rows, set func(column) bool, most int) ([]change.View, error) {
	r := s.reader(set)
	views, err := pgx.AppendRows(make([]change.View, 0, most), rows, func(row pgx.CollectableRow) (v change.View, err error) {
		v.Payment, err = r.scan(row)
		return v, err
	})
	return views, err
}

// statusNames are the statuses of a filter, or all of them when it has none.
func statusNames(some []payment.Status) []string {
	if len(some) == 0 {
		some = payment.Statuses()
	}
	names := make([]string, len(some))
	for i, status := range some {
		names[i] = string(status)
	}
	return names
}

// typeNames are the type of a filter, or all of the types when it has none.
func typeNames(one payment.Type, all []payment.Type) []string {
	if one != "" {
		return []string{string(one)}
	}
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = string(t)
	}
	return names
}

func wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// bounds turns times and cursor into bounds of the id, which begins with the time. low is included, high is not.
func bounds(f views.Filter) (low, high string) {
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

// complete adds deposits, payout and chain heads to the payments that have any.
func (s *Store) complete(ctx context.Context, views []change.View) error {
	var ids []string
	for _, v := range views {
		if moved(v.Payment) {
			ids = append(ids, v.Payment.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	deposits, last, heads := map[string][]payment.Deposit{}, map[string]*payout.Payout{}, map[tenant.Mode]map[string]change.Head{}
	batch := &pgx.Batch{}
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
	refunds := map[string][]refund.Refund{}
	batch.Queue(listRefunds, ids).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, scanRefund)
		for _, r := range found {
			refunds[r.PaymentID] = append(refunds[r.PaymentID], r)
		}
		return err
	})
	batch.Queue(listHeads).Query(func(rows pgx.Rows) error {
		var mode tenant.Mode
		var network string
		var h change.Head
		_, err := pgx.ForEachRow(rows, []any{&mode, &network, &h.Height, &h.Time}, func() error {
			if heads[mode] == nil {
				heads[mode] = map[string]change.Head{}
			}
			heads[mode][network] = h
			return nil
		})
		return err
	})
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	for i := range views {
		v := &views[i]
		v.Refunds = refunds[v.Payment.ID]
		v.Rows, v.Payout, v.Heads = deposits[v.Payment.ID], last[v.Payment.ID], heads[v.Payment.Mode]
	}
	return nil
}

// after is a row whose first column has its own target.
type after struct {
	pgx.CollectableRow
	first *string
}

// Scan implements pgx.CollectableRow.
func (a after) Scan(dest ...any) error {
	return a.CollectableRow.Scan(append([]any{a.first}, dest...)...)
}
