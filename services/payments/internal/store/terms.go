package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
	"causeway.internal/services/payments/internal/admission"
)

const (
	// A version that is not newer changes nothing.
	upsertTerms = `INSERT INTO merchant_terms AS t (merchant_id, version, suspended, reason, operator, currencies, networks, types, limits,
	daily_limits, counted)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, coalesce($10::jsonb, '{}'), $10 IS NOT NULL AND $10 <> '{}')
ON CONFLICT (merchant_id) DO UPDATE SET version = excluded.version, suspended = excluded.suspended, reason = excluded.reason,
	operator = excluded.operator, currencies = excluded.currencies, networks = excluded.networks, types = excluded.types,
	limits = excluded.limits, daily_limits = coalesce($10, t.daily_limits), counted = t.counted OR excluded.counted, at = now()
WHERE t.version < excluded.version`

	bindingTerms = `SELECT merchant_id, version, suspended, reason, operator, currencies, networks, types, limits, daily_limits, counted
FROM merchant_terms WHERE suspended OR currencies <> '{}' OR networks <> '{}' OR types <> '{}' OR limits <> '{}' OR counted`

	selectSuspended = `SELECT EXISTS (SELECT FROM merchant_terms WHERE merchant_id = $1 AND suspended)`
)

// KeepTerms keeps the terms of a merchant. Once it has returned, no payout of a merchant that they suspend begins, and
// no withdrawal is made of its balance. It writes an audit entry.
func (s *Store) KeepTerms(ctx context.Context, t admission.Term) error {
	limits, err := json.Marshal(t.Limits)
	if err != nil {
		return fmt.Errorf("encode the limits of a merchant: %w", err)
	}
	if t.Limits == nil {
		limits = []byte("{}")
	}
	var daily []byte
	if t.DailyLimits != nil {
		if daily, err = json.Marshal(t.DailyLimits); err != nil {
			return fmt.Errorf("encode the daily limits of a merchant: %w", err)
		}
	}
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, excludeClaims); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, upsertTerms, t.MerchantID, t.Version, t.Suspended, t.Reason, t.Operator, listed(t.Currencies), listed(t.Networks), listed(t.Types), limits, daily)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return s.audit(ctx, tx, cmp.Or(t.Operator, "gateway"), "merchant.terms", map[string]any{
			"merchantId": t.MerchantID, "suspended": t.Suspended, "currencies": t.Currencies, "networks": t.Networks, "types": t.Types, "limits": string(limits),
			"dailyLimits": string(daily),
		})
	})
	if err == nil {
		s.Wake()
	}
	return wrap(err, "keep the terms of a merchant")
}

// suspended reads whether a merchant is suspended. A change of its terms waits for the transaction.
func suspended(ctx context.Context, tx pgx.Tx, merchantID string) (yes bool, err error) {
	read := &pgx.Batch{}
	read.Queue(shareClaims)
	read.Queue(selectSuspended, merchantID).QueryRow(func(row pgx.Row) error { return row.Scan(&yes) })
	return yes, wrap(tx.SendBatch(ctx, read).Close(), "read a suspension")
}

func listed(some []string) []string {
	if some == nil {
		return []string{}
	}
	return some
}

// BindingTerms is the list of admission.NewTerms.
func (s *Store) BindingTerms(ctx context.Context) ([]admission.Term, error) {
	rows, err := s.pool.Query(ctx, bindingTerms)
	if err != nil {
		return nil, fmt.Errorf("list the terms of merchants: %w", err)
	}
	found, err := collectTerms(rows)
	return found, wrap(err, "list the terms of merchants")
}

func collectTerms(rows pgx.Rows) ([]admission.Term, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (t admission.Term, err error) {
		err = row.Scan(&t.MerchantID, &t.Version, &t.Suspended, &t.Reason, &t.Operator, &t.Currencies, &t.Networks, &t.Types,
			&t.Limits, &t.DailyLimits, &t.Counted)
		return t, err
	})
}
