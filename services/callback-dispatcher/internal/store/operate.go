package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

var _ app.Operated = (*Store)(nil)

// The statements of operators.
const (
	deliveryOwnerSQL = `SELECT merchant_id, mode FROM delivery WHERE id = $1 UNION ALL SELECT merchant_id, mode FROM delivery_done WHERE id = $1 LIMIT 1`
	lastAttemptsSQL  = `SELECT k.id, a.number, a.trigger, a.at, a.class, coalesce(a.status, 0) FROM unnest($1::text[]) AS k(id)
CROSS JOIN LATERAL (SELECT * FROM attempt WHERE delivery_id = k.id ORDER BY at DESC LIMIT 1) AS a`
	gravesSQL    = `SELECT id, at, message_id, name, reason FROM dead WHERE id < $1 ORDER BY id DESC LIMIT $2`
	deadFoundSQL = `SELECT id, at, message_id, name, reason, body, trace FROM dead WHERE id = $1 FOR UPDATE`
	noteActSQL   = `INSERT INTO acts (operator, act, object, reason) VALUES ($1, $2, $3, $4)`
)

// AllDeliveries implements app.Operated.
func (s *Store) AllDeliveries(ctx context.Context, o tenant.Owner, f app.DeliveryFilter, limit int) ([]app.DeliveryView, error) {
	list, err := s.deliveries(ctx, o, f, limit)
	if err != nil {
		return nil, err
	}
	ids, place := make([]string, len(list)), map[string]int{}
	for i, v := range list {
		ids[i], place[v.ID] = v.ID, i
	}
	rows, err := s.db.Query(ctx, lastAttemptsSQL, ids)
	if err != nil {
		return nil, fmt.Errorf("list the last attempts: %w", err)
	}
	var id string
	var a app.AttemptView
	if _, err := pgx.ForEachRow(rows, []any{&id, &a.Number, &a.Trigger, &a.At, &a.Class, &a.Status}, func() error {
		list[place[id]].Attempts = []app.AttemptView{a}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("list the last attempts: %w", err)
	}
	return list, nil
}

// RetryAny implements app.Operated.
func (s *Store) RetryAny(ctx context.Context, id string, by app.Act, k idempotency.Key, body func(state string) ([]byte, error)) (idempotency.Answer, error) {
	return s.once(ctx, k, func(tx pgx.Tx) ([]byte, error) {
		var o tenant.Owner
		err := tx.QueryRow(ctx, deliveryOwnerSQL, id).Scan(&o.MerchantID, &o.Mode)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, app.ErrDeliveryUnknown
		}
		if err != nil {
			return nil, fmt.Errorf("look for the delivery: %w", err)
		}
		state, err := retry(ctx, tx, o, id)
		if err != nil {
			return nil, err
		}
		if err := noteAct(ctx, tx, by); err != nil {
			return nil, err
		}
		return body(state)
	})
}

func noteAct(ctx context.Context, tx pgx.Tx, by app.Act) error {
	if _, err := tx.Exec(ctx, noteActSQL, by.Operator, by.Act, by.Object, by.Reason); err != nil {
		return fmt.Errorf("note what an operator did: %w", err)
	}
	return nil
}

// Graves implements app.Operated.
func (s *Store) Graves(ctx context.Context, before int64, limit int) ([]app.DeadMessage, error) {
	rows, err := s.db.Query(ctx, gravesSQL, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list dead messages: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (m app.DeadMessage, err error) {
		err = row.Scan(&m.ID, &m.At, &m.MessageID, &m.Name, &m.Reason)
		return m, err
	})
}

// Raise implements app.Operated. The function writes an event once by its id, so a crash before the end of this
// transaction leaves a message that changes nothing when it is taken in again.
func (s *Store) Raise(ctx context.Context, id int64, by app.Act, k idempotency.Key, take func(context.Context, app.DeadMessage) error, body func() ([]byte, error)) (idempotency.Answer, error) {
	var refused error
	answer, err := s.once(ctx, k, func(tx pgx.Tx) ([]byte, error) {
		rows, err := tx.Query(ctx, deadFoundSQL, id)
		if err != nil {
			return nil, fmt.Errorf("look for the dead message: %w", err)
		}
		found, err := collectDead(rows)
		if err != nil {
			return nil, fmt.Errorf("look for the dead message: %w", err)
		}
		if len(found) == 0 {
			return nil, app.ErrDeadUnknown
		}
		if err := take(ctx, found[0]); err != nil {
			refused = err
			return nil, err
		}
		if _, err := tx.Exec(ctx, deadDropSQL, id); err != nil {
			return nil, fmt.Errorf("delete a dead message: %w", err)
		}
		if err := noteAct(ctx, tx, by); err != nil {
			return nil, err
		}
		return body()
	})
	if refused != nil && fault.IsPermanent(refused) {
		if err := s.Raised(ctx, id, refused.Error()); err != nil {
			return answer, err
		}
		return answer, app.ErrStillDead
	}
	return answer, err
}
