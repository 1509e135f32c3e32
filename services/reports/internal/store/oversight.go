package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

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
		var n []int32
		_, err := pgx.ForEachRow(rows, []any{&n, &k.Reporters, &k.Merchants, &k.Convicted, &k.FirstAt, &k.LastAt}, func() error {
			copy(k.Against[:], n)
			return nil
		})
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
