package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/reports/internal/app"
	"causeway.internal/services/reports/internal/report"
)

// sourcesShown bounds the keys that an operator sees for one address.
const sourcesShown = 50

// Accused implements app.Oversight: one round trip for all modes.
func (s *Store) Accused(ctx context.Context, modes []tenant.Mode, address string) ([]app.Accused, error) {
	known := make([]app.Accused, len(modes))
	batch := &pgx.Batch{}
	for i, mode := range modes {
		known[i].Mode = mode
		queueAccused(batch, &known[i], address)
	}
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("read an address's reports: %w", err)
	}
	return known, nil
}

func queueAccused(batch *pgx.Batch, k *app.Accused, address string) {
	batch.Queue(selectAccused, string(k.Mode), address).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, scanAccused)
		if len(found) == 1 {
			*k = found[0]
		}
		return err
	})
	own := report.Lookup{Wallet: address}.Weighted([]tenant.Mode{k.Mode})[0].Subject
	batch.Queue(selectCounts, own[:]).Query(func(rows pgx.Rows) error {
		var n []int32
		_, err := pgx.ForEachRow(rows, []any{&n}, func() error {
			copy(k.FiledFrom[:], n)
			return nil
		})
		return err
	})
	batch.Queue(selectSources, string(k.Mode), address, sourcesShown).Query(func(rows pgx.Rows) (err error) {
		k.Sources, err = pgx.CollectRows(rows, scanSource)
		return err
	})
}

func scanAccused(row pgx.CollectableRow) (app.Accused, error) {
	var k app.Accused
	var n []int32
	var operator, reason *string
	var at *time.Time
	err := row.Scan(&k.Mode, &k.Address, &n, &k.Reporters, &k.Merchants, &k.Convicted, &k.FirstAt, &k.LastAt, &k.Confirmed, &k.Version, &operator, &reason, &at)
	copy(k.Against[:], n)
	if operator != nil {
		k.Judged = &app.Judged{Operator: *operator, Reason: *reason, At: *at}
	}
	return k, err
}

// Suspects implements app.Oversight.
func (s *Store) Suspects(ctx context.Context, q app.Suspects) ([]app.Accused, error) {
	after := app.SuspectsAfter{Merchants: math.MaxInt32}
	if q.After != nil {
		after = *q.After
	}
	sql := selectWaiting
	if q.Confirmed {
		sql = selectConfirmed
	}
	rows, err := s.pool.Query(ctx, sql, words(q.Modes), q.Merchants, after.Merchants, string(after.Mode), after.Address, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("list accused addresses: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanAccused)
	if err != nil {
		return nil, fmt.Errorf("list accused addresses: %w", err)
	}
	return found, nil
}

// Waiting counts, by mode, the addresses that wait for an operator's decision.
func (s *Store) Waiting(ctx context.Context, merchants int64) (map[tenant.Mode]int64, error) {
	rows, err := s.pool.Query(ctx, countWaiting, merchants)
	if err != nil {
		return nil, fmt.Errorf("count accused addresses: %w", err)
	}
	waiting := map[tenant.Mode]int64{}
	var mode tenant.Mode
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&mode, &n}, func() error { waiting[mode] = n; return nil }); err != nil {
		return nil, fmt.Errorf("count accused addresses: %w", err)
	}
	return waiting, nil
}

// Judge implements app.Oversight.
func (s *Store) Judge(
	ctx context.Context, j app.Judgement, k idempotency.Key,
	rule func(app.Accused, *approval.Request) (app.Ruling, error), answer func(app.Accused, *approval.Request) (idempotency.Answer, error),
) (given idempotency.Answer, err error) {
	var outdated bool
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var now time.Time
		if err := tx.QueryRow(ctx, clock).Scan(&now); err != nil {
			return fmt.Errorf("read the clock: %w", err)
		}
		before, open, err := openAddress(ctx, tx, j)
		if err != nil {
			return err
		}
		r, err := rule(before, open)
		if err != nil {
			return err
		}
		outdated = r.Outdated
		if outdated {
			_, err := tx.Exec(ctx, dropAsked, string(j.Mode), j.Address)
			return err
		}
		if w := r.Waits; w != nil {
			w.At = now
			if _, err := tx.Exec(ctx, putAsked, string(j.Mode), j.Address, w.Version, w.Action, w.Operator, w.Reason, w.At); err != nil {
				return fmt.Errorf("keep an approval request: %w", err)
			}
		} else if err := decideAddress(ctx, tx, r.Judgement, now); err != nil {
			return err
		}
		after, err := accusedIn(ctx, tx, j)
		if err != nil {
			return err
		}
		if given, err = answer(after, r.Waits); err != nil {
			return err
		}
		return idempotency.Put(ctx, tx, k, idempotency.Answer{Status: given.Status, Body: s.keepAnswer(k, given.Body)})
	})
	switch {
	case err == nil && outdated:
		return idempotency.Answer{}, approval.ErrOutdated
	case err == nil:
		s.wake()
	case k.Sent() && idempotency.IsTaken(err):
		return idempotency.Answer{}, idempotency.ErrTaken
	}
	return given, err
}

// openAddress locks an accused address and reads it with the open request about it.
func openAddress(ctx context.Context, tx pgx.Tx, j app.Judgement) (app.Accused, *approval.Request, error) {
	tag, err := tx.Exec(ctx, lockAccused, string(j.Mode), j.Address)
	switch {
	case err != nil:
		return app.Accused{}, nil, fmt.Errorf("lock an accused address: %w", err)
	case tag.RowsAffected() == 0:
		return app.Accused{}, nil, app.ErrNotAccused
	}
	k, err := accusedIn(ctx, tx, j)
	if err != nil {
		return app.Accused{}, nil, err
	}
	open := approval.Request{Object: j.Address}
	err = tx.QueryRow(ctx, selectAsked, string(j.Mode), j.Address, approval.Life.Seconds()).
		Scan(&open.Version, &open.Action, &open.Operator, &open.Reason, &open.At)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return k, nil, nil
	case err != nil:
		return app.Accused{}, nil, fmt.Errorf("read an approval request: %w", err)
	}
	return k, &open, nil
}

func accusedIn(ctx context.Context, tx pgx.Tx, j app.Judgement) (app.Accused, error) {
	rows, err := tx.Query(ctx, selectAccused, string(j.Mode), j.Address)
	if err != nil {
		return app.Accused{}, fmt.Errorf("read an accused address: %w", err)
	}
	k, err := pgx.CollectExactlyOneRow(rows, scanAccused)
	if err != nil {
		return app.Accused{}, fmt.Errorf("read an accused address: %w", err)
	}
	return k, nil
}

// decideAddress writes a decision and sends the signal to payments. It ends an open request.
func decideAddress(ctx context.Context, tx pgx.Tx, j app.Judgement, now time.Time) error {
	signal := wire.FraudSignal{Mode: j.Mode, Address: j.Address, OccurredAt: now}
	err := tx.QueryRow(ctx, judgeAccused, string(j.Mode), j.Address, j.Confirmed).
		Scan(&signal.Merchants, &signal.Reports, &signal.Version, &signal.Confirmed)
	if err != nil {
		return fmt.Errorf("judge an accused address: %w", err)
	}
	if _, err := tx.Exec(ctx, dropAsked, string(j.Mode), j.Address); err != nil {
		return fmt.Errorf("end an approval request: %w", err)
	}
	if _, err := tx.Exec(ctx, insertDecision, string(j.Mode), j.Address, j.Confirmed, signal.Merchants, j.Operator, j.Reason, j.RequestID, now); err != nil {
		return fmt.Errorf("record a decision: %w", err)
	}
	return tell(ctx, tx, id.New(id.Event, now), signal)
}

// Floods implements app.Oversight.
func (s *Store) Floods(ctx context.Context, modes []tenant.Mode, limit int, after *app.FloodsAfter) ([]app.SourceView, error) {
	if after == nil {
		after = &app.FloodsAfter{At: newest().At}
	}
	rows, err := s.pool.Query(ctx, selectFloods, words(modes), after.At, string(after.Mode), after.Address, string(after.Role), after.KeyID, limit)
	if err != nil {
		return nil, fmt.Errorf("read floods: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanSource)
	if err != nil {
		return nil, fmt.Errorf("read floods: %w", err)
	}
	return found, nil
}

func scanSource(row pgx.CollectableRow) (app.SourceView, error) {
	var v app.SourceView
	var refused *time.Time
	err := row.Scan(&v.Mode, &v.Source.Address, &v.Source.Role, &v.KeyID, &v.MerchantID, &v.Reports, &v.LastHour, &v.Refused, &refused, &v.FirstAt, &v.LastAt)
	if refused != nil {
		v.RefusedAt = *refused
	}
	return v, err
}
