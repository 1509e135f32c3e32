package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/inbox"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/draw"
	"causeway.internal/services/payments/internal/draws"
	"causeway.internal/services/payments/internal/views"
)

const (
	bookColumns = `e.id, e.mode, e.merchant_id, e.network, e.address, e.label, e.created_by, e.created_at, e.usable_at`
	insertBook  = `INSERT INTO address_book (id, mode, merchant_id, network, address, label, created_by, created_at, usable_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	removeBook = `UPDATE address_book SET removed_at = now(), removed_by = $4 WHERE id = $1 AND mode = $2 AND merchant_id = $3 AND removed_at IS NULL`
	findBook   = `SELECT ` + bookColumns + ` FROM address_book e WHERE e.id = $1 AND e.mode = $2 AND e.merchant_id = $3 AND e.removed_at IS NULL`
	listBook   = `SELECT ` + bookColumns + ` FROM address_book e WHERE e.mode = $1 AND e.merchant_id = $2 AND e.removed_at IS NULL AND e.id < $3
ORDER BY e.id DESC LIMIT $4`

	// Entries and withdrawals of a merchant take turns, so that the limits of a day and the size of the book hold.
	lockDrawer = `SELECT pg_advisory_xact_lock(hashtextextended('draws ' || $1 || ' ' || $2, 0))`
	drawer     = `SELECT mode, merchant_id FROM draws WHERE id = $1`
	// An approved withdrawal counts whatever became of it: only wallets says that it failed. The withdrawal that is
	// decided on does not count itself.
	spentDraws = `SELECT clock_timestamp(), coalesce((SELECT sum(d.usd) FROM draws d WHERE d.mode = $1 AND d.merchant_id = $2
	AND greatest(d.created_at, d.approved_at) > now() - interval '24 hours' AND (d.state <> 'failed' OR d.approval <> '') AND d.id <> $3), 0),
	(SELECT count(*) FROM draws d WHERE d.mode = $1 AND d.merchant_id = $2 AND d.state NOT IN ('confirmed', 'failed'))`

	drawColumns = `d.id, d.mode, d.merchant_id, d.network, d.asset, d.contract, d.amount, d.charge, d.usd, d.entry_id, d.address, d.requested_by, d.state,
	d.approval, d.failure, d.cancelled, d.tx_hash, d.fee, d.finals, d.version, d.told, d.sequence, d.created_at, d.approved_at, d.confirmed_at, d.ended_at`
	insertDraw = `INSERT INTO draws (id, mode, merchant_id, network, asset, contract, amount, charge, usd, entry_id, address, requested_by, created_at,
	state, approval, failure, cancelled, tx_hash, fee, finals, version, told, sequence, approved_at, confirmed_at, ended_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26)`
	saveDraw = `UPDATE draws SET state = $2, approval = $3, failure = $4, cancelled = $5, tx_hash = $6, fee = $7, finals = $8, version = $9, told = $10,
	sequence = $11, approved_at = $12, confirmed_at = $13, ended_at = $14 WHERE id = $1`
	lockDraw = `SELECT ` + drawColumns + `, clock_timestamp(), e.removed_at IS NULL FROM draws d JOIN address_book e ON e.id = d.entry_id
WHERE d.id = $1 AND ($2 = '' OR d.mode = $2 AND d.merchant_id = $3) FOR UPDATE OF d FOR SHARE OF e`
	findDraw = `SELECT ` + drawColumns + ` FROM draws d WHERE d.id = $1 AND d.mode = $2 AND d.merchant_id = $3`
	anyDraw  = `SELECT ` + drawColumns + ` FROM draws d WHERE d.id = $1`
	listDraw = `SELECT ` + drawColumns + ` FROM draws d WHERE d.mode = $1 AND d.merchant_id = $2 AND d.id < $3 ORDER BY d.id DESC LIMIT $4`
	// The withdrawals that wait for operators, or for the end of a cancellation, newest first.
	waitingDraws = `SELECT ` + drawColumns + ` FROM draws d WHERE d.state NOT IN ('confirmed', 'failed') AND (d.state = 'requested' OR d.cancelled <> '')
AND d.id < $1 ORDER BY d.id DESC LIMIT $2`
	// An order may reach wallets long after its approval, so the approval does not say whether a backup of wallets has it.
	orderedDraws = `SELECT ` + drawColumns + ` FROM draws d WHERE (d.state IN ('approved', 'signing', 'sent')
OR d.state = 'confirmed' AND d.ended_at >= $1) AND d.id > $2 ORDER BY d.id LIMIT $3`
)

var _ draws.Store = (*Store)(nil)

func scanBook(row pgx.CollectableRow) (e draw.Entry, err error) {
	err = row.Scan(&e.ID, &e.Mode, &e.MerchantID, &e.Network, &e.Address, &e.Label, &e.CreatedBy, (*instant)(&e.CreatedAt), (*instant)(&e.UsableAt))
	return e, err
}

// drawFields are the places of drawColumns.
func drawFields(w *draw.Draw) []any {
	return []any{
		&w.ID, &w.Mode, &w.MerchantID, &w.Network, &w.Asset, &w.Contract, (*number)(&w.Amount), (*number)(&w.Charge), (*number)(&w.USD), &w.EntryID, &w.Address,
		&w.RequestedBy, &w.State, &w.Approval, &w.Failure, &w.Cancelled, &w.TxHash, (*number)(&w.Refund.Fee), &w.Finals, &w.Version, &w.Told, &w.Sequence,
		(*instant)(&w.CreatedAt), (*instant)(&w.ApprovedAt), (*instant)(&w.ConfirmedAt), (*instant)(&w.EndedAt),
	}
}

func scanDraw(row pgx.CollectableRow) (w draw.Draw, err error) {
	err = row.Scan(drawFields(&w)...)
	return w, err
}

// AddEntry implements draws.Store.
func (s *Store) AddEntry(ctx context.Context, o tenant.Owner, k idempotency.Key, rule draws.EntryRule) (answer idempotency.Answer, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx, done *effects) error {
		if _, err := tx.Exec(ctx, lockDrawer, string(o.Mode), o.MerchantID); err != nil {
			return fmt.Errorf("lock an address book: %w", err)
		}
		rows, err := tx.Query(ctx, listBook, string(o.Mode), o.MerchantID, lastKey, bookMost)
		if err != nil {
			return fmt.Errorf("read an address book: %w", err)
		}
		known, err := pgx.CollectRows(rows, scanBook)
		if err != nil {
			return fmt.Errorf("read an address book: %w", err)
		}
		var now time.Time
		if err := tx.QueryRow(ctx, databaseTime).Scan((*instant)(&now)); err != nil {
			return fmt.Errorf("read the time: %w", err)
		}
		e, a, err := rule(now, known)
		if err != nil {
			return err
		}
		answer = a
		if _, err := tx.Exec(ctx, insertBook, e.ID, string(e.Mode), e.MerchantID, e.Network, e.Address, e.Label, e.CreatedBy, e.CreatedAt, e.UsableAt); err != nil {
			return fmt.Errorf("write an address: %w", err)
		}
		if err := s.tellEntry(ctx, tx, e); err != nil {
			return err
		}
		done.messages = true
		return idempotency.Put(ctx, tx, k, a)
	})
	if k.Sent() && idempotency.IsTaken(err) {
		err = idempotency.ErrTaken
	}
	return answer, err
}

// bookMost is above the size of any address book.
const bookMost = 1_000

const databaseTime = `SELECT clock_timestamp()`

// RemoveEntry implements draws.Store.
func (s *Store) RemoveEntry(ctx context.Context, o tenant.Owner, entryID, by string) error {
	tag, err := s.pool.Exec(ctx, removeBook, entryID, string(o.Mode), o.MerchantID, by)
	if err != nil {
		return fmt.Errorf("remove an address: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return draws.ErrNoEntry
	}
	return nil
}

// BookEntry implements draws.Store.
func (s *Store) BookEntry(ctx context.Context, o tenant.Owner, entryID string) (draw.Entry, error) {
	return bookOf(s.pool.Query(ctx, findBook, entryID, string(o.Mode), o.MerchantID))
}

func bookOf(rows pgx.Rows, err error) (draw.Entry, error) {
	if err != nil {
		return draw.Entry{}, fmt.Errorf("read an address: %w", err)
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanBook)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, draws.ErrNoEntry
	}
	return e, wrap(err, "read an address")
}

// BookEntries implements draws.Store.
func (s *Store) BookEntries(ctx context.Context, o tenant.Owner, before string, most int) ([]draw.Entry, error) {
	rows, err := s.pool.Query(ctx, listBook, string(o.Mode), o.MerchantID, orLast(before), most)
	if err != nil {
		return nil, fmt.Errorf("list an address book: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanBook)
	return found, wrap(err, "list an address book")
}

// RequestDraw implements draws.Store.
func (s *Store) RequestDraw(ctx context.Context, o tenant.Owner, k idempotency.Key, entryID string, rule draws.RequestRule) (idempotency.Answer, error) {
	var r draws.Ruling
	err := s.inTx(ctx, func(tx pgx.Tx, done *effects) (err error) {
		if _, err := tx.Exec(ctx, lockDrawer, string(o.Mode), o.MerchantID); err != nil {
			return fmt.Errorf("lock the withdrawals of a merchant: %w", err)
		}
		var asked draws.Asked
		if asked.Entry, err = bookOf(tx.Query(ctx, findBook, entryID, string(o.Mode), o.MerchantID)); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, spentDraws, string(o.Mode), o.MerchantID, "").
			Scan((*instant)(&asked.Now), (*number)(&asked.Spent), &asked.Open); err != nil {
			return fmt.Errorf("sum up withdrawals: %w", err)
		}
		if r, err = rule(asked); err != nil {
			return err
		}
		w := r.Steps[len(r.Steps)-1]
		if _, err := tx.Exec(ctx, insertDraw, w.ID, string(w.Mode), w.MerchantID, w.Network, w.Asset, w.Contract, w.Amount, w.Charge, w.USD, w.EntryID, w.Address,
			w.RequestedBy, w.CreatedAt, string(w.State), string(w.Approval), w.Failure, string(w.Cancelled), w.TxHash, w.Refund.Fee, w.Finals, w.Version,
			w.Told, w.Sequence, nullTime(w.ApprovedAt), nullTime(w.ConfirmedAt), nullTime(w.EndedAt)); err != nil {
			return fmt.Errorf("write a withdrawal: %w", err)
		}
		if err := s.ruledDraw(ctx, tx, draw.Draw{}, r, done); err != nil {
			return err
		}
		return idempotency.Put(ctx, tx, k, r.Answer)
	})
	if k.Sent() && idempotency.IsTaken(err) {
		err = idempotency.ErrTaken
	}
	return r.Answer, err
}

// ChangeDraw implements draws.Store.
func (s *Store) ChangeDraw(ctx context.Context, c draws.Changing, rule draws.ChangeRule) (idempotency.Answer, error) {
	var r draws.Ruling
	err := s.inTx(ctx, func(tx pgx.Tx, done *effects) (err error) {
		if c.MessageID != "" {
			if fresh, err := inbox.Fresh(ctx, tx, c.MessageID); err != nil || !fresh {
				return err
			}
		}
		mode, merchant := "", ""
		if c.Owner != nil {
			mode, merchant = string(c.Owner.Mode), c.Owner.MerchantID
		}
		var now draws.Current
		if c.Spends {
			if now.Spent, err = lockSpent(ctx, tx, c.DrawID); err != nil {
				return err
			}
		}
		err = tx.QueryRow(ctx, lockDraw, c.DrawID, mode, merchant).Scan(append(drawFields(&now.Draw), (*instant)(&now.Now), &now.Listed)...)
		if errors.Is(err, pgx.ErrNoRows) {
			return draws.ErrNotFound
		}
		if err != nil {
			return fmt.Errorf("lock a withdrawal: %w", err)
		}
		if now.Open, err = openRequest(ctx, tx, c.DrawID); err != nil {
			return err
		}
		if r, err = rule(now); err != nil {
			return err
		}
		if err := s.putDraw(ctx, tx, r); err != nil {
			return err
		}
		if err := s.ruledDraw(ctx, tx, now.Draw, r, done); err != nil || r.Refused != nil || r.Answer.Status == 0 {
			return err
		}
		return idempotency.Put(ctx, tx, c.Key, r.Answer)
	})
	switch {
	case c.Key.Sent() && idempotency.IsTaken(err):
		err = idempotency.ErrTaken
	case err == nil:
		err = r.Refused
	}
	return r.Answer, err
}

// lockSpent locks the withdrawals of the merchant of a withdrawal, and sums up the others of 24 hours.
func lockSpent(ctx context.Context, tx pgx.Tx, drawID string) (spent decimal.Decimal, err error) {
	var mode, merchant string
	err = tx.QueryRow(ctx, drawer, drawID).Scan(&mode, &merchant)
	if errors.Is(err, pgx.ErrNoRows) {
		return spent, draws.ErrNotFound
	}
	if err == nil {
		_, err = tx.Exec(ctx, lockDrawer, mode, merchant)
	}
	if err == nil {
		err = tx.QueryRow(ctx, spentDraws, mode, merchant, drawID).Scan(nil, (*number)(&spent), nil)
	}
	return spent, wrap(err, "sum up withdrawals")
}

// putDraw writes the last step of a ruling.
func (s *Store) putDraw(ctx context.Context, tx pgx.Tx, r draws.Ruling) error {
	if len(r.Steps) == 0 {
		return nil
	}
	w := r.Steps[len(r.Steps)-1]
	_, err := tx.Exec(ctx, saveDraw, w.ID, string(w.State), string(w.Approval), w.Failure, string(w.Cancelled), w.TxHash, w.Refund.Fee, w.Finals, w.Version, w.Told,
		w.Sequence, nullTime(w.ApprovedAt), nullTime(w.ConfirmedAt), nullTime(w.EndedAt))
	return wrap(err, "write a withdrawal")
}

// ruledDraw writes what a ruling causes besides the row: events, messages, approvals and the audit.
func (s *Store) ruledDraw(ctx context.Context, tx pgx.Tx, before draw.Draw, r draws.Ruling, done *effects) error {
	sequence := before.Sequence
	for _, w := range r.Steps {
		if w.Sequence > sequence {
			if err := s.tellDraw(ctx, tx, w); err != nil {
				return err
			}
			done.messages, sequence = true, w.Sequence
		}
	}
	for _, c := range r.Commands {
		if err := send(ctx, tx, c); err != nil {
			return err
		}
		done.messages = true
	}
	if r.Withdrawn {
		if _, err := tx.Exec(ctx, deleteApproval, before.ID); err != nil {
			return fmt.Errorf("end a request for an approval: %w", err)
		}
	}
	if w := r.Waits; w != nil {
		if _, err := tx.Exec(ctx, insertApproval, w.Object, w.Version, w.Action, w.Digest, w.Operator, w.Reason); err != nil {
			return fmt.Errorf("keep a request for an approval: %w", err)
		}
	}
	done.mode, done.alerts = before.Mode, append(done.alerts, r.Alerts...)
	if a := r.Audit; a != nil {
		return s.audit(ctx, tx, a.Operator, a.Action, a.Detail)
	}
	return nil
}

// send puts a message into the outbox.
func send(ctx context.Context, tx pgx.Tx, c change.Command) error {
	m, err := outbox.Encode(ctx, c.Name, c.ID, c.Payload)
	if err != nil {
		return err
	}
	return outbox.Insert(ctx, tx, m)
}

// tellDraw puts the event about a step of a withdrawal into the outbox.
func (s *Store) tellDraw(ctx context.Context, tx pgx.Tx, w draw.Draw) error {
	kind := "wallet.withdrawal_" + string(w.State)
	// After a restore the same event may be made again. It must not reach the merchant under another id.
	eventID := id.Derived(id.Event, w.ID, w.CreatedAt, w.Sequence, kind)
	body, err := views.DrawEvent(eventID, kind, s.now().UTC(), w)
	if err != nil {
		return err
	}
	return s.tellMerchant(ctx, tx, body, wire.StatusChanged{
		EventID: eventID, Type: kind, MerchantID: w.MerchantID, Mode: w.Mode, ObjectID: w.ID, Sequence: w.Sequence,
	})
}

// tellEntry puts the event about a new address into the outbox.
func (s *Store) tellEntry(ctx context.Context, tx pgx.Tx, e draw.Entry) error {
	const kind = "wallet.address_added"
	eventID := id.Derived(id.Event, e.ID, e.CreatedAt, 1, kind)
	body, err := views.EntryEvent(eventID, kind, s.now().UTC(), e)
	if err != nil {
		return err
	}
	return s.tellMerchant(ctx, tx, body, wire.StatusChanged{EventID: eventID, Type: kind, MerchantID: e.MerchantID, Mode: e.Mode, ObjectID: e.ID, Sequence: 1})
}

func (s *Store) tellMerchant(ctx context.Context, tx pgx.Tx, body []byte, m wire.StatusChanged) error {
	m.OccurredAt, m.Body = s.now().UTC(), s.EventKeys.Seal(body, wire.BodyPlace(m.EventID))
	return send(ctx, tx, change.Command{Name: wire.PaymentStatusChangedV1, ID: m.EventID, Payload: m})
}

// Draw implements draws.Store.
func (s *Store) Draw(ctx context.Context, o tenant.Owner, drawID string) (draw.Draw, error) {
	return drawOf(s.pool.Query(ctx, findDraw, drawID, string(o.Mode), o.MerchantID))
}

// AnyDraw implements draws.Store.
func (s *Store) AnyDraw(ctx context.Context, drawID string) (draw.Draw, error) {
	return drawOf(s.pool.Query(ctx, anyDraw, drawID))
}

func drawOf(rows pgx.Rows, err error) (draw.Draw, error) {
	if err != nil {
		return draw.Draw{}, fmt.Errorf("read a withdrawal: %w", err)
	}
	w, err := pgx.CollectExactlyOneRow(rows, scanDraw)
	if errors.Is(err, pgx.ErrNoRows) {
		return w, draws.ErrNotFound
	}
	return w, wrap(err, "read a withdrawal")
}

// Draws implements draws.Store.
func (s *Store) Draws(ctx context.Context, o tenant.Owner, before string, most int) ([]draw.Draw, error) {
	return drawList(s.pool.Query(ctx, listDraw, string(o.Mode), o.MerchantID, orLast(before), most))
}

// WaitingDraws implements draws.Store.
func (s *Store) WaitingDraws(ctx context.Context, before string, most int) ([]draw.Draw, error) {
	return drawList(s.pool.Query(ctx, waitingDraws, orLast(before), most))
}

func drawList(rows pgx.Rows, err error) ([]draw.Draw, error) {
	if err != nil {
		return nil, fmt.Errorf("list withdrawals: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanDraw)
	return found, wrap(err, "list withdrawals")
}

// SendDraws sends the orders of all withdrawals again that have not ended, or were confirmed since a time, no matter
// when they were approved. Wallets that has an order already ignores it. A confirmed one is among them: the balance of
// its merchant is without it only at a wallets that has the order. report hears of each as in SendOrders.
func (s *Store) SendDraws(ctx context.Context, since time.Time, order func(draw.Draw) (change.Command, error), report func(draw.Draw, error)) error {
	return s.sendAgain(ctx, func(tx pgx.Tx, after string, most int) (list []unended, err error) {
		found, err := drawList(tx.Query(ctx, orderedDraws, since, after, most))
		for _, w := range found {
			list = append(list, unended{w.ID, func() (change.Command, error) { return order(w) }, func(failed error) { report(w, failed) }})
		}
		return list, err
	})
}
