package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/payments/internal/fees"
	"causeway.internal/services/payments/internal/operators"
)

const (
	// Publications take turns, so that a schedule with a greater number is committed later.
	lockFees = `SELECT pg_advisory_xact_lock(hashtext('payments fee schedules'))`
	feeState = `SELECT clock_timestamp(), coalesce(max(number), 0),
	coalesce(max(number) FILTER (WHERE currency = $1 AND mode = $2 AND merchant_id = $3), 0) FROM fee_schedules`

	feeColumns = `f.id, f.number, f.currency, f.mode, f.merchant_id, f.tiers, f.valid_from, f.created_at, f.created_by, f.note`
	insertFees = `INSERT INTO fee_schedules (id, number, currency, mode, merchant_id, tiers, valid_from, created_at, created_by, note)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	listFees = `SELECT ` + feeColumns + ` FROM fee_schedules f
WHERE f.number < $1 AND ($2 = '' OR f.currency = $2) AND ($3 = '' OR f.mode IN ('', $3)) AND ($4 = '' OR f.merchant_id = $4)
ORDER BY f.number DESC LIMIT $5`
	findFees = `SELECT ` + feeColumns + ` FROM fee_schedules f WHERE f.id = $1`
	// A schedule that a later one has replaced prices nothing any more.
	publishedFees = `SELECT ` + feeColumns + ` FROM fee_schedules f WHERE f.number > $1 AND NOT EXISTS (
	SELECT FROM fee_schedules l WHERE l.merchant_id = f.merchant_id AND l.currency = f.currency AND l.mode = f.mode
	AND (l.valid_from, l.number) > (f.valid_from, f.number) AND l.valid_from <= now()) ORDER BY f.number`
)

func scanFees(row pgx.CollectableRow) (p fees.Published, err error) {
	var tiers []byte
	if err = row.Scan(&p.ID, &p.Number, &p.Currency, &p.Mode, &p.MerchantID, &tiers, (*instant)(&p.ValidFrom), (*instant)(&p.CreatedAt), &p.CreatedBy, &p.Note); err != nil {
		return p, err
	}
	if err = json.Unmarshal(tiers, &p.Tiers); err != nil {
		return p, fmt.Errorf("read the tiers of %s: %w", p.ID, err)
	}
	return p, nil
}

// PublishedFees is the list of fees.NewSchedules.
func (s *Store) PublishedFees(ctx context.Context, after int64) ([]fees.Published, error) {
	rows, err := s.pool.Query(ctx, publishedFees, after)
	if err != nil {
		return nil, fmt.Errorf("read fee schedules: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanFees)
	return found, wrap(err, "read fee schedules")
}

// FeeSchedules implements operators.Store.
func (s *Store) FeeSchedules(ctx context.Context, f operators.FeeFilter) ([]fees.Published, error) {
	before := int64(math.MaxInt64)
	if n, err := strconv.ParseInt(f.Before, 10, 64); err == nil {
		before = n
	}
	rows, err := s.pool.Query(ctx, listFees, before, string(f.Currency), string(f.Mode), f.MerchantID, f.Most)
	if err != nil {
		return nil, fmt.Errorf("list fee schedules: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanFees)
	return found, wrap(err, "list fee schedules")
}

// FeeSchedule implements operators.Store.
func (s *Store) FeeSchedule(ctx context.Context, scheduleID string) (fees.Published, error) {
	rows, err := s.pool.Query(ctx, findFees, scheduleID)
	if err != nil {
		return fees.Published{}, fmt.Errorf("read a fee schedule: %w", err)
	}
	p, err := pgx.CollectExactlyOneRow(rows, scanFees)
	if errors.Is(err, pgx.ErrNoRows) {
		return fees.Published{}, operators.ErrNoFees
	}
	return p, wrap(err, "read a fee schedule")
}

// PublishFees implements operators.Store.
func (s *Store) PublishFees(ctx context.Context, scope fees.Scope, k idempotency.Key, rule operators.FeeRule) (idempotency.Answer, error) {
	var r operators.FeeRuling
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) (err error) {
		state, err := lockedFees(ctx, tx, scope)
		if err != nil {
			return err
		}
		if r, err = rule(state); err != nil {
			return err
		}
		if err := s.ruleFees(ctx, tx, scope, r); err != nil || r.Refused != nil {
			return err
		}
		return idempotency.Put(ctx, tx, k, r.Answer)
	})
	switch {
	case k.Sent() && idempotency.IsTaken(err):
		return idempotency.Answer{}, idempotency.ErrTaken
	case err == nil:
		err = r.Refused
	}
	return r.Answer, err
}

// lockedFees waits for its turn and reads the state that a rule decides on.
func lockedFees(ctx context.Context, tx pgx.Tx, scope fees.Scope) (state operators.FeeState, err error) {
	if _, err := tx.Exec(ctx, lockFees); err != nil {
		return state, fmt.Errorf("lock the fee schedules: %w", err)
	}
	row := tx.QueryRow(ctx, feeState, string(scope.Currency), string(scope.Mode), scope.MerchantID)
	if err := row.Scan((*instant)(&state.Now), &state.Number, &state.Newest); err != nil {
		return state, fmt.Errorf("read the state of the fee schedules: %w", err)
	}
	state.Open, err = openRequest(ctx, tx, operators.FeeObject(scope))
	return state, err
}

// ruleFees writes what a rule has decided, with an audit entry.
func (s *Store) ruleFees(ctx context.Context, tx pgx.Tx, scope fees.Scope, r operators.FeeRuling) error {
	detail := map[string]any{"currency": scope.Currency, "mode": scope.Mode, "merchantId": scope.MerchantID}
	if w := r.Waits; w != nil {
		if _, err := tx.Exec(ctx, insertApproval, w.Object, w.Version, w.Action, w.Digest, w.Operator, w.Reason); err != nil {
			return fmt.Errorf("keep a request for an approval: %w", err)
		}
		detail["note"] = w.Reason
		return s.audit(ctx, tx, w.Operator, "fees.requested", detail)
	}
	if _, err := tx.Exec(ctx, deleteApproval, operators.FeeObject(scope)); err != nil {
		return fmt.Errorf("end a request for an approval: %w", err)
	}
	p := r.Publish
	if p == nil {
		return nil
	}
	tiers, err := json.Marshal(p.Tiers)
	if err != nil {
		return fmt.Errorf("encode tiers: %w", err)
	}
	if _, err := tx.Exec(ctx, insertFees, p.ID, p.Number, string(p.Currency), string(p.Mode), p.MerchantID, tiers, p.ValidFrom, p.CreatedAt, p.CreatedBy, p.Note); err != nil {
		return fmt.Errorf("write a fee schedule: %w", err)
	}
	detail["id"], detail["number"], detail["tiers"], detail["validFrom"], detail["note"] = p.ID, p.Number, p.Tiers, p.ValidFrom, p.Note
	return s.audit(ctx, tx, p.CreatedBy, "fees.published", detail)
}
