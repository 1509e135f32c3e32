package store

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/wallet"
)

// A withdrawal from standalone wallets is a row of refunds of another kind (docs/decisions/0024). Its money is the
// balance of a merchant: the sum of the account merchant.

const (
	// Withdrawals from one balance are taken one after the other, also while it has no row. The lock is a statement of its
	// own: one that waits for it would not see what was booked meanwhile.
	lockBalanceSQL = `SELECT pg_advisory_xact_lock(hashtextextended('balance ' || $1 || ' ' || $2 || ' ' || $3 || ' ' || $4, 0))`

	// A trigger keeps merchant_balances: the sums of the accounts merchant. A scan or a rewind that books on the balance
	// holds its row until it commits, and what it takes must be seen.
	balanceSQL = `SELECT amount::text FROM merchant_balances WHERE mode = $1 AND merchant_id = $2 AND network = $3 AND asset = $4 FOR UPDATE`

	// A balance falls below zero when a chain takes a deposit back whose money was withdrawn.
	uncoveredRefund = `(r.kind = 'withdrawal' AND EXISTS (SELECT FROM merchant_balances b
WHERE b.mode = r.mode AND b.merchant_id = r.merchant_id AND b.network = r.network AND b.asset = r.asset AND b.amount < 0))`

	// A refund that is paused waits, and so does a withdrawal that the balance does not cover any more.
	heldRefund = `(` + pausedRefund + ` OR ` + uncoveredRefund + `)`

	withdrawalSQL = `SELECT r.mode, r.state, r.merchant_id, r.network, r.asset, r.amount::text, r.charge::text, count(DISTINCT j.key),
coalesce(sum(e.debit - e.credit) FILTER (WHERE e.account = 'merchant'), 0)::text,
coalesce(sum(e.credit - e.debit) FILTER (WHERE e.account = 'withdrawal_fees'), 0)::text,
coalesce(sum(e.credit - e.debit) FILTER (WHERE e.account = 'withdrawals'), 0)::text
FROM refunds r LEFT JOIN custody_journals j ON j.mode = r.mode AND j.deposit = r.id LEFT JOIN custody_entries e ON e.journal = j.key
WHERE r.id = $1 GROUP BY r.id`

	payerOfSQL = `SELECT kind, merchant_id FROM refunds WHERE id = $1`

	uncoveredSQL = `SELECT count(*) FROM merchant_balances b WHERE b.mode = 'live' AND b.amount < 0 AND EXISTS (SELECT FROM refunds r
WHERE r.kind = 'withdrawal' AND r.mode = b.mode AND r.merchant_id = b.merchant_id AND r.network = b.network AND r.asset = b.asset)`
)

// reserve takes a new withdrawal and its fee out of the balance. It fails with ErrBalance where the balance has less,
// unless the withdrawal is paid, or the order is older than a restore: then this database may have forgotten a payment
// of it, and only the signer knows.
func (s *Store) reserve(ctx context.Context, tx pgx.Tx, r app.Refund) error {
	o := r.Ordered
	if _, err := tx.Exec(ctx, lockBalanceSQL, string(o.Mode), r.MerchantID, o.Network, o.Asset); err != nil {
		return fmt.Errorf("locking a balance: %w", err)
	}
	has, err := balance(ctx, tx, o.Order, r.MerchantID)
	if err != nil {
		return err
	}
	amount, err := integer(o.Amount)
	if err != nil {
		return err
	}
	if has.Cmp(new(big.Int).Add(amount, r.Charge)) < 0 && r.PaidBy == "" {
		if restored, err := isRestored(ctx, tx, o); err != nil || !restored {
			return orElse(err, app.ErrBalance)
		}
	}
	return s.bookWithdrawal(ctx, tx, o.ID)
}

func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// balance locks a balance until the end of the transaction.
func balance(ctx context.Context, tx pgx.Tx, o order.Order, merchant string) (*big.Int, error) {
	var text string
	err := tx.QueryRow(ctx, balanceSQL, string(o.Mode), merchant, o.Network, o.Asset).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) { // nothing was ever booked on it
		return new(big.Int), nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a balance: %w", err)
	}
	return integer(text)
}

// bookWithdrawal writes the journal that the state of a withdrawal needs, if any. The row is locked, so journals of one
// withdrawal follow one another.
func (s *Store) bookWithdrawal(ctx context.Context, tx pgx.Tx, id string) error {
	var mode tenant.Mode
	var state wire.RefundState
	var merchant, network, asset, amount, charge, held, earned, waiting string
	var journals int64
	err := tx.QueryRow(ctx, withdrawalSQL, id).Scan(&mode, &state, &merchant, &network, &asset, &amount, &charge, &journals, &held, &earned, &waiting)
	if err != nil {
		return fmt.Errorf("reading withdrawal %s: %w", id, err)
	}
	w := wallet.Withdrawal{Ended: state == wire.RefundConfirmed, Failed: state == wire.RefundFailed}
	for place, text := range map[**big.Int]string{&w.Amount: amount, &w.Charge: charge, &w.Held: held, &w.Earned: earned, &w.Waiting: waiting} {
		if *place, err = integer(text); err != nil {
			return fmt.Errorf("reading withdrawal %s: %w", id, err)
		}
	}
	entries := w.Book()
	if len(entries) == 0 {
		return nil
	}
	key := fmt.Sprintf("%s:%s:%d", mode, id, journals+1)
	var b pgx.Batch
	b.Queue(journalSQL, key, wallet.WithdrawalBooked, mode, merchant, "", id)
	for i, e := range entries {
		b.Queue(entrySQL, key, i+1, mode, merchant, e.Account, network, asset, e.Debit.String(), e.Credit.String())
	}
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("booking %s: %w", key, err)
	}
	return nil
}

// Uncovered counts balances of live mode below zero, from which something was withdrawn.
func (s Refunds) Uncovered(ctx context.Context) (n int64, err error) {
	err = s.pool.QueryRow(ctx, uncoveredSQL).Scan(&n)
	return n, err
}
