package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"causeway.internal/libs/inbox"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/refund"
)

const (
	refundColumns = `r.id, r.payment_id, r.mode, r.network, r.asset, r.contract, r.amount, r.address, r.parts, r.reason, r.requested_by, r.state, r.approval,
	r.failure, r.cancelled, r.tx_hash, r.fee, r.finals, r.version, r.told, r.created_at, r.approved_at, r.confirmed_at, r.ended_at`
	selectRefunds = `SELECT ` + refundColumns + ` FROM refunds r WHERE r.payment_id = $1 ORDER BY r.created_at, r.id`
	listRefunds   = `SELECT ` + refundColumns + ` FROM refunds r WHERE r.payment_id = ANY($1) ORDER BY r.created_at, r.id`
	insertRefund  = `INSERT INTO refunds (id, payment_id, mode, network, asset, contract, amount, address, parts, reason, requested_by, state, version, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`
	saveRefund = `UPDATE refunds SET state = $3, approval = $4, failure = $5, tx_hash = $6, fee = $7, finals = $8, version = $2 + 1, told = $9,
	approved_at = $10, confirmed_at = $11, ended_at = $12, parts = $13, cancelled = $14 WHERE id = $1 AND version = $2`
	refundPayment = `SELECT payment_id FROM refunds WHERE id = $1`
	// The refunds that wait for operators, or for the end of a cancellation, newest first.
	waitingRefunds = `SELECT ` + refundColumns + ` FROM refunds r WHERE r.state NOT IN ('confirmed', 'failed') AND (r.state = 'requested' OR r.cancelled <> '')
AND r.id < $1 ORDER BY r.id DESC LIMIT $2`
	// An order may reach wallets long after its approval, so the approval does not say whether a backup of wallets has it.
	unendedRefunds = `SELECT ` + refundColumns + ` FROM refunds r WHERE r.state IN ('approved', 'signing', 'sent') AND r.id > $1 ORDER BY r.id LIMIT $2`
	// Withdrawals from wallets wait for the same people, and end in the same way. Those of balances wait for them too.
	refundStates = `SELECT mode, state, count(*), (extract(epoch FROM now() - min(created_at)) * 1000000)::bigint
FROM (SELECT mode, state, created_at FROM refunds UNION ALL SELECT mode, state, created_at FROM draws
	UNION ALL SELECT mode, state, created_at FROM withdrawals WHERE state = 'requested') AS r WHERE state NOT IN ('confirmed', 'failed') GROUP BY mode, state`
)

func scanRefund(row pgx.CollectableRow) (r refund.Refund, err error) {
	var parts []byte
	if err = row.Scan(&r.ID, &r.PaymentID, &r.Mode, &r.Network, &r.Asset, &r.Contract, (*number)(&r.Amount), &r.Address, &parts, &r.Reason, &r.RequestedBy,
		&r.State, &r.Approval, &r.Failure, &r.Cancelled, &r.TxHash, (*number)(&r.Fee), &r.Finals, &r.Version, &r.Told,
		(*instant)(&r.CreatedAt), (*instant)(&r.ApprovedAt), (*instant)(&r.ConfirmedAt), (*instant)(&r.EndedAt)); err != nil {
		return r, err
	}
	if err = json.Unmarshal(parts, &r.Parts); err != nil {
		return r, fmt.Errorf("read the parts of refund %s: %w", r.ID, err)
	}
	return r, nil
}

// queueRefunds reads the refunds of a payment that has any.
func queueRefunds(batch *pgx.Batch, v *change.View) {
	if v.Payment.Refunds == 0 {
		return
	}
	batch.Queue(selectRefunds, v.Payment.ID).Query(func(rows pgx.Rows) (err error) {
		v.Refunds, err = pgx.CollectRows(rows, scanRefund)
		return err
	})
}

// queueRefund writes a refund: a new row, or the next version of the row before it. It takes or sends no money to an
// address to which an operator may have sent it already.
func queueRefund(batch *pgx.Batch, r refund.Refund) error {
	if r.State == refund.Requested || r.State == refund.Approved {
		batch.Queue(openLookup, string(r.Mode), r.Network, r.Address).Exec(func(found pgconn.CommandTag) error {
			if found.RowsAffected() > 0 {
				return change.ErrRefundNamed
			}
			return nil
		})
	}
	parts, err := json.Marshal(r.Parts)
	if err != nil {
		return fmt.Errorf("encode the parts of refund %s: %w", r.ID, err)
	}
	if r.Version > 1 {
		batch.Queue(saveRefund, r.ID, r.Version-1, string(r.State), string(r.Approval), r.Failure, r.TxHash, r.Fee.String(), r.Finals, r.Told,
			nullTime(r.ApprovedAt), nullTime(r.ConfirmedAt), nullTime(r.EndedAt), parts, string(r.Cancelled)).Exec(exactlyOne(errRefundStale))
		return nil
	}
	batch.Queue(insertRefund, r.ID, r.PaymentID, string(r.Mode), r.Network, r.Asset, r.Contract, r.Amount.String(), r.Address, parts, r.Reason, r.RequestedBy,
		string(r.State), r.Version, r.CreatedAt)
	return nil
}

// withRefund is a copy of a list with a refund in place of its earlier version.
func withRefund(all []refund.Refund, r refund.Refund) []refund.Refund {
	out := slices.Clone(all)
	if i := slices.IndexFunc(out, func(o refund.Refund) bool { return o.ID == r.ID }); i >= 0 {
		out[i] = r
		return out
	}
	return append(out, r)
}

// RefundPayment is the id of the payment that a refund belongs to.
func (s *Store) RefundPayment(ctx context.Context, refundID string) (paymentID string, err error) {
	err = s.pool.QueryRow(ctx, refundPayment, refundID).Scan(&paymentID)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", change.ErrNoRefund
	}
	return paymentID, wrap(err, "find the payment of refund "+refundID)
}

// ReportRefund changes the payment of a refund by a message, once.
func (s *Store) ReportRefund(ctx context.Context, messageID, refundID string, f change.Func) error {
	return s.inTx(ctx, func(tx pgx.Tx, done *effects) error {
		if fresh, err := inbox.Fresh(ctx, tx, messageID); err != nil || !fresh {
			return err
		}
		var paymentID string
		if err := tx.QueryRow(ctx, refundPayment, refundID).Scan(&paymentID); errors.Is(err, pgx.ErrNoRows) {
			return change.ErrNoRefund
		} else if err != nil {
			return fmt.Errorf("find the payment of refund %s: %w", refundID, err)
		}
		return s.change(ctx, tx, done, f, byID(paymentID))
	})
}

// SendOrders sends the orders of all refunds again that have not ended, no matter when they were approved, and gives
// each refund to order, which makes its message, and to report once that is on its way, or could not be made. Wallets
// that has an order already ignores it.
func (s *Store) SendOrders(ctx context.Context, order func(refund.Refund) (change.Command, error), report func(refund.Refund, error)) error {
	return s.sendAgain(ctx, func(tx pgx.Tx, after string, most int) (list []unended, err error) {
		rows, err := tx.Query(ctx, unendedRefunds, after, most)
		if err != nil {
			return nil, fmt.Errorf("list refunds: %w", err)
		}
		found, err := pgx.CollectRows(rows, scanRefund)
		for _, r := range found {
			list = append(list, unended{r.ID, func() (change.Command, error) { return order(r) }, func(failed error) { report(r, failed) }})
		}
		return list, wrap(err, "list refunds")
	})
}

// unended is a refund, or a withdrawal from wallets, whose order is sent again.
type unended struct {
	id     string
	order  func() (change.Command, error)
	report func(failed error)
}

// sendAtOnce bounds a transaction of sendAgain.
const sendAtOnce = 500

// sendAgain sends orders in pages, each in one transaction. One that cannot be made holds no other up. A page is
// reported after its commit: before that no order of it is on its way.
func (s *Store) sendAgain(ctx context.Context, page func(tx pgx.Tx, after string, most int) ([]unended, error)) error {
	failed, after, more := 0, "", true
	for more {
		var list []unended
		var failures []error // by the places of the list
		err := s.inTx(ctx, func(tx pgx.Tx, done *effects) (err error) {
			if list, err = page(tx, after, sendAtOnce); err != nil {
				return err
			}
			failures = make([]error, len(list))
			for i, o := range list {
				c, err := o.order()
				if err != nil {
					failures[i] = err
					continue
				}
				if err := send(ctx, tx, c); err != nil {
					return fmt.Errorf("send the order of %s: %w", o.id, err)
				}
				done.messages = true
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i, o := range list {
			o.report(failures[i])
			if failures[i] != nil {
				failed++
			}
		}
		if more = len(list) == sendAtOnce; more {
			after = list[len(list)-1].id
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d orders were not sent again", failed)
	}
	return nil
}

// WaitingRefunds lists refunds that wait for operators or for the end of a cancellation, newest first. before is the id
// of the last one of the page before, or empty.
func (s *Store) WaitingRefunds(ctx context.Context, before string, most int) ([]refund.Refund, error) {
	rows, err := s.pool.Query(ctx, waitingRefunds, orLast(before), most)
	if err != nil {
		return nil, fmt.Errorf("list refunds: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanRefund)
	return found, wrap(err, "list refunds")
}

// OpenRefunds counts the refunds of a mode in a state that they will leave.
type OpenRefunds struct {
	Mode    tenant.Mode
	State   refund.State
	Refunds int
	Oldest  time.Duration // since the oldest of them was requested
}

// OpenRefunds counts the refunds that have not ended, for every mode and state that has any.
func (s *Store) OpenRefunds(ctx context.Context) ([]OpenRefunds, error) {
	rows, err := s.pool.Query(ctx, refundStates)
	if err != nil {
		return nil, fmt.Errorf("count refunds: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o OpenRefunds, err error) {
		var oldest int64
		err = row.Scan(&o.Mode, &o.State, &o.Refunds, &oldest)
		o.Oldest = time.Duration(oldest) * time.Microsecond
		return o, err
	})
	return found, wrap(err, "count refunds")
}
