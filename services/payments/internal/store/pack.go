package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/trace"

	"causeway.internal/libs/inbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/payment"
)

// Changes of different payments that come while other changes are under way share the next transaction: a pack. One
// statement locks their payments, one reads their transfers, and one each writes the payments, the journals and the
// messages of all of them. A pack waits for no payment's lock. A member whose payment somebody else has locked leaves
// the pack and is changed alone, as is one that locks rows which other payments share, because those have no order in a
// pack. When anything fails, the transaction is undone and each member is changed alone, so a member fails for its own
// reasons only.
const (
	packMost    = 50
	packsAtOnce = 2 // one decides while the other commits
	packTries   = 2 // the second without the members that the first could not take
	packWithin  = 5 * time.Second
)

const (
	// Subqueries that lock rows are planned by themselves, so each payment is found by its index, whatever the planner
	// believes about the size of the table.
	lockPackByID = `SELECT k.place, %[1]s FROM unnest($1::text[]) WITH ORDINALITY AS k(id, place),
	LATERAL (SELECT %[1]s FROM ONLY payments p WHERE p.id = k.id FOR UPDATE SKIP LOCKED) AS p`
	lockPackByAddress = `SELECT k.place, %[1]s FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k(mode, family, address, place),
	LATERAL (SELECT %[1]s FROM ONLY payments p WHERE p.mode = k.mode AND p.family = k.family AND p.address = k.address FOR UPDATE SKIP LOCKED) AS p`
	selectPackDeposits = `SELECT k.place, ` + depositColumns + ` FROM unnest($1::text[]) WITH ORDINALITY AS k(id, place),
	LATERAL (SELECT * FROM deposits WHERE payment_id = k.id OFFSET 0) AS d ORDER BY k.place, d.first_seen_at, d.key`
	selectPackPayouts = `SELECT ` + payoutColumns + ` FROM payouts o WHERE o.id = ANY($1) ORDER BY o.id FOR UPDATE`
)

var (
	lockPayments          = fmt.Sprintf(lockPackByID, wholeColumns)
	lockPaymentsByAddress = fmt.Sprintf(lockPackByAddress, wholeColumns)
)

// member is a change that may share a transaction.
type member struct {
	ctx  context.Context
	key  string           // of its payment; the members of a pack have different ones
	in   *change.Incoming // of a transfer to the payment's address, or nil
	at   target           // of the payment otherwise
	f    change.Func
	wake chan bool // true: lead the next pack; false: a pack has taken this member

	alone bool // the caller has to make the change in a transaction of its own
	ended bool // nothing is left to decide
	view  change.View
	to    change.Result
	done  effects
	span  trace.Span
}

// packs joins members. Callers do the work: one whose turn it is takes those that wait along.
type packs struct {
	mu      sync.Mutex
	waiting []*member
	leaders int
}

// join returns once a pack has taken m, or when m no longer waits. run gets the packs that m leads.
func (q *packs) join(m *member, run func([]*member)) {
	m.wake = make(chan bool, 1)
	q.mu.Lock()
	lead := q.leaders < packsAtOnce
	if lead {
		q.leaders++
	} else {
		q.waiting = append(q.waiting, m)
	}
	q.mu.Unlock()
	if !lead {
		select {
		case lead = <-m.wake:
		case <-m.ctx.Done():
			if q.drop(m) {
				return
			}
			lead = <-m.wake
		}
		if !lead {
			return
		}
	}
	pack := q.take(m)
	defer q.leave(pack)
	run(pack)
}

// drop removes a member that waits. It reports false once a pack has taken it or it is to lead one.
func (q *packs) drop(m *member) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, m)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// take returns a pack of its leader and of those that wait, one for each payment.
func (q *packs) take(leader *member) []*member {
	q.mu.Lock()
	defer q.mu.Unlock()
	pack, keys := []*member{leader}, map[string]bool{leader.key: true}
	q.waiting = slices.DeleteFunc(q.waiting, func(m *member) bool {
		if len(pack) == packMost || keys[m.key] {
			return false
		}
		pack, keys[m.key] = append(pack, m), true
		return true
	})
	return pack
}

// leave wakes the members of a pack, and the leader of the next.
func (q *packs) leave(pack []*member) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range pack[1:] {
		m.wake <- false
	}
	if len(q.waiting) == 0 {
		q.leaders--
		return
	}
	next := q.waiting[0]
	q.waiting = q.waiting[1:]
	next.wake <- true
}

// packed changes a payment in a pack. It reports false where the change has to be made alone. Then it has done nothing.
func (s *Store) packed(m *member) bool {
	m.alone = true
	s.packs.join(m, s.changePack)
	if !m.alone {
		s.follow(m.done)
	}
	return !m.alone
}

// errUnfit undoes a pack that has written something for a member that it cannot take.
var errUnfit = errors.New("a change cannot share a transaction")

// changePack makes the changes of a pack that can share a transaction, and clears alone of their members.
func (s *Store) changePack(pack []*member) {
	defer func() { // a member that panics does so again, alone
		if p := recover(); p != nil {
			s.undone(pack, fmt.Errorf("panic: %v", p))
			for _, m := range pack {
				m.alone = true
			}
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(pack[0].ctx), packWithin)
	defer cancel()
	pack = slices.DeleteFunc(slices.Clone(pack), func(m *member) bool { return m.ctx.Err() != nil })
	for try := 0; try < packTries && len(pack) > 0; try++ {
		err := s.tryPack(ctx, pack)
		if err == nil {
			return
		}
		fit := slices.DeleteFunc(slices.Clone(pack), func(m *member) bool { return m.alone })
		for _, m := range pack {
			m.alone = true
		}
		if !errors.Is(err, errUnfit) {
			s.undone(pack, err)
			return
		}
		pack = fit
	}
}

// undone logs that the changes of a pack are made alone: a fault of packs shows as latency only.
func (s *Store) undone(pack []*member, err error) {
	if s.Log != nil && len(pack) > 0 {
		s.Log.WarnContext(pack[0].ctx, "pack of changes undone", "changes", len(pack), "err", err)
	}
}

// tryPack makes the changes in one transaction. After it returns nil, a member that is not alone is changed.
func (s *Store) tryPack(ctx context.Context, pack []*member) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		pack, err := s.lockPack(ctx, tx, pack)
		if err != nil || len(pack) == 0 {
			return err
		}
		if pack, err = s.newsOf(ctx, tx, pack); err != nil || len(pack) == 0 {
			return err
		}
		now, err := s.readPack(ctx, tx, pack)
		if err != nil {
			return err
		}
		defer func() {
			for _, m := range pack {
				if m.span != nil {
					m.span.End()
				}
			}
		}()
		if err := s.decidePack(pack, now); err != nil {
			return err
		}
		return s.writePack(ctx, tx, pack, now)
	})
}

// lockPack locks the payments that nobody else has locked and returns their members.
func (s *Store) lockPack(ctx context.Context, tx pgx.Tx, pack []*member) ([]*member, error) {
	var ids, modes, families, addresses []string
	var byID, byAddress []*member
	for _, m := range pack {
		m.alone, m.ended, m.view, m.to, m.done, m.span = true, false, change.View{}, change.Result{}, effects{about: m.ctx}, nil
		if in := m.in; in != nil {
			byAddress, modes, families, addresses = append(byAddress, m), append(modes, string(in.Mode)), append(families, string(in.Family)), append(addresses, in.Address)
		} else {
			byID, ids = append(byID, m), append(ids, m.key)
		}
	}
	locked, read := map[string]bool{}, s.reader(whole)
	batch := &pgx.Batch{}
	into := func(members []*member) func(pgx.Rows) error {
		return func(rows pgx.Rows) error {
			var place int
			for rows.Next() {
				p, err := read.scan(placed{rows, &place})
				if err != nil {
					return err
				}
				if m := members[place-1]; !locked[p.ID] { // a transfer and a payout of one payment take turns
					locked[p.ID], m.alone, m.view.Payment = true, false, p
				}
			}
			return rows.Err()
		}
	}
	batch.Queue(postgres.OnePlanSQL)
	if len(byID) > 0 {
		batch.Queue(lockPayments, ids).Query(into(byID))
	}
	if len(byAddress) > 0 {
		batch.Queue(lockPaymentsByAddress, modes, families, addresses).Query(into(byAddress))
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("lock the payments of a pack: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(pack), func(m *member) bool { return m.alone }), nil
}

// placed is a row that begins with its place in a list.
type placed struct {
	pgx.CollectableRow
	place *int
}

// Scan implements pgx.Row.
func (p placed) Scan(into ...any) error {
	return p.CollectableRow.Scan(append([]any{p.place}, into...)...)
}

// newsOf stores the snapshots of transfers as Receive does, and returns the members whose payments are to be decided
// on.
func (s *Store) newsOf(ctx context.Context, tx pgx.Tx, pack []*member) ([]*member, error) {
	open := func(m *member) bool { return m.in != nil && !m.ended }
	var messages []string
	for _, m := range pack {
		if open(m) {
			messages = append(messages, m.in.MessageID)
		}
	}
	if len(messages) == 0 {
		return pack, nil
	}
	fresh, err := inbox.FreshOf(ctx, tx, messages)
	if err != nil {
		return nil, err
	}
	for _, m := range pack {
		m.ended = m.in != nil && !fresh[m.in.MessageID]
	}
	var values [][]any
	var asked []*member
	for _, m := range pack {
		if open(m) && finality(*m.in, m.view.Payment) {
			values, asked = append(values, finalValues(*m.in, m.view.Payment)), append(asked, m)
		}
	}
	written, err := writtenOf(ctx, tx, finalDeposits, values)
	if err != nil {
		return nil, fmt.Errorf("write the finality of deposits: %w", err)
	}
	for i, m := range asked {
		m.ended = written[i]
	}
	values, asked = nil, nil
	for _, m := range pack {
		if open(m) {
			values, asked = append(values, depositValues(*m.in, m.view.Payment.ID)), append(asked, m)
		}
	}
	if written, err = writtenOf(ctx, tx, upsertDeposits, values); err != nil {
		return nil, fmt.Errorf("write deposits: %w", err)
	}
	var old []*member
	for i, m := range asked {
		if m.ended = !written[i]; m.ended {
			old = append(old, m)
		}
	}
	for _, m := range old {
		if err := s.passedOver(ctx, tx, &m.done, *m.in); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(pack), func(m *member) bool { return m.ended }), nil
}

// writtenOf runs a statement over lists, which returns the places of the rows that it wrote.
func writtenOf(ctx context.Context, tx pgx.Tx, sql string, rows [][]any) ([]bool, error) {
	written := make([]bool, len(rows))
	if len(rows) == 0 {
		return written, nil
	}
	found, err := tx.Query(ctx, sql, lists(rows)...)
	if err != nil {
		return nil, err
	}
	var place int
	_, err = pgx.ForEachRow(found, []any{&place}, func() error {
		written[place-1] = true
		return nil
	})
	return written, err
}

// readPack reads what the changes see, and the database's clock.
func (s *Store) readPack(ctx context.Context, tx pgx.Tx, pack []*member) (now time.Time, err error) {
	read := &pgx.Batch{}
	ids, payouts := make([]string, len(pack)), map[string]*member{}
	modes, leaves := map[tenant.Mode]*change.View{}, false
	for i, m := range pack {
		ids[i] = m.view.Payment.ID
		if m.at.payoutID != "" {
			payouts[m.at.payoutID] = m
		} else if m.view.Payment.Attempt > 0 { // before that it has none
			read.Queue(selectLastPayout, ids[i]).Query(s.collectPayout(&m.view))
		}
		queueRefunds(read, &m.view)
		leaves = leaves || m.at.leaves
	}
	read.Queue(selectPackDeposits, ids).Query(func(rows pgx.Rows) error {
		var place int
		for rows.Next() {
			d, err := scanDeposit(placed{rows, &place})
			if err != nil {
				return err
			}
			v := &pack[place-1].view
			v.Rows = append(v.Rows, d)
		}
		return rows.Err()
	})
	if len(payouts) > 0 {
		of := make([]string, 0, len(payouts))
		for id := range payouts {
			of = append(of, id)
		}
		read.Queue(selectPackPayouts, of).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				o, err := s.scanPayout(rows)
				if err != nil {
					return err
				}
				payouts[o.ID].view.Payout = o
			}
			return rows.Err()
		})
	}
	if leaves {
		s.queuePausedPack(read, pack)
	}
	for _, m := range pack {
		if mode := m.view.Payment.Mode; modes[mode] == nil {
			modes[mode] = &change.View{}
			read.Queue(selectMoment, string(mode)).Query(collectMoment(modes[mode], &now))
		}
	}
	if err := tx.SendBatch(ctx, read).Close(); err != nil {
		return now, fmt.Errorf("read deposits and payouts of a pack: %w", err)
	}
	for _, m := range pack {
		m.view.Heads = modes[m.view.Payment.Mode].Heads
	}
	return now, nil
}

// decidePack asks each change for its result. A change without a transfer has written nothing yet, so it may leave the
// pack here.
func (s *Store) decidePack(pack []*member, now time.Time) error {
	unfit := false
	for _, m := range pack {
		m.done.about, m.span = continued(m.ctx, m.view.Payment)
		var err error
		if m.to, err = m.f(m.view, now.UTC()); err != nil || s.entangled(m.view.Payment, m.to) {
			m.alone, unfit = true, unfit || m.in != nil
		}
	}
	if unfit {
		return errUnfit
	}
	return nil
}

// writePack writes the results: first the payments' own rows, then their accounts together, by code.
func (s *Store) writePack(ctx context.Context, tx pgx.Tx, pack []*member, now time.Time) error {
	w := newWrites(true)
	for _, m := range pack {
		if m.alone {
			continue
		}
		m.done.mode, m.done.alerts = m.view.Payment.Mode, m.to.Alerts
		if err := s.write(m.done.about, w, m.view, m.to, now.UTC(), &m.done); err != nil {
			return err
		}
	}
	return wrap(w.send(ctx, tx), "write a pack")
}

// entangled reports a result that locks or reads rows which other payments share: daily limits, balances of merchants,
// and everything that a person has asked for.
func (s *Store) entangled(before payment.Payment, r change.Result) bool {
	if r.WalletID != "" || r.Withdrawal != nil || r.Decision != nil || r.Approval != nil || r.Withdrawn || r.Audit != nil ||
		len(r.Reservations)+len(r.Lookups)+len(r.Refunding)+len(r.Differing) > 0 || r.Answer != nil || r.Refused != nil {
		return true
	}
	if len(r.Facts) == 0 {
		return false
	}
	limits := &pgx.Batch{}
	if s.queueLimits(limits, before, r.Payment, r); limits.Len() > 0 {
		return true
	}
	return slices.ContainsFunc(r.Facts, func(f payment.Fact) bool {
		switch f := f.(type) {
		case payment.KeepRefund:
			return true
		case payment.Post:
			return slices.ContainsFunc(f.Journal.Entries, func(e ledger.Entry) bool { return e.Account.Kind() == ledger.KindMerchant })
		}
		return false
	})
}
