package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
)

const (
	findAddress = `SELECT family, address, clock_timestamp() FROM deposits WHERE mode = $1 AND key = $2`
	// While it is held, no payment appears on the address, and no deposit to it is taken in as money of no payment.
	lockAddress = `SELECT pg_advisory_xact_lock(hashtextextended('address ' || $1 || ' ' || $2 || ' ' || $3, 0))`
	strayRows   = `SELECT d.created_at, ` + depositColumns + ` FROM deposits d
WHERE d.mode = $1 AND d.family = $2 AND d.address = $3 ORDER BY d.first_seen_at, d.key FOR UPDATE`
	adoptDeposits = `UPDATE deposits SET payment_id = $4 WHERE mode = $1 AND family = $2 AND address = $3 AND payment_id IS NULL`
	// Decisions about senders are never changed, so those about money of no payment are repeated for its payment.
	adoptVerdicts = `INSERT INTO screenings (mode, payment_id, deposit, stage, verdict, reason, lists, addresses, at)
SELECT DISTINCT ON (s.deposit) s.mode, $2, s.deposit, s.stage, s.verdict, s.reason, s.lists, s.addresses, s.at FROM screenings s
WHERE s.payment_id IS NULL AND s.mode = $1 AND s.deposit = ANY($3) ORDER BY s.deposit, s.id DESC`
)

// insertAdopted inserts a payment with every column, because it does not begin as those that merchants create.
var insertAdopted = func() string {
	var cols, vals []string
	for i, c := range columns {
		cols, vals = append(cols, c.name), append(vals, fmt.Sprintf("$%d::%s", i+1, c.typ))
	}
	changes := fmt.Sprintf("$%d::text[]", len(columns)+1)
	return "INSERT INTO payments (" + strings.Join(cols, ", ") + ", changes, changed_at) VALUES (" + strings.Join(vals, ", ") +
		", " + changes + ", array_fill(now(), ARRAY[cardinality(" + changes + ")]))"
}()

func every(column) bool { return true }

// Adopt implements operators.Store. The lock of the address comes before those of its deposits, as in Receive.
func (s *Store) Adopt(ctx context.Context, mode tenant.Mode, deposit string, k idempotency.Key, rule operators.AdoptRule) (idempotency.Answer, error) {
	var r operators.Adoption
	err := s.inTx(ctx, func(tx pgx.Tx, done *effects) error {
		stray, err := s.lockAddress(ctx, tx, mode, deposit)
		if err != nil {
			return err
		}
		if r, err = rule(stray); err != nil {
			return err
		}
		if r.Payment.ID != stray.Payment.ID {
			if err := s.adopt(ctx, tx, done, stray, r); err != nil {
				return err
			}
		}
		return idempotency.Put(ctx, tx, k, r.Answer)
	})
	return r.Answer, refusedOnce(k, err)
}

// lockAddress locks the address of a deposit with its payment, if it has one, and with all its deposits.
func (s *Store) lockAddress(ctx context.Context, tx pgx.Tx, mode tenant.Mode, deposit string) (stray operators.Stray, err error) {
	stray.Mode = mode
	err = tx.QueryRow(ctx, findAddress, string(mode), deposit).Scan(&stray.Family, &stray.Address, (*instant)(&stray.Now))
	if errors.Is(err, pgx.ErrNoRows) {
		return stray, operators.ErrNoSuchDeposit
	}
	if err != nil {
		return stray, fmt.Errorf("find the address of a deposit: %w", err)
	}
	if _, err := tx.Exec(ctx, lockAddress, string(mode), string(stray.Family), stray.Address); err != nil {
		return stray, fmt.Errorf("lock an address: %w", err)
	}
	if stray.Payment, _, err = s.byAddress(ctx, tx, mode, string(stray.Family), stray.Address); err != nil {
		return stray, err
	}
	rows, err := tx.Query(ctx, strayRows, string(mode), string(stray.Family), stray.Address)
	if err != nil {
		return stray, fmt.Errorf("lock the deposits of an address: %w", err)
	}
	stray.Deposits, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (d operators.StrayDeposit, err error) {
		d.Mode, d.Address = mode, stray.Address
		d.Deposit, err = scanDeposit(behind{row, []any{(*instant)(&d.Created)}})
		return d, err
	})
	if err != nil {
		return stray, fmt.Errorf("lock the deposits of an address: %w", err)
	}
	stray.Open, err = openRequest(ctx, tx, operators.Debtor{Mode: mode, Deposit: deposit}.Object())
	return stray, err
}

// adopt writes the payment of an address, its deposits, their journals, and an audit entry.
func (s *Store) adopt(ctx context.Context, tx pgx.Tx, done *effects, stray operators.Stray, r operators.Adoption) error {
	p := r.Payment
	p.Version, p.Trace = 1, telemetry.TraceParent(ctx)
	done.about = about(ctx, p)
	row, err := s.recordOf(payment.Payment{}, p)
	if err != nil {
		return err
	}
	w := newWrites(false)
	batch := &w.batch
	past := pastOf(p, r.Facts)
	done.moves = append(done.moves, past.moves...)
	batch.Queue(insertAdopted, append(row.values(every), past.changes)...)
	batch.Queue(adoptDeposits, string(stray.Mode), string(stray.Family), stray.Address, p.ID)
	v := change.View{Payment: p}
	keys := make([]string, len(stray.Deposits))
	for i, d := range stray.Deposits {
		v.Rows, keys[i] = append(v.Rows, d.Deposit), d.Deposit.Key
	}
	batch.Queue(adoptVerdicts, string(stray.Mode), p.ID, keys)
	if err := s.writeFacts(ctx, w, v, r.Facts, stray.Now, done); err != nil {
		return err
	}
	if err := w.send(ctx, tx); err != nil {
		return fmt.Errorf("adopt the deposits of %s: %w", stray.Address, err)
	}
	return s.audit(ctx, tx, r.Operator, "deposit.adopted", map[string]any{
		"paymentId": p.ID, "deposit": r.Deposit, "mode": stray.Mode, "address": stray.Address, "reason": r.Reason,
	})
}
