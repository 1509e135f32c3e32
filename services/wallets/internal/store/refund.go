package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/sweeper"
	"causeway.internal/services/wallets/internal/wallet"
)

// Refunds is the part of the database that refunds live in. Their transactions are rows beside those of sweeps; a
// refund is read as a sweep of the refund station whose treasury is the payer's address.
type Refunds struct{ Sweeps }

var (
	_ sweeper.RefundStore = Refunds{}
	_ sweeper.RefundBook  = Refunds{}
	_ app.Refunds         = (*Store)(nil)
)

// Refunds is the database as refunds see it.
func (s *Store) Refunds() Refunds { return Refunds{s.Sweeps()} }

const (
	// An order that comes again after a restore is as old as its approval: the signer may have signed it before.
	takeRefundSQL = `INSERT INTO refunds (id, mode, network, family, asset, contract, amount, address, ordered, currency, state, created_at,
	kind, merchant_id, charge, blocked, reason, tx_hash, version)
VALUES ($1, $2, $3, $4, $5, $6, $7::text::numeric, $8, $9, $10, CASE $16 WHEN '' THEN 'signing' ELSE 'confirmed' END, least(now(), nullif($11::timestamptz, '0001-01-01Z')), $12, $13,
	$14::text::numeric, $15, CASE WHEN $15 THEN ` + cancelledReason + ` ELSE '' END, $16,
	1 + coalesce((SELECT max(version_base) FROM recoveries WHERE $2 = 'live' AND $16 <> ''), 0)) ON CONFLICT (id) DO NOTHING`

	cancelledReason = `'payments has cancelled the refund: look whether it was paid before the database was restored'`

	orderOfSQL = `SELECT ordered FROM refunds WHERE id = $1 FOR UPDATE`

	// After a restore a repeated order says what has become of a refund that has no transaction here. One that has some
	// goes on: its transactions decide.
	restoredAlone = `state = 'signing' AND NOT EXISTS (SELECT FROM outgoing_tx WHERE refund = $1)`

	holdCancelledSQL = `UPDATE refunds SET blocked = true, reason = ` + cancelledReason + ` WHERE id = $1 AND NOT spent AND ` + restoredAlone

	paidBeforeSQL = `UPDATE refunds SET state = 'confirmed', tx_hash = $2, reason = '', blocked = false, version = ` + nextRefundVersion + `, changed_at = now()
WHERE id = $1 AND kind = 'withdrawal' AND ` + restoredAlone + ``

	// Only a refund without a transaction is blocked for its signature, or because it was cancelled.
	signAgainSQL = `UPDATE refunds SET ordered = $2, due_at = now(),
	blocked = blocked AND (reason = ` + cancelledReason + ` OR EXISTS (SELECT FROM outgoing_tx WHERE refund = $1))
WHERE id = $1 AND state IN ('signing', 'sent')`

	// The station of a transaction is its sender; before the transaction there is none.
	refundColumns = `r.id, r.mode, r.network, r.family, coalesce(o.sender, ''), r.asset, r.contract, r.amount::text, r.address,
extract(epoch FROM now() - r.created_at)::bigint, r.ordered, r.blocked`

	idleRefundsSQL = `SELECT ` + refundColumns + ` FROM refunds r LEFT JOIN outgoing_tx o ON o.refund = r.id
WHERE r.mode = 'live' AND r.network = $1 AND r.state = 'signing' AND NOT r.blocked AND r.due_at <= now() AND o.id IS NULL AND NOT ` + heldRefund + `
ORDER BY r.due_at, r.id LIMIT $2`

	refundsUnderwaySQL = `SELECT o.id, o.kind, o.sender, o.nonce, o.state, o.version, o.tx_hash, o.height, o.block_hash, o.from_height, o.presented, ` + refundColumns + `
FROM outgoing_tx o JOIN refunds r ON r.id = o.refund WHERE o.mode = 'live' AND o.network = $1
AND o.state IN ('planned', 'signed', 'broadcast', 'mined') ORDER BY o.created_at, o.id LIMIT $2`

	followedSQL = `SELECT coalesce((SELECT scan_state = 'following' AND judged_at > now() - interval '1 minute' FROM cursors
WHERE mode = 'live' AND network = $1), false)`

	stillFinalSQL = `SELECT scan_state = 'following' AND judged_at > now() - interval '1 minute' AND finalized >= $2
FROM cursors WHERE mode = 'live' AND network = $1 FOR SHARE`

	planRefundSQL = `INSERT INTO outgoing_tx (id, refund, kind, mode, network, sender, nonce, state, version, attempt, from_height, asked)
SELECT $1, r.id, 'refund', r.mode, r.network, $3, $4, 'planned', 1, 1, $5, false FROM refunds r
WHERE r.id = $2 AND r.state = 'signing' AND NOT r.blocked AND NOT ` + heldRefund + ` FOR SHARE OF r ON CONFLICT DO NOTHING`

	// On tron a further form is made only once the ones before cannot land, so a blocked refund may have been given up.
	furtherFormSQL = `SELECT family <> 'tron' OR NOT blocked FROM refunds WHERE id = $1 FOR SHARE`

	// A sent one waits for money for its next form.
	waitRefundSQL = `UPDATE refunds SET due_at = now() + $2::interval, reason = $3 WHERE id = $1 AND state IN ('signing', 'sent')`

	blockRefundSQL = `UPDATE refunds SET blocked = true, spent = spent OR $3, reason = $2 WHERE id = $1 AND state IN ('signing', 'sent')`

	unblockRefundSQL = `UPDATE refunds SET blocked = false, reason = '' WHERE id = $1 AND blocked AND state IN ('signing', 'sent')`

	// After a restore a version is above those of the lost time, except in test mode, where everything happens again.
	nextRefundVersion = `greatest(version, (SELECT max(version_base) FROM recoveries WHERE refunds.mode = 'live')) + 1`

	// On tron one node that shows a block, or takes a form, does not end the hold of a restore: another form could follow.
	heldRestored = `(blocked AND family = 'tron' AND $2 = 'sent' AND reason = ` + restoredReason + `)`

	// A snapshot that says nothing new gets no version.
	changeRefundSQL = `UPDATE refunds SET state = $2, tx_hash = $3, fee = $4::text::numeric,
reason = CASE WHEN ` + heldRestored + ` THEN reason ELSE $5 END, blocked = ` + heldRestored + `,
version = ` + nextRefundVersion + `, changed_at = now()
WHERE id = $1 AND state = ANY($6) AND (state, tx_hash) IS DISTINCT FROM ($2, $3) RETURNING version, mode, network, amount::text, kind`

	// Only a refund without a transaction, here and at the signer, can be given up, and one on tron whose forms have all
	// expired. On other networks a nonce that seems to be used up proves nothing.
	givenUpSQL = `SELECT state IN ('signing', 'sent'), spent OR EXISTS (SELECT FROM outgoing_tx o WHERE o.refund = $1
	AND NOT (o.state = 'replaced' AND refunds.family = 'tron')) FROM refunds WHERE id = $1`

	releaseRefundSQL = `UPDATE refunds SET blocked = false, due_at = now() WHERE id = $1 AND state IN ('signing', 'sent')
AND NOT EXISTS (SELECT FROM outgoing_tx WHERE refund = $1 AND state = 'replaced')`

	unfinishedRefundsSQL = `SELECT r.id, r.mode, r.network, r.asset, r.amount::text, r.address, r.state, r.blocked, r.reason, r.created_at,
coalesce(o.state, ''), coalesce(o.attempt, 0), r.tx_hash, ` + pausedRefund + `, r.kind, ` + uncoveredRefund + `
FROM refunds r LEFT JOIN outgoing_tx o ON o.refund = r.id WHERE r.state IN ('signing', 'sent') ORDER BY r.created_at LIMIT 1000`

	refundLevelsSQL = `SELECT network, asset, count(*), count(*) FILTER (WHERE blocked), count(*) FILTER (WHERE reason = $1),
extract(epoch FROM now() - min(created_at))::bigint FROM refunds
WHERE mode = 'live' AND state IN ('signing', 'sent') GROUP BY network, asset`

	// Two states of test mode after each other, so that none is skipped.
	simulatedRefundsSQL = `SELECT id, network, family, state FROM refunds r WHERE mode = 'test' AND (state = 'signing' AND NOT blocked AND NOT ` + heldRefund + ` AND changed_at < now() - interval '1 second'
OR state = 'sent' AND changed_at < now() - interval '2 seconds') ORDER BY changed_at LIMIT 1 FOR UPDATE SKIP LOCKED`

	// The refunds that ended above a fork, either way: their transactions are followed again.
	reversedRefundsSQL = `UPDATE outgoing_tx SET state = 'broadcast', version = version + 1, tx_hash = '', height = 0, block_hash = '', amount = 0,
fee = 0, changed_at = now() WHERE mode = $1 AND network = $2 AND height > $3 AND state IN ('final', 'failed') AND refund IS NOT NULL RETURNING id, refund, version`

	reverseJournalSQL = `INSERT INTO custody_entries (journal, line, mode, merchant_id, account, network, asset, debit, credit)
SELECT $2, line, mode, merchant_id, account, network, asset, credit, debit FROM custody_entries WHERE journal = $1`
)

// TakeRefund implements app.Refunds.
func (s *Store) TakeRefund(ctx context.Context, r app.Refund) error {
	text, err := json.Marshal(r.Ordered)
	if err != nil {
		return err
	}
	fresh, o := false, r.Ordered
	charge := "0"
	if r.Charge != nil {
		charge = r.Charge.String()
	}
	err = s.tx(ctx, func(tx pgx.Tx) error {
		cancelled, err := overtaken(ctx, tx, o)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, takeRefundSQL, o.ID, o.Mode, r.Network.Name, r.Network.Family, o.Asset, r.Contract, o.Amount, r.To, string(text), string(r.Currency),
			o.ApprovedAt, o.Kind, r.MerchantID, charge, r.Cancelled || cancelled && r.PaidBy == "", r.PaidBy)
		if err != nil {
			return err
		}
		if fresh = tag.RowsAffected() == 1; !fresh {
			return s.sameOrder(ctx, tx, r)
		}
		if err := foreign(ctx, tx, r); err != nil {
			return err
		}
		if o.Kind == order.Withdrawal {
			if err := s.reserve(ctx, tx, r); err != nil || r.PaidBy != "" { // payments knows the end of a paid one
				return err
			}
		}
		return s.publishRefund(ctx, tx, wire.RefundChanged{
			RefundID: o.ID, Version: 1, Mode: o.Mode, Network: r.Network.Name, State: wire.RefundSigning, Amount: o.Amount, Fee: "0",
		})
	})
	if err == nil && fresh {
		s.wake()
	}
	return err
}

// sameOrder compares an order with the one that has its id. The same terms with another signature, which payments makes
// after a change of its keys, let a refund that the signer has refused be tried again.
func (s *Store) sameOrder(ctx context.Context, tx pgx.Tx, r app.Refund) error {
	var text string
	o := r.Ordered
	if err := tx.QueryRow(ctx, orderOfSQL, o.ID).Scan(&text); err != nil {
		return err
	}
	var known intent.Ordered
	if err := json.Unmarshal([]byte(text), &known); err != nil {
		return err
	}
	if known.Order != o.Order {
		return app.ErrOtherOrder
	}
	if err := s.catchUp(ctx, tx, r); err != nil {
		return err
	}
	if known.Signature == o.Signature && (known.TimedSignature == o.TimedSignature || !o.Timed()) {
		return nil // a payments of the release before repeats an order without its time
	}
	signed, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, signAgainSQL, o.ID, string(signed))
	return err
}

// catchUp does what payments knows of a refund from before a restore and this database has forgotten: a cancelled one
// waits for a person, and a paid one ends. Payments knows that end.
func (s *Store) catchUp(ctx context.Context, tx pgx.Tx, r app.Refund) error {
	id := r.Ordered.ID
	if !r.Cancelled && r.PaidBy == "" {
		return nil
	}
	if restored, err := isRestored(ctx, tx, r.Ordered); err != nil || !restored {
		return err
	}
	if err := dropUnasked(ctx, tx, id); err != nil {
		return err
	}
	if r.Cancelled {
		_, err := tx.Exec(ctx, holdCancelledSQL, id)
		return err
	}
	tag, err := tx.Exec(ctx, paidBeforeSQL, id, r.PaidBy)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	return s.bookWithdrawal(ctx, tx, id)
}

func (s *Store) publishRefund(ctx context.Context, tx pgx.Tx, c wire.RefundChanged) error {
	m, err := s.messages.RefundChanged(ctx, c)
	if err != nil {
		return err
	}
	return outbox.Insert(ctx, tx, m)
}

// refundChange is the next state of a refund.
type refundChange struct {
	id     string
	state  wire.RefundState
	txHash string
	fee    *big.Int // nil for none
	reason string
	from   []wire.RefundState
}

// change moves a refund on and publishes its next version, in the transaction of the cause.
func (s *Store) change(ctx context.Context, tx pgx.Tx, c refundChange) error {
	fee := "0"
	if c.fee != nil {
		fee = c.fee.String()
	}
	m := wire.RefundChanged{RefundID: c.id, State: c.state, TxHash: c.txHash, Fee: fee, Reason: c.reason}
	var kind order.Kind
	err := tx.QueryRow(ctx, changeRefundSQL, c.id, c.state, c.txHash, fee, c.reason, c.from).Scan(&m.Version, &m.Mode, &m.Network, &m.Amount, &kind)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("changing refund %s: %w", c.id, err)
	}
	if kind == order.Withdrawal {
		if err := s.bookWithdrawal(ctx, tx, c.id); err != nil {
			return err
		}
	}
	return s.publishRefund(ctx, tx, m)
}

// open are the states of a refund that has not ended.
var open = []wire.RefundState{wire.RefundSigning, wire.RefundSent}

// Follows implements sweeper.RefundStore: a refund needs a scan that follows the chain.
func (s Refunds) Follows(ctx context.Context, network string) (follows bool, err error) {
	err = s.pool.QueryRow(ctx, followedSQL, network).Scan(&follows)
	return follows, err
}

// Looked implements sweeper.Store.
func (s Refunds) Looked(ctx context.Context, network string, final int64) error {
	_, err := s.pool.Exec(ctx, lookedSQL, network, true, final)
	return err
}

// KeepStation implements sweeper.Store. Payments refuses the station as a refund address; what it sends is no gas.
func (s Refunds) KeepStation(ctx context.Context, family money.Family, address string) error {
	return s.KeepAccounts(ctx, []wire.OwnedAddress{{Mode: tenant.Live, Family: family, Address: address}})
}

// Due implements sweeper.Store: no deposit makes a refund.
func (s Refunds) Due(context.Context, string, sweeper.Least, int) ([]sweeper.Due, error) {
	return nil, nil
}

// refundRow reads a refund as a sweep.
type refundRow struct {
	sweepRow
	ordered string
}

// fields are the places of refundColumns.
func (r *refundRow) fields() []any {
	w := &r.sweep
	return []any{&w.ID, &w.Mode, &w.Network, &w.Family, &w.Address, &w.Asset, &w.Contract, &r.amount, &w.Treasury, &r.age, &r.ordered, &w.Blocked}
}

func (r *refundRow) read() (w sweep.Sweep, err error) {
	if w, err = r.sweepRow.read(); err != nil {
		return w, err
	}
	w.Order = &intent.Ordered{}
	return w, json.Unmarshal([]byte(r.ordered), w.Order)
}

// Idle implements sweeper.Store.
func (s Refunds) Idle(ctx context.Context, network string, most int) ([]sweep.Sweep, error) {
	rows, err := s.pool.Query(ctx, idleRefundsSQL, network, most)
	if err != nil {
		return nil, fmt.Errorf("reading refunds: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (w sweep.Sweep, err error) {
		var r refundRow
		if err := row.Scan(r.fields()...); err != nil {
			return w, err
		}
		return r.read()
	})
}

// Underway implements sweeper.Store.
func (s Refunds) Underway(ctx context.Context, network string, most int) ([]sweep.Outgoing, error) {
	rows, err := s.pool.Query(ctx, refundsUnderwaySQL, network, most)
	if err != nil {
		return nil, fmt.Errorf("reading refunds under way: %w", err)
	}
	return s.outgoing(ctx, rows, func() sweepReader { return &refundRow{} })
}

// Wait implements sweeper.Store.
func (s Refunds) Wait(ctx context.Context, w sweep.Sweep, d time.Duration, reason string) error {
	_, err := s.pool.Exec(ctx, waitRefundSQL, w.ID, d, reason)
	return err
}

// Block implements sweeper.Store.
func (s Refunds) Block(ctx context.Context, w sweep.Sweep, reason string) error {
	_, err := s.pool.Exec(ctx, blockRefundSQL, w.ID, reason, false)
	return err
}

// Spent implements sweeper.RefundStore.
func (s Refunds) Spent(ctx context.Context, w sweep.Sweep, reason string) error {
	_, err := s.pool.Exec(ctx, blockRefundSQL, w.ID, reason, true)
	return err
}

// Unblock implements sweeper.RefundStore.
func (s Refunds) Unblock(ctx context.Context, w sweep.Sweep) error {
	_, err := s.pool.Exec(ctx, unblockRefundSQL, w.ID)
	return err
}

// Plan implements sweeper.Store.
func (s Refunds) Plan(ctx context.Context, o sweep.Outgoing) error {
	return s.plan(ctx, o, planRefundSQL, o.ID, o.Sweep.ID, o.Sender, o.Nonce, o.From)
}

// Again implements sweeper.Store.
func (s Refunds) Again(ctx context.Context, o sweep.Outgoing, next sweep.Attempt) error {
	return s.again(ctx, o, next, func(tx pgx.Tx) error {
		var may bool
		err := tx.QueryRow(ctx, furtherFormSQL, o.Sweep.ID).Scan(&may)
		if err == nil && !may {
			err = sweeper.ErrStale
		}
		return err
	})
}

// Sent implements sweeper.Store.
func (s Refunds) Sent(ctx context.Context, o sweep.Outgoing, accepted bool) error {
	newest := o.Newest()
	err := s.step(ctx, o, sweep.Broadcast, newest.Number, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sentSQL, o.ID, newest.Number); err != nil || !accepted {
			return err
		}
		return s.change(ctx, tx, refundChange{id: o.Sweep.ID, state: wire.RefundSent, txHash: newest.TxHash, from: open})
	})
	if err == nil {
		s.wake()
	}
	return err
}

// Mined implements sweeper.Store. A block that holds the refund shows that it was sent, although nodes have refused it.
func (s Refunds) Mined(ctx context.Context, o sweep.Outgoing, r sweep.Receipt) error {
	err := s.land(ctx, o, sweep.Mined, r, new(big.Int), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, unsignedSQL, o.ID); err != nil {
			return err
		}
		return s.change(ctx, tx, refundChange{
			id: o.Sweep.ID, state: wire.RefundSent, txHash: r.TxHash, from: []wire.RefundState{wire.RefundSigning},
		})
	})
	if err == nil {
		s.wake()
	}
	return err
}

// Replaced implements sweeper.Store. Each form has expired in final blocks that lack it, and the signer signs no other:
// the refund is blocked until an operator gives it up.
func (s Refunds) Replaced(ctx context.Context, o sweep.Outgoing) error {
	return s.land(ctx, o, sweep.Replaced, sweep.Receipt{Fee: new(big.Int)}, new(big.Int), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, unsignedSQL, o.ID); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, blockRefundSQL, o.Sweep.ID, "no transaction of it can land any more: give it up", false)
		return err
	})
}

// Finish implements sweeper.Store. The block must be final in the scanner's view, which is locked: a rewind before it
// forbids the end, and one after it takes the end back.
func (s Refunds) Finish(ctx context.Context, o sweep.Outgoing, r sweep.Receipt, ok bool, amount *big.Int) error {
	to, next := sweep.Final, refundChange{id: o.Sweep.ID, state: wire.RefundConfirmed, txHash: r.TxHash, fee: r.Fee, from: open}
	if !ok {
		to, next.state, next.reason = sweep.Failed, wire.RefundFailed, wire.RefundReverted
	}
	err := s.land(ctx, o, to, r, amount, func(tx pgx.Tx) error {
		if err := stillFinal(ctx, tx, o.Sweep.Network, r); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, spentOutputsSQL, o.ID); err != nil {
			return fmt.Errorf("forgetting spent outputs: %w", err)
		}
		if err := s.bookRefund(ctx, tx, o, sweep.Outcome{OK: ok, Amount: amount, Fee: r.Fee, Rent: r.Rent}); err != nil {
			return err
		}
		return s.change(ctx, tx, next)
	})
	if err == nil {
		s.wake()
	}
	return err
}

// stillFinal locks the scan of a network. It fails with ErrStale unless the scan follows its chain and has the block of
// the receipt as final.
func stillFinal(ctx context.Context, tx pgx.Tx, network string, r sweep.Receipt) error {
	var final bool
	err := tx.QueryRow(ctx, stillFinalSQL, network, r.Height).Scan(&final)
	if errors.Is(err, pgx.ErrNoRows) || (err == nil && !final) {
		return sweeper.ErrStale
	}
	if err != nil {
		return fmt.Errorf("locking the scan of %s: %w", network, err)
	}
	var kept, parent string
	var height int64
	var at time.Time
	err = tx.QueryRow(ctx, headerSQL, tenant.Live, network, r.Height).Scan(&height, &kept, &parent, &at)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // headers are kept far beyond finality
	}
	if err == nil && kept != r.Block {
		return sweeper.ErrStale
	}
	return err
}

// bookRefund writes the journal of a refund whose transaction has ended. A version of the row has one end.
func (s Refunds) bookRefund(ctx context.Context, tx pgx.Tx, o sweep.Outgoing, end sweep.Outcome) error {
	network, _ := money.NetworkOf(o.Sweep.Network)
	var kind order.Kind
	var merchant string
	if err := tx.QueryRow(ctx, payerOfSQL, o.Sweep.ID).Scan(&kind, &merchant); err != nil {
		return fmt.Errorf("reading the kind of %s: %w", o.Sweep.ID, err)
	}
	from := sweep.Payments
	if kind == order.Withdrawal {
		from = sweep.Withdrawals
	}
	event, entries := sweep.Book(o.Kind, sweep.Part{Sweep: o.Sweep, Outcome: end}, network.Coin().Symbol, from)
	var b pgx.Batch
	key := refundJournal(o.Sweep.Mode, o.ID, o.Version+1)
	b.Queue(journalSQL, key, event, o.Sweep.Mode, merchant, "", o.Sweep.ID)
	for i, line := range entries {
		b.Queue(entrySQL, key, i+1, o.Sweep.Mode, merchant, line.Account, o.Sweep.Network, line.Asset, line.Debit.String(), line.Credit.String())
	}
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("booking %s: %w", key, err)
	}
	return nil
}

// refundJournal names the journal of a version of a transaction.
func refundJournal(mode tenant.Mode, outgoing string, version int64) string {
	return fmt.Sprintf("%s:%s:%d", mode, outgoing, version)
}

// reverseRefunds takes confirmed and failed refunds above a fork back to sent: their transactions are sent and followed
// again, and their journals are reversed.
func (s *Store) reverseRefunds(ctx context.Context, tx pgx.Tx, c scanner.Chain, fork int64) error {
	if err := unsearch(ctx, tx, c, fork); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, reversedRefundsSQL, c.Mode, c.Network, fork)
	if err != nil {
		return fmt.Errorf("taking refunds back: %w", err)
	}
	type gone struct {
		Outgoing, Refund string
		Version          int64
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[gone])
	if err != nil {
		return fmt.Errorf("taking refunds back: %w", err)
	}
	for _, g := range list {
		if _, err := tx.Exec(ctx, unsignedSQL, g.Outgoing); err != nil {
			return fmt.Errorf("taking refund %s back: %w", g.Refund, err)
		}
		var hash string
		if err := tx.QueryRow(ctx, unsentSQL, g.Outgoing).Scan(&hash); err != nil {
			return fmt.Errorf("taking refund %s back: %w", g.Refund, err)
		}
		booked, key := refundJournal(c.Mode, g.Outgoing, g.Version-1), refundJournal(c.Mode, g.Outgoing, g.Version)
		if _, err := tx.Exec(ctx, journalSQL, key, sweep.RefundReversed, c.Mode, "", "", g.Refund); err != nil {
			return fmt.Errorf("reversing %s: %w", booked, err)
		}
		if _, err := tx.Exec(ctx, reverseJournalSQL, booked, key); err != nil {
			return fmt.Errorf("reversing %s: %w", booked, err)
		}
		back := refundChange{id: g.Refund, state: wire.RefundSent, txHash: hash, from: []wire.RefundState{wire.RefundConfirmed, wire.RefundFailed}}
		if err := s.change(ctx, tx, back); err != nil {
			return err
		}
	}
	return nil
}

// simulateMost bounds the refunds of one call.
const simulateMost = 200

// SimulateRefunds carries out refunds of test mode: nothing is signed, and each gets a hash that follows from its id.
// Each has a transaction of its own: where connections break often, a long one with all of them would never end.
func (s *Store) SimulateRefunds(ctx context.Context) (more bool, err error) {
	moved := 0
	for more = true; more && moved < simulateMost; {
		if more, err = s.simulateRefund(ctx); more && err == nil {
			moved++
		}
		if err != nil {
			err = fmt.Errorf("simulating refunds: %w", err)
			break
		}
	}
	if moved > 0 {
		s.wake()
	}
	return more && err == nil, err
}

// simulateRefund moves the refund of test mode on that has waited longest, and reports whether there was one.
func (s *Store) simulateRefund(ctx context.Context) (found bool, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		var id, network string
		var family money.Family
		var state wire.RefundState
		err := tx.QueryRow(ctx, simulatedRefundsSQL).Scan(&id, &network, &family, &state)
		if found = err == nil; errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		next := wire.RefundSent
		if state == wire.RefundSent {
			next = wire.RefundConfirmed
		}
		return s.change(ctx, tx, refundChange{
			id: id, state: next, txHash: wallet.SimulatedHash(family, network, "refund/"+id), from: []wire.RefundState{state},
		})
	})
	return found, err
}

// ErrRefundSigned means that a transaction of a refund may land.
var ErrRefundSigned = errors.New("a transaction of the refund was planned or signed, and may land: the refund ends by that alone")

// GiveUpRefund ends a refund for an operator, and payments gives its money back to the payment. It must have no
// transaction that may land, and the signer must not have said that it knows one. Then none will be signed: an ended
// refund is never planned.
func (s Refunds) GiveUpRefund(ctx context.Context, id string) error {
	err := s.tx(ctx, func(tx pgx.Tx) error {
		var unfinished, signed bool
		if _, err := tx.Exec(ctx, lockRefundSQL, id); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, givenUpSQL, id).Scan(&unfinished, &signed)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if !unfinished {
			return fmt.Errorf("%.80q is not a refund that has not ended", id)
		}
		if signed {
			return ErrRefundSigned
		}
		return s.change(ctx, tx, refundChange{id: id, state: wire.RefundFailed, reason: wire.RefundGivenUp, from: open})
	})
	if err == nil {
		s.wake()
	}
	return booking(err)
}

// ErrBooking means that what an operator has typed waited for a scan, a rewind or a sweep for too long.
var ErrBooking = errors.New("others work on the refund or on its balance, such as a scan or a rewind: nothing has changed, try again in a minute")

func booking(err error) error {
	if waitedInVain(err) {
		return fmt.Errorf("%w (%w)", ErrBooking, err)
	}
	return err
}

// ReleaseRefund tries a blocked or waiting refund again at once, for an operator who has removed the cause.
func (s Refunds) ReleaseRefund(ctx context.Context, id string) error {
	tag, err := s.pool.Exec(ctx, releaseRefundSQL, id)
	if err == nil && tag.RowsAffected() == 0 {
		err = fmt.Errorf("%.80q is not a refund that waits", id)
	}
	return booking(err)
}

// UnfinishedRefund is a refund that has not ended, in the form for an operator.
type UnfinishedRefund struct {
	ID        string    `json:"id"`
	Mode      string    `json:"mode"`
	Network   string    `json:"network"`
	Asset     string    `json:"asset"`
	Units     string    `json:"units"`
	Address   string    `json:"address"`
	State     string    `json:"state"`
	Blocked   bool      `json:"blocked"`
	Reason    string    `json:"reason,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	Outgoing  string    `json:"lastState,omitempty"`
	Attempt   int       `json:"attempt,omitempty"`
	TxHash    string    `json:"txHash,omitempty"`
	Paused    bool      `json:"paused,omitempty"`
	Kind      string    `json:"kind"`
	Uncovered bool      `json:"uncovered,omitempty"` // a withdrawal that waits because the balance is below zero
}

// UnfinishedRefunds lists the oldest refunds that have not ended.
func (s Refunds) UnfinishedRefunds(ctx context.Context) ([]UnfinishedRefund, error) {
	rows, err := s.pool.Query(ctx, unfinishedRefundsSQL)
	if err != nil {
		return nil, fmt.Errorf("reading refunds: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[UnfinishedRefund])
}

// Levels implements sweeper.RefundBook.
func (s Refunds) Levels(ctx context.Context) ([]sweeper.RefundLevel, error) {
	rows, err := s.pool.Query(ctx, refundLevelsSQL, sweeper.ErrStation.Error())
	if err != nil {
		return nil, fmt.Errorf("reading open refunds: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[sweeper.RefundLevel])
}
