package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/payments/internal/app"
)

// What is asked by reference alone: a reference names its own mode.
var (
	findAny = selectWhole + " WHERE p.reference = $1"
	lockAny = findAny + " FOR UPDATE"
)

// cleanAddress gives one row unless the address has received money already.
const cleanAddress = `SELECT 1 WHERE NOT EXISTS (SELECT FROM deposits WHERE mode = $1 AND family = $2 AND address = $3)`

// FindAny implements app.Payments.
func (s *Store) FindAny(ctx context.Context, reference string) (app.View, error) {
	return s.find(ctx, whole, findAny, reference)
}

const selectPayoutOwner = `SELECT p.reference FROM payouts o JOIN payments p ON p.id = o.payment_id WHERE o.id = $1 AND p.merchant_id = $2 AND p.mode = $3`

// FindPayout implements app.Payments.
func (s *Store) FindPayout(ctx context.Context, o app.Owner, payoutID string) (reference string, err error) {
	err = s.pool.QueryRow(ctx, selectPayoutOwner, payoutID, o.MerchantID, string(o.Mode)).Scan(&reference)
	if err != nil {
		return "", notFound(err, "find the payment of a payout")
	}
	return reference, nil
}

// UpdateAny implements app.Payments.
func (s *Store) UpdateAny(ctx context.Context, reference string, k app.Key, f app.Change) error {
	err := s.inTx(ctx, func(tx pgx.Tx, done *effects) error {
		return s.change(ctx, tx, done, func(v app.View, now time.Time) (app.Result, error) {
			r, err := f(v, now)
			if err != nil || r.Answer == nil || k.Key == "" {
				return r, err
			}
			return r, idempotency.Put(ctx, tx, keyOf(k), stored(*r.Answer))
		}, "", lockAny, reference)
	})
	switch {
	case k.Key != "" && idempotency.IsTaken(err):
		return app.ErrKeyTaken
	case isOverLimit(err):
		return app.ErrDailyLimit
	case postgres.IsUnique(err, "payments_address"):
		return app.ErrAddressUsed
	}
	return err
}
