package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
)

const (
	insertApproval = `INSERT INTO approvals AS a (payment_id, version, action, digest, operator, reason) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (payment_id) DO UPDATE SET version = excluded.version, action = excluded.action, digest = excluded.digest, operator = excluded.operator,
	reason = excluded.reason, at = now()`
	selectApproval = `SELECT payment_id, version, action, digest, operator, reason, at FROM approvals
WHERE payment_id = $1 AND at > now() - make_interval(secs => $2)`

	deleteApproval = `DELETE FROM approvals WHERE payment_id = $1`
	// A payment with a request stays out of the archive.
	forgetApprovals = `DELETE FROM approvals WHERE at <= now() - make_interval(secs => $1)`

	listStrays = `SELECT d.mode, d.address, d.created_at, ` + depositColumns + ` FROM deposits d
WHERE d.payment_id IS NULL AND (d.created_at, d.key) < ($1, $2) ORDER BY d.created_at DESC, d.key DESC LIMIT $3`
	listDoubts = `SELECT ` + payoutColumns + ` FROM payouts o
WHERE (o.state = 'unknown' OR o.frozen OR o.contradicted OR (o.paged OR o.stopped) AND o.state IN ('sending', 'pending')) AND o.id < $1
ORDER BY o.id DESC LIMIT $2`
	// The newest verdicts of each payment, in their order.
	heldVerdicts = `SELECT s.payment_id, s.stage, s.verdict, s.reason, s.lists, s.at FROM unnest($1::text[]) AS p(id) CROSS JOIN LATERAL (
	SELECT * FROM screenings s WHERE s.payment_id = p.id ORDER BY s.id DESC LIMIT 50) AS s ORDER BY s.id`

	listDifferences = `SELECT id, kind, object, asset, owner, expected, found, first_at, last_at, resolved_at FROM differences
WHERE id < $1 ORDER BY id DESC LIMIT $2`
	// Open differences are few and are read from their index, however many were resolved.
	listOpenDifferences = `WITH open AS MATERIALIZED (SELECT * FROM differences WHERE resolved_at IS NULL AND id < $1)
SELECT id, kind, object, asset, owner, expected, found, first_at, last_at, resolved_at FROM open ORDER BY id DESC LIMIT $2`
)

// lastKey sorts after every id of any list.
const lastKey = "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"

// Asked implements operators.Store.
func (s *Store) Asked(ctx context.Context, paymentID string) (*approval.Request, error) {
	return openRequest(ctx, s.pool, paymentID)
}

// openRequest is the open request about a payment or the fees of a scope, nil without one.
func openRequest(ctx context.Context, db postgres.Querier, object string) (*approval.Request, error) {
	var r approval.Request
	err := db.QueryRow(ctx, selectApproval, object, approval.Life.Seconds()).
		Scan(&r.Object, &r.Version, &r.Action, &r.Digest, &r.Operator, &r.Reason, &r.At)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no request and no error
	}
	return &r, wrap(err, "read an approval")
}

// forgetApprovals deletes requests that nobody can confirm any more.
func (s *Store) forgetApprovals(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, forgetApprovals, approval.Life.Seconds())
	return wrap(err, "forget expired approvals")
}

// Strays implements operators.Store.
func (s *Store) Strays(ctx context.Context, before string, most int) ([]operators.StrayDeposit, error) {
	at, key := time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC), ""
	if text, rest, ok := strings.Cut(before, " "); ok {
		if parsed, err := time.Parse(time.RFC3339Nano, text); err == nil {
			at, key = parsed, rest
		}
	}
	rows, err := s.pool.Query(ctx, listStrays, at, key, most)
	if err != nil {
		return nil, fmt.Errorf("list strays: %w", err)
	}
	defer rows.Close()
	var out []operators.StrayDeposit
	for rows.Next() {
		var d operators.StrayDeposit
		if d.Deposit, err = scanDeposit(behind{rows, []any{&d.Mode, &d.Address, &d.Created}}); err != nil {
			return nil, fmt.Errorf("list strays: %w", err)
		}
		out = append(out, d)
	}
	return out, wrap(rows.Err(), "list strays")
}

// behind is a row whose first columns have their own targets.
type behind struct {
	pgx.CollectableRow
	first []any
}

// Scan implements pgx.CollectableRow.
func (b behind) Scan(dest ...any) error {
	return b.CollectableRow.Scan(append(append([]any(nil), b.first...), dest...)...)
}

func orLast(before string) string {
	if before == "" {
		return lastKey
	}
	return before
}

// Doubts implements operators.Store.
func (s *Store) Doubts(ctx context.Context, before string, most int) ([]payout.Payout, error) {
	rows, err := s.pool.Query(ctx, listDoubts, orLast(before), most)
	if err != nil {
		return nil, fmt.Errorf("list unknown payouts: %w", err)
	}
	found, err := pgx.CollectRows(rows, s.scanPayout)
	out := make([]payout.Payout, 0, len(found))
	for _, o := range found {
		out = append(out, *o)
	}
	return out, wrap(err, "list unknown payouts")
}

// Holds implements operators.Store.
func (s *Store) Holds(ctx context.Context, before string, most int) ([]operators.Held, error) {
	held, err := s.list(ctx, reviewed, most, listHolds, []string{string(payment.StatusNeedsReview)}, typeNames("", payment.StoredTypes()), "", orLast(before), most, modeNames(""))
	if err != nil || len(held) == 0 {
		return nil, err
	}
	ids := make([]string, len(held))
	for i, v := range held {
		ids[i] = v.Payment.ID
	}
	rows, err := s.pool.Query(ctx, heldVerdicts, ids)
	if err != nil {
		return nil, fmt.Errorf("list verdicts: %w", err)
	}
	verdicts := map[string][]operators.HeldDecision{}
	var of string
	var d operators.HeldDecision
	var at time.Time
	if _, err := pgx.ForEachRow(rows, []any{&of, &d.Stage, &d.Verdict, &d.Reason, &d.Lists, &at}, func() error {
		d.At = timestamp.Text(at)
		verdicts[of] = append(verdicts[of], d)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("list verdicts: %w", err)
	}
	out := make([]operators.Held, 0, len(held))
	for _, v := range held {
		h := operators.Held{View: v, Decisions: verdicts[v.Payment.ID]}
		if h.Decisions == nil {
			h.Decisions = []operators.HeldDecision{}
		}
		out = append(out, h)
	}
	return out, nil
}

// Differences implements operators.Store.
func (s *Store) Differences(ctx context.Context, all bool, before string, most int) ([]books.Difference, error) {
	last := int64(math.MaxInt64)
	if before != "" {
		if n, err := strconv.ParseInt(before, 10, 64); err == nil {
			last = n
		}
	}
	sql := listOpenDifferences
	if all {
		sql = listDifferences
	}
	rows, err := s.pool.Query(ctx, sql, last, most)
	if err != nil {
		return nil, fmt.Errorf("list differences: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d books.Difference, err error) {
		var resolved *time.Time
		err = row.Scan(&d.ID, &d.Kind, &d.Object, &d.Asset, &d.Owner, &d.Expected, &d.Found, &d.FirstAt, &d.LastAt, &resolved)
		if resolved != nil {
			d.ResolvedAt = *resolved
		}
		return d, err
	})
	return found, wrap(err, "list differences")
}

// queueApproval stores the first operator's request for a second operator's approval, with an audit entry.
func queueApproval(batch *pgx.Batch, p payment.Payment, a approval.Request) {
	batch.Queue(insertApproval, p.ID, a.Version, a.Action, a.Digest, a.Operator, a.Reason)
	batch.Queue(noteRequest, a.Operator, p.ID, a.Action, a.Reason)
}

const noteRequest = `INSERT INTO audit (operator, action, detail)
VALUES ($1, 'resolve.requested', jsonb_build_object('paymentId', $2::text, 'action', $3::text, 'reason', $4::text))`

// queueAudit records an operator's action on a payment, and deletes an open request for approval.
func queueAudit(batch *pgx.Batch, paymentID string, a change.AuditNote) error {
	detail, err := json.Marshal(a.Detail)
	if err != nil {
		return fmt.Errorf("encode a note for the audit: %w", err)
	}
	batch.Queue(noteAudit, a.Operator, a.Action, string(detail))
	batch.Queue(deleteApproval, paymentID)
	return nil
}
