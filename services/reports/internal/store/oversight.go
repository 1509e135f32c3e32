package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/wire"
	"causeway.internal/services/reports/internal/app"
	"causeway.internal/services/reports/internal/report"
)

// sourcesShown bounds how many keys an operator is shown for one address.
const sourcesShown = 50

// Accused implements app.Oversight: one round trip for all modes.
func (s *Store) Accused(ctx context.Context, modes []report.Mode, address string) ([]app.Accused, error) {
	known := make([]app.Accused, len(modes))
	batch := &pgx.Batch{}
	for i, mode := range modes {
		known[i].Mode = mode
		queueAccused(batch, &known[i], address)
	}
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("read what is known of an address: %w", err)
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
	own := report.Lookup{Wallet: address}.Weighted([]report.Mode{k.Mode})[0].Subject
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
	err := row.Scan(&k.Mode, &k.Address, &n, &k.Reporters, &k.Merchants, &k.Convicted, &k.FirstAt, &k.LastAt, &k.Confirmed, &operator, &reason, &at)
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
func (s *Store) Waiting(ctx context.Context, merchants int64) (map[report.Mode]int64, error) {
	rows, err := s.pool.Query(ctx, countWaiting, merchants)
	if err != nil {
		return nil, fmt.Errorf("count accused addresses: %w", err)
	}
	waiting := map[report.Mode]int64{}
	var mode report.Mode
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&mode, &n}, func() error { waiting[mode] = n; return nil }); err != nil {
		return nil, fmt.Errorf("count accused addresses: %w", err)
	}
	return waiting, nil
}

// Judge implements app.Oversight.
func (s *Store) Judge(ctx context.Context, j app.Judgement, k app.Key, answer func(app.Accused) (app.Answer, error)) (given app.Answer, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		signal := wire.FraudSignal{Mode: wire.Mode(j.Mode), Address: j.Address}
		if err := tx.QueryRow(ctx, clock).Scan(&signal.OccurredAt); err != nil {
			return fmt.Errorf("read the clock: %w", err)
		}
		err := tx.QueryRow(ctx, judgeAccused, string(j.Mode), j.Address, j.Confirmed).
			Scan(&signal.Merchants, &signal.Reports, &signal.Version, &signal.Confirmed)
		if errors.Is(err, pgx.ErrNoRows) {
			return app.ErrNotAccused
		} else if err != nil {
			return fmt.Errorf("judge an accused address: %w", err)
		}
		if _, err := tx.Exec(ctx, insertDecision, string(j.Mode), j.Address, j.Confirmed, signal.Merchants, j.Operator, j.Reason, j.RequestID, signal.OccurredAt); err != nil {
			return fmt.Errorf("note a decision: %w", err)
		}
		if err := tell(ctx, tx, id.New(id.Event, signal.OccurredAt), signal); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, selectAccused, string(j.Mode), j.Address)
		if err != nil {
			return fmt.Errorf("read a judged address: %w", err)
		}
		now, err := pgx.CollectExactlyOneRow(rows, scanAccused)
		if err != nil {
			return fmt.Errorf("read a judged address: %w", err)
		}
		if given, err = answer(now); err != nil {
			return err
		}
		return idempotency.Put(ctx, tx, keyOf(k), idempotency.Answer{Status: given.Status, Body: s.keepAnswer(k, given.Body)})
	})
	switch {
	case err == nil:
		s.wake()
	case k.Key != "" && idempotency.IsTaken(err):
		return app.Answer{}, app.ErrKeyTaken
	}
	return given, err
}

// Floods implements app.Oversight.
func (s *Store) Floods(ctx context.Context, modes []report.Mode, limit int, after *app.FloodsAfter) ([]app.SourceView, error) {
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
