package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/internal/withdrawal"
	"causeway.internal/services/payments/internal/withdrawals"
)

const (
	accountColumns = `s.id, s.merchant_id, s.mode, s.currency, s.receiver, s.created_at, s.created_by, s.confirmed_at, s.confirmed_by, s.held_until, s.deleted_at`
	listAccounts   = `SELECT ` + accountColumns + ` FROM settlement_accounts s WHERE s.merchant_id = $1 AND s.mode = $2 AND s.deleted_at IS NULL ORDER BY s.id`
	insertAccount  = `INSERT INTO settlement_accounts (id, merchant_id, mode, currency, receiver, created_at, created_by)
VALUES ($1, $2, $3, $4, $5, $6, $7)`
	saveAccount = `UPDATE settlement_accounts SET confirmed_at = $2, confirmed_by = $3, held_until = $4, deleted_at = $5 WHERE id = $1`

	personalAccounts = `SELECT id, receiver FROM settlement_accounts WHERE id > $1 ORDER BY id LIMIT $2`
	resealAccount    = `UPDATE settlement_accounts SET receiver = $3 WHERE id = $1 AND receiver = $2`
)

func (s vault) scanAccount(row pgx.CollectableRow) (a withdrawal.Account, err error) {
	var receiver []byte
	if err = row.Scan(&a.ID, &a.Owner.MerchantID, &a.Owner.Mode, &a.Currency, &receiver, (*instant)(&a.CreatedAt), &a.Owner.KeyID,
		(*instant)(&a.ConfirmedAt), &a.ConfirmedBy, (*instant)(&a.HeldUntil), (*instant)(&a.DeletedAt)); err != nil {
		return a, err
	}
	if err = opened(s.keys, receiver, receiverPlace(a.ID), &a.Receiver); err != nil {
		return a, fmt.Errorf("read the receiver of settlement account %s: %w", a.ID, err)
	}
	return a, nil
}

// SettlementAccounts implements withdrawals.Store.
func (s *Store) SettlementAccounts(ctx context.Context, o tenant.Owner) ([]withdrawal.Account, error) {
	return s.accounts(ctx, s.pool, o)
}

func (s *Store) accounts(ctx context.Context, q postgres.Querier, o tenant.Owner) ([]withdrawal.Account, error) {
	rows, err := q.Query(ctx, listAccounts, o.MerchantID, string(o.Mode))
	if err != nil {
		return nil, fmt.Errorf("list settlement accounts: %w", err)
	}
	found, err := pgx.CollectRows(rows, s.scanAccount)
	return found, wrap(err, "list settlement accounts")
}

// ChangeMoney implements withdrawals.Store. The lock of the merchant's settings makes the changes of one merchant and
// mode serial.
func (s *Store) ChangeMoney(ctx context.Context, o tenant.Owner, currency money.Currency, k idempotency.Key, rule withdrawals.Rule) (answer idempotency.Answer, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx, done *effects) error {
		var v withdrawals.View
		if v.Settings, err = s.lockMerchant(ctx, tx, o); err != nil {
			return err
		}
		if v.Accounts, err = s.accounts(ctx, tx, o); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, "SELECT clock_timestamp()").Scan((*instant)(&v.Now)); err != nil {
			return err
		}
		if currency != "" {
			// Before the balance, which a worker locks after it has read the suspension.
			if v.Suspended, err = suspended(ctx, tx, o.MerchantID); err != nil {
				return err
			}
			code := accountPrefix(o.Mode) + ledger.Merchant(o.MerchantID, currency).Code
			if err := tx.QueryRow(ctx, lockBalance, code).Scan((*number)(&v.Available)); err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return fmt.Errorf("lock a balance: %w", err)
			}
			if err := tx.QueryRow(ctx, recentWithdrawals, o.MerchantID, string(o.Mode), string(currency), v.Now).Scan((*number)(&v.Recent), (*number)(&v.RecentOther)); err != nil {
				return fmt.Errorf("sum a day's withdrawals: %w", err)
			}
			if err := tx.QueryRow(ctx, openWithdrawals, o.MerchantID, string(o.Mode)).Scan(&v.Open); err != nil {
				return fmt.Errorf("count withdrawals that have not ended: %w", err)
			}
		}
		r, err := rule(v)
		if err != nil {
			return err
		}
		if err := s.keepAccount(ctx, tx, v, r.Account); err != nil {
			return err
		}
		w := newWrites(false)
		queueSettings(&w.batch, o, r.Settings, r.Day)
		if err := s.writeWithdrawal(ctx, w, r.Withdrawal, v.Now, done); err != nil {
			return err
		}
		if err := w.send(ctx, tx); err != nil {
			return fmt.Errorf("write a withdrawal: %w", err)
		}
		answer = r.Answer
		return idempotency.Put(ctx, tx, k, r.Answer)
	})
	return answer, refusedOnce(k, err)
}

// keepAccount writes a new or a changed account, and the event about it.
func (s *Store) keepAccount(ctx context.Context, tx pgx.Tx, v withdrawals.View, a *withdrawal.Account) error {
	if a == nil {
		return nil
	}
	if err := s.tellAccount(ctx, tx, *a); err != nil {
		return err
	}
	if _, err := withdrawal.Find(v.Accounts, a.ID); err != nil {
		receiver, err := sealed(s.keys, a.Receiver, receiverPlace(a.ID))
		if err != nil {
			return fmt.Errorf("encode the receiver: %w", err)
		}
		_, err = tx.Exec(ctx, insertAccount, a.ID, a.Owner.MerchantID, string(a.Owner.Mode), string(a.Currency), receiver, a.CreatedAt, a.Owner.KeyID)
		return wrap(err, "write a settlement account")
	}
	_, err := tx.Exec(ctx, saveAccount, a.ID, nullTime(a.ConfirmedAt), a.ConfirmedBy, nullTime(a.HeldUntil), nullTime(a.DeletedAt))
	return wrap(err, "change a settlement account")
}

// tellAccount puts the event about a change of an account into the outbox.
func (s *Store) tellAccount(ctx context.Context, tx pgx.Tx, a withdrawal.Account) error {
	kind := withdrawal.AccountEvent + a.Change()
	eventID := id.Derived(id.Event, a.ID, a.CreatedAt, a.Sequence(), kind)
	body, err := views.SettlementAccountEvent(eventID, kind, s.now().UTC(), a)
	if err != nil {
		return err
	}
	return s.tellMerchant(ctx, tx, body, wire.StatusChanged{
		EventID: eventID, Type: kind, MerchantID: a.Owner.MerchantID, Mode: a.Owner.Mode, ObjectID: a.ID, Sequence: a.Sequence(),
	})
}

func (s *Store) resealAccount(row pgx.CollectableRow, into *pgx.Batch) (accountID string, err error) {
	var receiver []byte
	if err := row.Scan(&accountID, &receiver); err != nil {
		return "", err
	}
	if !s.stale(receiver) {
		return accountID, nil
	}
	var r payment.Receiver
	if err := opened(s.keys, receiver, receiverPlace(accountID), &r); err != nil {
		return "", fmt.Errorf("receiver of settlement account %s: %w", accountID, err)
	}
	fresh, err := sealed(s.keys, r, receiverPlace(accountID))
	if err != nil {
		return "", err
	}
	into.Queue(resealAccount, accountID, receiver, fresh)
	return accountID, nil
}
