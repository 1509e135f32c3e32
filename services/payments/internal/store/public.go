package store

import (
	"context"
	"fmt"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
)

// Statements by reference alone: a reference implies its mode.
var (
	referred = " WHERE p.reference = $1"
	findAny  = selectWhole + referred
	lockAny  = lockHot + referred + " FOR UPDATE"
)

// cleanAddress returns one row unless the address has received money.
const cleanAddress = `SELECT 1 WHERE NOT EXISTS (SELECT FROM deposits WHERE mode = $1 AND family = $2 AND address = $3)
AND NOT EXISTS (SELECT FROM archived_payments WHERE mode = $1 AND family = $2 AND address = $3)`

// FindAny implements access.Store.
func (s *Store) FindAny(ctx context.Context, reference string) (change.View, error) {
	return s.find(ctx, whole, findAny, reference)
}

// FindByID implements operators.Store.
func (s *Store) FindByID(ctx context.Context, paymentID string) (change.View, error) {
	return s.find(ctx, whole, findByID, paymentID)
}

const selectPayoutOwner = `SELECT p.reference FROM payouts o JOIN payments p ON p.id = o.payment_id WHERE o.id = $1 AND p.merchant_id = $2 AND p.mode = $3
UNION ALL SELECT p.reference FROM archived_payments p WHERE p.names @> ARRAY['payout:' || $1::text] AND p.merchant_id = $2 AND p.mode = $3`

const selectPayoutPayment = `SELECT payment_id FROM payouts WHERE id = $1 UNION ALL SELECT id FROM archived_payments WHERE names @> ARRAY['payout:' || $1::text]`

// PayoutPayment implements operators.Store.
func (s *Store) PayoutPayment(ctx context.Context, payoutID string) (paymentID string, err error) {
	if err := s.pool.QueryRow(ctx, selectPayoutPayment, payoutID).Scan(&paymentID); err != nil {
		return "", notFound(err, "find a payout")
	}
	return paymentID, nil
}

// FindPayout implements sandbox.Store.
func (s *Store) FindPayout(ctx context.Context, o tenant.Owner, payoutID string) (reference string, err error) {
	err = s.pool.QueryRow(ctx, selectPayoutOwner, payoutID, o.MerchantID, string(o.Mode)).Scan(&reference)
	if err != nil {
		return "", notFound(err, "find the payment of a payout")
	}
	return reference, nil
}

// Ours implements access.Store.
func (s *Store) Ours(ctx context.Context, family money.Family, address string) (ours bool, err error) {
	if err := s.pool.QueryRow(ctx, oursAddress, string(family), address).Scan(&ours); err != nil {
		return false, fmt.Errorf("look for an own address: %w", err)
	}
	return ours, nil
}

// KeepOwn adds addresses in their canonical spelling. Those that are there already stay.
func (s *Store) KeepOwn(ctx context.Context, addresses []wire.OwnedAddress) error {
	var modes, families, texts []string
	for _, a := range addresses {
		modes, families, texts = append(modes, string(a.Mode)), append(families, string(a.Family)), append(texts, a.Address)
	}
	if _, err := s.pool.Exec(ctx, keepOwn, modes, families, texts); err != nil {
		return fmt.Errorf("store addresses of wallets: %w", err)
	}
	return nil
}

// UpdateAny implements access.Store.
func (s *Store) UpdateAny(ctx context.Context, reference string, k idempotency.Key, f change.Func) error {
	err := s.changeOnce(ctx, k, f, target{lock: lockAny, args: []any{reference}})
	if postgres.IsUnique(err, "payments_address") {
		return change.ErrAddressUsed
	}
	return err
}
