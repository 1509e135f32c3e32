package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/internal/withdrawal"
)

const (
	withdrawalColumns = `w.id, w.merchant_id, w.mode, w.key_id, w.currency, w.amount, w.account_id, s.receiver, w.rail, w.state, w.failure, w.attempt, w.holds,
	w.takes, w.version, w.sequence, w.created_at, w.approved_at, w.ended_at, s.deleted_at IS NOT NULL`
	fromWithdrawals  = ` FROM withdrawals w JOIN settlement_accounts s ON s.id = w.account_id`
	findWithdrawal   = `SELECT ` + withdrawalColumns + fromWithdrawals + ` WHERE w.id = $1 AND w.merchant_id = $2 AND w.mode = $3`
	lockWithdrawal   = `SELECT ` + withdrawalColumns + fromWithdrawals + ` WHERE w.id = $1 FOR UPDATE OF w FOR SHARE OF s`
	listWithdrawals  = `SELECT ` + withdrawalColumns + fromWithdrawals + ` WHERE w.merchant_id = $1 AND w.mode = $2 AND w.id < $3 ORDER BY w.id DESC LIMIT $4`
	waitWithdrawals  = `SELECT ` + withdrawalColumns + fromWithdrawals + ` WHERE w.state = 'requested' AND w.id < $1 ORDER BY w.id DESC LIMIT $2`
	insertWithdrawal = `INSERT INTO withdrawals (id, merchant_id, mode, key_id, currency, amount, account_id, rail, state, failure, attempt, holds, takes, version,
	sequence, created_at, approved_at, ended_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`
	saveWithdrawal = `UPDATE withdrawals SET rail = $3, state = $4, failure = $5, attempt = $6, holds = $7, takes = $8, version = $2 + 1, sequence = $9,
	approved_at = $10, ended_at = $11 WHERE id = $1 AND version = $2`
	// Those that operators may refuse, because their present payout is unsent. withdrawals_leaving finds them.
	leaveWithdrawals = `SELECT ` + withdrawalColumns + fromWithdrawals + ` WHERE w.state IN ('approved', 'sending') AND w.id < $1
	AND EXISTS (SELECT FROM payouts o WHERE o.payment_id = w.id AND o.attempt = w.attempt AND o.state = 'created' AND NOT o.frozen)
	ORDER BY w.id DESC LIMIT $2`
	// One that waits counts, and one that was approved, whatever became of it. withdrawals_recent finds them.
	// The second sum is without the daily settlements of earlier days.
	recentWithdrawals = `SELECT coalesce(sum(w.amount), 0), coalesce(sum(w.amount) FILTER (WHERE NOT EXISTS (SELECT FROM settlement_days d
		WHERE d.merchant_id = w.merchant_id AND d.mode = w.mode AND d.currency = w.currency AND d.day < ($4::timestamptz AT TIME ZONE 'UTC')::date
			AND d.withdrawal_id = w.id)), 0)
	FROM withdrawals w WHERE w.merchant_id = $1 AND w.mode = $2 AND w.currency = $3
	AND greatest(w.created_at, w.approved_at) > $4::timestamptz - interval '24 hours' AND (w.state <> 'failed' OR w.approved_at IS NOT NULL)`
	// withdrawals_unended finds them.
	openWithdrawals = `SELECT count(*) FROM withdrawals WHERE merchant_id = $1 AND mode = $2 AND state IN ('requested', 'approved', 'sending')`
	lockBalance     = `SELECT coalesce(balance, 0) FROM ledger_accounts WHERE code = $1 FOR UPDATE`
)

func (s vault) scanWithdrawal(row pgx.CollectableRow) (w withdrawal.Withdrawal, err error) {
	var receiver []byte
	if err = row.Scan(&w.ID, &w.Owner.MerchantID, &w.Owner.Mode, &w.Owner.KeyID, &w.Currency, (*number)(&w.Amount), &w.AccountID, &receiver, &w.Rail, &w.State,
		&w.Failure, &w.Attempt, &w.Holds, &w.Takes, &w.Version, &w.Sequence, (*instant)(&w.CreatedAt), (*instant)(&w.ApprovedAt), (*instant)(&w.EndedAt), &w.Gone); err != nil {
		return w, err
	}
	if err = opened(s.keys, receiver, receiverPlace(w.AccountID), &w.Receiver); err != nil {
		return w, fmt.Errorf("read the receiver of withdrawal %s: %w", w.ID, err)
	}
	return w, nil
}

func (s *Store) oneWithdrawal(ctx context.Context, q postgres.Querier, sql string, args ...any) (w withdrawal.Withdrawal, err error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return w, fmt.Errorf("read a withdrawal: %w", err)
	}
	w, err = pgx.CollectExactlyOneRow(rows, s.scanWithdrawal)
	if errors.Is(err, pgx.ErrNoRows) {
		return w, withdrawal.ErrNone
	}
	return w, wrap(err, "read a withdrawal")
}

// Withdrawal implements withdrawals.Store.
func (s *Store) Withdrawal(ctx context.Context, o tenant.Owner, withdrawalID string) (withdrawal.Withdrawal, error) {
	return s.oneWithdrawal(ctx, s.pool, findWithdrawal, withdrawalID, o.MerchantID, string(o.Mode))
}

// WithdrawalsOf implements withdrawals.Store.
func (s *Store) WithdrawalsOf(ctx context.Context, o tenant.Owner, before string, most int) ([]withdrawal.Withdrawal, error) {
	return s.manyWithdrawals(ctx, listWithdrawals, o.MerchantID, string(o.Mode), orLast(before), most)
}

// WaitingWithdrawals implements withdrawals.Store.
func (s *Store) WaitingWithdrawals(ctx context.Context, approved bool, before string, most int) ([]withdrawal.Withdrawal, error) {
	sql := waitWithdrawals
	if approved {
		sql = leaveWithdrawals
	}
	return s.manyWithdrawals(ctx, sql, orLast(before), most)
}

func (s *Store) manyWithdrawals(ctx context.Context, sql string, args ...any) ([]withdrawal.Withdrawal, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("list withdrawals: %w", err)
	}
	found, err := pgx.CollectRows(rows, s.scanWithdrawal)
	return found, wrap(err, "list withdrawals")
}

// UpdateWithdrawalOnce implements withdrawals.Store.
func (s *Store) UpdateWithdrawalOnce(ctx context.Context, withdrawalID string, k idempotency.Key, f change.Func) error {
	return s.changeOnce(ctx, k, f, byID(withdrawalID))
}

// withdrawn is the withdrawal that a change of a payout concerns, "" where it is a payment's.
func (t target) withdrawn() string {
	if t.lock != lockByID {
		return ""
	}
	if of, ok := t.args[0].(string); ok && strings.HasPrefix(of, id.Withdrawal) {
		return of
	}
	return ""
}

// changeWithdrawal is change for a withdrawal. The payment of its view has an owner, a currency and an id alone.
func (s *Store) changeWithdrawal(ctx context.Context, tx pgx.Tx, done *effects, f change.Func, at target) error {
	w, err := s.oneWithdrawal(ctx, tx, lockWithdrawal, at.withdrawn())
	if err != nil {
		return err
	}
	v := change.View{Withdrawal: &w, Payment: standIn(w)}
	var now time.Time
	read := &pgx.Batch{}
	if at.payoutID != "" {
		read.Queue(selectPayout, at.payoutID).Query(s.collectPayout(&v))
	} else {
		read.Queue(lockLastPayout, w.ID).Query(s.collectPayout(&v))
	}
	if at.leaves {
		s.queuePaused(read, &v)
	}
	read.Queue("SELECT clock_timestamp()").QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
	if err := tx.SendBatch(ctx, read).Close(); err != nil {
		return fmt.Errorf("read the payout of withdrawal %s: %w", w.ID, err)
	}
	if v.Payout != nil && v.Payout.PaymentID != w.ID {
		v.Payout = nil
	}
	r, err := f(v, now.UTC())
	if err != nil {
		return err
	}
	return s.save(ctx, tx, done, v, r, now)
}

// standIn has what audit, approvals and pauses need to know of a payment.
func standIn(w withdrawal.Withdrawal) payment.Payment {
	return payment.Payment{ID: w.ID, MerchantID: w.Owner.MerchantID, Mode: w.Owner.Mode, Currency: w.Currency, Rail: w.Rail, Version: w.Version}
}

// writeWithdrawal queues what a withdrawal's change writes: its row, its payout, its journals and its events.
func (s *Store) writeWithdrawal(ctx context.Context, w *writes, c *withdrawal.Change, now time.Time, done *effects) error {
	if c == nil || len(c.Events) == 0 && len(c.Journals) == 0 {
		return nil
	}
	batch, of := &w.batch, c.Withdrawal
	if c.Events != nil && c.Events[0].Sequence == 1 {
		batch.Queue(insertWithdrawal, of.ID, of.Owner.MerchantID, string(of.Owner.Mode), of.Owner.KeyID, string(of.Currency), of.Amount, of.AccountID, of.Rail,
			string(of.State), of.Failure, of.Attempt, of.Holds, of.Takes, of.Version, of.Sequence, of.CreatedAt, nullTime(of.ApprovedAt), nullTime(of.EndedAt))
	} else {
		batch.Queue(saveWithdrawal, of.ID, of.Version, of.Rail, string(of.State), of.Failure, of.Attempt, of.Holds, of.Takes, of.Sequence,
			nullTime(of.ApprovedAt), nullTime(of.EndedAt)).Exec(exactlyOne(errWithdrawStale))
	}
	if h := c.Hold; h != nil {
		o := hold(standIn(of), *h, now)
		receiver, err := sealed(s.keys, h.Receiver, receiverPlace(of.ID))
		if err != nil {
			return fmt.Errorf("encode the receiver: %w", err)
		}
		batch.Queue(insertPayout, o.ID, o.PaymentID, string(o.Mode), o.Reference, o.Attempt, o.Rail, string(o.Currency), o.Amount, receiver,
			string(payout.Created), now).Exec(exactlyOne(errPayoutExists))
	}
	for _, j := range c.Journals {
		if err := j.Check(); err != nil {
			return err
		}
	}
	w.journals.add(of.Owner.Mode, c.Journals...)
	for _, e := range c.Events {
		kind := withdrawal.Event + string(e.State)
		eventID := id.Derived(id.Event, e.ID, e.CreatedAt, e.Sequence, kind)
		body, err := views.WithdrawalEvent(eventID, kind, now, e)
		if err != nil {
			return err
		}
		msg, err := outbox.Encode(ctx, wire.PaymentStatusChangedV1, eventID, wire.StatusChanged{
			EventID: eventID, Type: kind, MerchantID: e.Owner.MerchantID, Mode: e.Owner.Mode, ObjectID: e.ID, Sequence: e.Sequence, OccurredAt: now,
			Body: s.EventKeys.Seal(body, wire.BodyPlace(eventID)),
		})
		if err != nil {
			return err
		}
		w.messages, done.messages = append(w.messages, msg), true
	}
	return nil
}
