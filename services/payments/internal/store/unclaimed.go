package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/operators"
)

const (
	// A payment that runs owes nobody yet, and money that moves is in another account before it is here again. The lock
	// is a statement of its own: one that waits for a lock does not see what was written under it.
	findDebtor = `SELECT p.mode, p.merchant_id, clock_timestamp(), p.status IN ('settled', 'expired', 'cancelled', 'needs_review', 'refunded')
	AND NOT EXISTS (SELECT FROM refunds r WHERE r.payment_id = p.id AND r.state NOT IN ('confirmed', 'failed'))
	AND NOT EXISTS (SELECT FROM payouts o WHERE o.payment_id = p.id AND o.state IN ('created', 'sending', 'pending', 'unknown'))
FROM payments p WHERE p.id = $1`
	selectDebt = `SELECT e.account, sum(CASE e.side WHEN 'credit' THEN e.amount ELSE -e.amount END), min(j.created_at), max(j.created_at)
FROM ledger_journals j, ` + entriesOf + ` WHERE j.payment_id = $1 AND e.account = ANY($2)
GROUP BY e.account HAVING sum(CASE e.side WHEN 'credit' THEN e.amount ELSE -e.amount END) <> 0 ORDER BY e.account`
	lockStray = `SELECT d.asset, d.booked_amount - d.refunded, d.created_at, clock_timestamp(), greatest(
	(SELECT max(j.created_at) FROM ledger_journals j WHERE j.key = $3 || 'dep:' || d.key || '#' || d.bookings),
	(SELECT max(u.returned_at) FROM unclaimed u WHERE u.mode = d.mode AND u.deposit = d.key), d.created_at)
FROM deposits d WHERE d.mode = $1 AND d.key = $2 AND d.payment_id IS NULL AND d.booked <> '' FOR UPDATE OF d`

	unclaimedColumns = `u.id, u.mode, u.payment_id, u.merchant_id, u.deposit, u.asset, u.amount, u.parts, u.owed_since, u.booked_at, u.booked_by, u.reason,
	u.returned_at, u.returned_by, u.return_reason, ` + unclaimedWitness
	// As payment.Doubt, of the deposits behind the money.
	unclaimedWitness = `coalesce(
	(SELECT min(d.witness) FROM deposits d WHERE d.payment_id = u.payment_id AND NOT d.reverted AND d.witness IN ('alone', 'pending')),
	(SELECT d.witness FROM deposits d WHERE d.mode = u.mode AND d.key = u.deposit AND NOT d.reverted AND d.witness IN ('alone', 'pending')), '')`
	insertUnclaimed = `INSERT INTO unclaimed (id, mode, payment_id, merchant_id, deposit, asset, amount, parts, owed_since, booked_at, booked_by, reason)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
	findUnclaimed = `SELECT ` + unclaimedColumns + ` FROM unclaimed u WHERE u.id = $1`
	lockUnclaimed = `SELECT ` + unclaimedColumns + `, clock_timestamp() FROM unclaimed u WHERE u.id = $1 FOR UPDATE`
	endUnclaimed  = `UPDATE unclaimed SET returned_at = $2, returned_by = $3, return_reason = $4 WHERE id = $1`
	listUnclaimed = `SELECT ` + unclaimedColumns + ` FROM unclaimed u WHERE u.id < $1 AND ($2 OR u.returned_at IS NULL) ORDER BY u.id DESC LIMIT $3`

	lockPaymentRow = `SELECT FROM payments WHERE id = $1 FOR UPDATE`
	countUnclaimed = `UPDATE payments SET unclaimed = (SELECT count(*) FROM unclaimed WHERE payment_id = $1 AND returned_at IS NULL) WHERE id = $1`
	// A chain may have taken the booking of the deposit back meanwhile, and perhaps it books it again.
	markStray = `UPDATE deposits SET refunded = refunded + $3 WHERE mode = $1 AND key = $2`
)

func scanUnclaimed(row pgx.Row, more ...any) (u operators.Unclaimed, err error) {
	var parts []byte
	err = row.Scan(append([]any{
		&u.ID, &u.Mode, &u.PaymentID, &u.MerchantID, &u.Deposit, &u.Asset, (*number)(&u.Amount), &parts, (*instant)(&u.OwedSince), (*instant)(&u.BookedAt),
		&u.BookedBy, &u.Reason, (*instant)(&u.ReturnedAt), &u.ReturnedBy, &u.ReturnReason, &u.Witness,
	}, more...)...)
	if err != nil {
		return u, err
	}
	if err := json.Unmarshal(parts, &u.Parts); err != nil {
		return u, fmt.Errorf("read the accounts of %s: %w", u.ID, err)
	}
	return u, nil
}

// BookUnclaimed implements operators.Store.
func (s *Store) BookUnclaimed(ctx context.Context, d operators.Debtor, k idempotency.Key, rule operators.UnclaimedRule) (idempotency.Answer, error) {
	var r operators.UnclaimedRuling
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) (err error) {
		read := debtOfStray
		if d.PaymentID != "" {
			read = debtOfPayment
		}
		debt, err := read(ctx, tx, d)
		if err != nil {
			return err
		}
		if debt.Open, err = openRequest(ctx, tx, d.Object()); err != nil {
			return err
		}
		if r, err = rule(debt); err != nil {
			return err
		}
		if err := s.ruleUnclaimed(ctx, tx, d, r); err != nil {
			return err
		}
		return idempotency.Put(ctx, tx, k, r.Answer)
	})
	if k.Sent() && idempotency.IsTaken(err) {
		err = idempotency.ErrTaken
	}
	return r.Answer, err
}

// debtOfPayment locks a payment and reads what it owes of an asset; a payment that runs owes nothing.
func debtOfPayment(ctx context.Context, tx pgx.Tx, d operators.Debtor) (debt operators.Debt, err error) {
	var owes bool
	debt.Asset = d.Asset
	if _, err := tx.Exec(ctx, lockPaymentRow, d.PaymentID); err != nil {
		return debt, fmt.Errorf("lock a payment: %w", err)
	}
	err = tx.QueryRow(ctx, findDebtor, d.PaymentID).Scan(&debt.Mode, &debt.MerchantID, (*instant)(&debt.Now), &owes)
	if err != nil {
		return debt, notFound(err, "read a payment")
	}
	if !owes {
		return debt, nil
	}
	prefix := accountPrefix(debt.Mode)
	codes := []string{}
	for _, account := range debtAccounts(d.PaymentID, d.Asset) {
		codes = append(codes, prefix+account.Code)
	}
	rows, err := tx.Query(ctx, selectDebt, d.PaymentID, codes)
	if err != nil {
		return debt, fmt.Errorf("read what payment %s owes: %w", d.PaymentID, err)
	}
	var code string
	var amount decimal.Decimal
	var since, moved time.Time
	_, err = pgx.ForEachRow(rows, []any{&code, (*number)(&amount), (*instant)(&since), (*instant)(&moved)}, func() error {
		debt.Parts = append(debt.Parts, operators.DebtPart{Account: strings.TrimPrefix(code, prefix), Amount: amount})
		if debt.Since.IsZero() || since.Before(debt.Since) {
			debt.Since = since
		}
		if moved.After(debt.Moved) {
			debt.Moved = moved
		}
		return nil
	})
	return debt, wrap(err, "read what a payment owes")
}

// debtAccounts are the accounts that hold what a payment owes of an asset.
func debtAccounts(paymentID, asset string) []ledger.Account {
	if paymentID == "" {
		return []ledger.Account{ledger.Suspense(asset)}
	}
	return []ledger.Account{ledger.Customer(paymentID, asset), ledger.Payable(paymentID, money.Currency(asset)), ledger.Suspense(asset)}
}

// debtOfStray locks a deposit that no payment has.
func debtOfStray(ctx context.Context, tx pgx.Tx, d operators.Debtor) (debt operators.Debt, err error) {
	debt.Mode = d.Mode
	var owed decimal.Decimal
	err = tx.QueryRow(ctx, lockStray, string(d.Mode), d.Deposit, accountPrefix(d.Mode)).
		Scan(&debt.Asset, (*number)(&owed), (*instant)(&debt.Since), (*instant)(&debt.Now), (*instant)(&debt.Moved))
	if errors.Is(err, pgx.ErrNoRows) {
		return debt, operators.ErrNoSuchDeposit
	}
	if owed.IsPositive() {
		debt.Parts = []operators.DebtPart{{Account: ledger.Suspense(debt.Asset).Code, Amount: owed}}
	}
	return debt, wrap(err, "lock a deposit")
}

// ruleUnclaimed writes what a rule has decided, with an audit entry.
func (s *Store) ruleUnclaimed(ctx context.Context, tx pgx.Tx, d operators.Debtor, r operators.UnclaimedRuling) error {
	detail := map[string]any{"paymentId": d.PaymentID, "deposit": d.Deposit, "asset": d.Asset}
	if w := r.Waits; w != nil {
		if _, err := tx.Exec(ctx, insertApproval, w.Object, w.Version, w.Action, w.Digest, w.Operator, w.Reason); err != nil {
			return fmt.Errorf("keep a request for an approval: %w", err)
		}
		detail["reason"] = w.Reason
		return s.audit(ctx, tx, w.Operator, "unclaimed.requested", detail)
	}
	if _, err := tx.Exec(ctx, deleteApproval, d.Object()); err != nil {
		return fmt.Errorf("end a request for an approval: %w", err)
	}
	u := r.Book
	parts, err := json.Marshal(u.Parts)
	if err != nil {
		return fmt.Errorf("encode accounts: %w", err)
	}
	if _, err := tx.Exec(ctx, insertUnclaimed, u.ID, string(u.Mode), u.PaymentID, u.MerchantID, u.Deposit, u.Asset, u.Amount, parts,
		u.OwedSince, u.BookedAt, u.BookedBy, u.Reason); err != nil {
		return fmt.Errorf("write unclaimed money: %w", err)
	}
	detail["id"], detail["asset"], detail["amount"], detail["reason"] = u.ID, u.Asset, u.Amount, u.Reason
	return s.moveUnclaimed(ctx, tx, *u, unclaimedNote{u.BookedBy, "unclaimed.booked", detail})
}

type unclaimedNote struct {
	operator, action string
	detail           map[string]any
}

// moveUnclaimed books the money one way or back, and marks its payment or deposit.
func (s *Store) moveUnclaimed(ctx context.Context, tx pgx.Tx, u operators.Unclaimed, note unclaimedNote) error {
	lapse := ledger.Lapse{ID: u.ID, Payment: u.PaymentID, Asset: u.Asset}
	for _, part := range u.Parts {
		for _, account := range debtAccounts(u.PaymentID, u.Asset) {
			if account.Code == part.Account {
				lapse.Parts = append(lapse.Parts, ledger.LapsePart{From: account, Amount: part.Amount})
			}
		}
	}
	j, gone := lapse.Booked(), u.Amount
	if !u.ReturnedAt.IsZero() {
		j, gone = lapse.Returned(), u.Amount.Neg()
	}
	if err := j.Check(); err != nil {
		return err
	}
	batch := &pgx.Batch{}
	queueJournals(batch, u.Mode, j)
	if u.PaymentID != "" {
		batch.Queue(countUnclaimed, u.PaymentID)
	} else {
		batch.Queue(markStray, string(u.Mode), u.Deposit, gone)
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("book unclaimed money %s: %w", u.ID, err)
	}
	return s.audit(ctx, tx, note.operator, note.action, note.detail)
}

// ReturnUnclaimed implements operators.Store. It locks the payment first, as every change of one does.
func (s *Store) ReturnUnclaimed(ctx context.Context, unclaimedID string, k idempotency.Key, rule operators.ReturnRule) (answer idempotency.Answer, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		u, err := scanUnclaimed(tx.QueryRow(ctx, findUnclaimed, unclaimedID))
		if errors.Is(err, pgx.ErrNoRows) {
			return operators.ErrNoUnclaimed
		}
		if err != nil {
			return fmt.Errorf("read unclaimed money: %w", err)
		}
		if _, err := tx.Exec(ctx, lockPaymentRow, u.PaymentID); err != nil {
			return fmt.Errorf("lock a payment: %w", err)
		}
		var now time.Time
		if u, err = scanUnclaimed(tx.QueryRow(ctx, lockUnclaimed, unclaimedID), (*instant)(&now)); err != nil {
			return fmt.Errorf("lock unclaimed money: %w", err)
		}
		if u, answer, err = rule(u, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, endUnclaimed, u.ID, u.ReturnedAt, u.ReturnedBy, u.ReturnReason); err != nil {
			return fmt.Errorf("end unclaimed money: %w", err)
		}
		note := unclaimedNote{u.ReturnedBy, "unclaimed.returned", map[string]any{
			"id": u.ID, "paymentId": u.PaymentID, "deposit": u.Deposit, "asset": u.Asset, "amount": u.Amount, "reason": u.ReturnReason,
		}}
		if err := s.moveUnclaimed(ctx, tx, u, note); err != nil {
			return err
		}
		return idempotency.Put(ctx, tx, k, answer)
	})
	if k.Sent() && idempotency.IsTaken(err) {
		err = idempotency.ErrTaken
	}
	return answer, err
}

// Unclaimed implements operators.Store.
func (s *Store) Unclaimed(ctx context.Context, all bool, before string, most int) ([]operators.Unclaimed, error) {
	rows, err := s.pool.Query(ctx, listUnclaimed, orLast(before), all, most)
	if err != nil {
		return nil, fmt.Errorf("list unclaimed money: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (operators.Unclaimed, error) { return scanUnclaimed(row) })
	return found, wrap(err, "list unclaimed money")
}

// EachUnclaimed calls f for every booking that was not returned, the newest first.
func (s *Store) EachUnclaimed(ctx context.Context, f func(string) error) error {
	rows, err := s.pool.Query(ctx, listUnclaimed, orLast(""), false, nil)
	if err != nil {
		return fmt.Errorf("list unclaimed money: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		u, err := scanUnclaimed(rows)
		if err != nil {
			return fmt.Errorf("list unclaimed money: %w", err)
		}
		if err := f(operators.UnclaimedLine(u)); err != nil {
			return err
		}
	}
	return wrap(rows.Err(), "list unclaimed money")
}
