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
	upsertTerms = `INSERT INTO merchant_terms AS t (merchant_id, version, suspended, reason, operator, currencies, networks, types, limits)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (merchant_id) DO UPDATE SET version = excluded.version, suspended = excluded.suspended, reason = excluded.reason,
	operator = excluded.operator, currencies = excluded.currencies, networks = excluded.networks, types = excluded.types,
	limits = excluded.limits, at = now()
WHERE t.version < excluded.version`

	bindingTerms = `SELECT merchant_id, version, suspended, reason, operator, currencies, networks, types, limits FROM merchant_terms
WHERE suspended OR currencies <> '{}' OR networks <> '{}' OR types <> '{}' OR limits <> '{}'`
)

// KeepTerms keeps the terms of a merchant. Once it has returned, no payout of a merchant that they suspend begins. It
// writes an audit entry.
func (s *Store) KeepTerms(ctx context.Context, t admission.Term) error {
	limits, err := json.Marshal(t.Limits)
	if err != nil {
		return fmt.Errorf("encode the limits of a merchant: %w", err)
	}
	if t.Limits == nil {
		limits = []byte("{}")
	}
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, excludeClaims); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, upsertTerms, t.MerchantID, t.Version, t.Suspended, t.Reason, t.Operator, listed(t.Currencies), listed(t.Networks), listed(t.Types), limits)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return s.audit(ctx, tx, cmp.Or(t.Operator, "gateway"), "merchant.terms", map[string]any{
			"merchantId": t.MerchantID, "suspended": t.Suspended, "currencies": t.Currencies, "networks": t.Networks, "types": t.Types, "limits": string(limits),
		})
	})
	if err == nil {
		s.Wake()
	}
	return wrap(err, "keep the terms of a merchant")
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
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t admission.Term, err error) {
		var limits []byte
		if err := row.Scan(&t.MerchantID, &t.Version, &t.Suspended, &t.Reason, &t.Operator, &t.Currencies, &t.Networks, &t.Types, &limits); err != nil {
			return t, err
		}
		return t, json.Unmarshal(limits, &t.Limits)
	})
	return found, wrap(err, "list the terms of merchants")
}
