// Package store keeps payments, deposits, payouts, the ledger and the stock of addresses in PostgreSQL. It writes the
// results of the use cases and of the pure packages and decides nothing itself. It calls no service but the database.
// Only this package of the service imports pgx.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/gather"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/inbox"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/refund"
	"causeway.internal/services/payments/internal/views"
)

// Store is the payments database. It is safe for concurrent use.
type Store struct {
	Options
	pool    *pgxpool.Pool
	now     func() time.Time
	packs   packs
	aside   gather.Places // a place for each change that a pack left to its caller
	lone    gather.Places // a place for each create that was left to its caller
	births  gather.Calls[birth, idempotency.Delivered]
	limited gather.Calls[birth, idempotency.Delivered] // of payments that count against daily limits
	views   lookup                                     // of an owner's payment with what answers show of it
	wholes  lookup                                     // the same with all that a decision needs
	replays gather.Calls[idempotency.Key, idempotency.Found]
	sends   *idempotency.Shared[sending]
	saves   gather.Calls[payout.Payout, bool]
	frauds  gather.Calls[suspects, bool]
	payers  gather.Calls[string, senders]
	vault
}

// Options holds the settings of a store and the functions that it calls. A function that is nil is not called.
type Options struct {
	Render    views.Renderer
	Keys      *keyring.Ring                 // seals personal data
	EventKeys keyring.Optional              // seals the bodies of events for the dispatcher
	TokenKeys *keyring.Ring                 // seals settlement tokens for the dispatcher; without it events carry none
	TokenLife time.Duration                 // of those settlement tokens
	Daily     admission.Daily               // payouts are compared with these limits before they leave
	Wake      func()                        // after every commit that left a message in the outbox
	Alert     func(tenant.Mode, alert.Code) // for every alert to operators
	Moved     func(Move)                    // after the commit of every change of state
	Attached  func()                        // for every archived payment that a change attaches
	Log       *slog.Logger
}

// New makes a store over a pool.
func New(pool *pgxpool.Pool, o Options) *Store {
	if o.Wake == nil {
		o.Wake = func() {}
	}
	if o.Alert == nil {
		o.Alert = func(tenant.Mode, alert.Code) {}
	}
	if o.Moved == nil {
		o.Moved = func(Move) {}
	}
	if o.Attached == nil {
		o.Attached = func() {}
	}
	s := &Store{
		Options: o, pool: pool, now: time.Now, vault: vault{o.Keys}, aside: gather.NewPlaces(pool.Config().MaxConns / 2),
		lone: gather.NewPlaces(pool.Config().MaxConns / 4),
	}
	s.births.All, s.births.Within, s.births.Once = s.deliver, idempotency.ConnectWithin, true
	s.limited.All, s.limited.Within, s.limited.Once = s.deliver, idempotency.ConnectWithin, true
	s.sends = idempotency.NewShared(pool, o.Log, func(one sending) idempotency.Key { return one.key }, queueSends)
	s.replays.All, s.replays.Within = s.replayAll, findWithin
	s.views.set, s.views.one, s.views.several = shown, findOwned, findAllOwned
	s.wholes.set, s.wholes.one, s.wholes.several = whole, findWholeOwned, findAllWholeOwned
	for _, l := range []*lookup{&s.views, &s.wholes} {
		l.All, l.Within = func(ctx context.Context, all []owned) ([]read, error) { return s.findAll(ctx, l, all) }, findWithin
	}
	s.saves.All, s.frauds.All, s.payers.All = s.savePayouts, s.fraudsConfirmed, s.sendersOf
	return s
}

// GiveAway implements intake.Store.
func (s *Store) GiveAway(ctx context.Context, o tenant.Owner, reference string, k idempotency.Key, a idempotency.Answer) error {
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if err := idempotency.Put(ctx, tx, k, a); err != nil || reference == "" {
			return err
		}
		_, err := tx.Exec(ctx, giveReference, o.MerchantID, string(o.Mode), reference, elsewhere)
		return err
	})
	switch {
	case err == nil:
		return nil
	case isReferenceTaken(err):
		return change.ErrMerchantReference
	case k.Sent() && idempotency.IsTaken(err):
		return idempotency.ErrTaken
	}
	return fmt.Errorf("give a create away: %w", err)
}

// event renders a webhook event as its outbox message.
func (s *Store) event(ctx context.Context, e payment.Event, v change.View, token string) (outbox.Message, error) {
	now := s.now().UTC()
	// After a restore of the database the same event may be made again. It must not reach the merchant under another id.
	eventID := id.Derived(id.Event, e.Payment.ID, e.Payment.CreatedAt, e.Payment.Sequence, e.Type+" "+string(e.Payment.Status()))
	v.Payment, v.Token = e.Payment, e.WithToken && token != ""
	body, err := s.Render.EventBody(eventID, e.Type, now, v)
	if err != nil {
		return outbox.Message{}, err
	}
	return outbox.Encode(ctx, wire.PaymentStatusChangedV1, eventID, wire.StatusChanged{
		EventID: eventID, Type: e.Type, MerchantID: e.Payment.MerchantID, Mode: e.Payment.Mode, ObjectID: e.Payment.ID,
		Sequence: e.Payment.Sequence, CallbackURL: e.Payment.CallbackURL, OccurredAt: now, Body: s.EventKeys.Seal(body, wire.BodyPlace(eventID)),
		Token: s.sealedToken(v.Token, token, eventID),
	})
}

// Find implements views.Store.
func (s *Store) Find(ctx context.Context, o tenant.Owner, reference string) (change.View, error) {
	return s.findOwned(ctx, &s.views, o, reference)
}

// lookup reads payments of owners with some of their columns. Look-ups that come together share a statement.
type lookup struct {
	gather.Calls[owned, read]
	set          func(column) bool
	one, several string // statements
}

func (s *Store) findOwned(ctx context.Context, l *lookup, o tenant.Owner, reference string) (change.View, error) {
	read, err := l.Ask(ctx, owned{o, reference})
	if err = cmp.Or(err, read.err); err != nil {
		return change.View{}, notFound(err, "read payment")
	}
	if p := read.Payment; p.Reference != reference || p.MerchantID != o.MerchantID || p.Mode != o.Mode {
		return change.View{}, change.ErrNotFound
	}
	return s.around(ctx, read.Payment)
}

// findWithin bounds a shared look-up in time. After it each caller looks alone, for as long as it likes.
const findWithin = 2 * time.Second

// owned names a payment of an owner.
type owned struct {
	tenant.Owner
	reference string
}

// read is a payment, or why it cannot be read.
type read struct {
	payment.Payment
	err error
}

// findAll reads payments of owners. Where an owner has none of that reference, there is an empty one or ErrNoRows.
func (s *Store) findAll(ctx context.Context, l *lookup, all []owned) ([]read, error) {
	found, reader := make([]read, len(all)), s.reader(l.set)
	if len(all) == 1 {
		p, err := reader.scan(s.pool.QueryRow(ctx, l.one, all[0].reference, all[0].MerchantID, string(all[0].Mode)))
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
		found[0] = read{p, err}
		return found, nil
	}
	references, merchants, modes := make([]string, len(all)), make([]string, len(all)), make([]string, len(all))
	for i, o := range all {
		references[i], merchants[i], modes[i] = o.reference, o.MerchantID, string(o.Mode)
	}
	err := postgres.Planned(ctx, s.pool, postgres.OnePlanSQL, func(rows pgx.Rows) error {
		var place int
		for rows.Next() {
			p, err := reader.scan(placed{rows, &place})
			if rows.Err() != nil {
				break
			}
			found[place-1] = read{p, err}
		}
		return rows.Err()
	}, l.several, references, merchants, modes)
	return found, err
}

// find reads a payment in one statement, and what is around it.
func (s *Store) find(ctx context.Context, set func(column) bool, sql string, args ...any) (change.View, error) {
	p, err := s.reader(set).scan(s.pool.QueryRow(ctx, sql, args...))
	if err != nil {
		return change.View{}, notFound(err, "read payment")
	}
	return s.around(ctx, p)
}

// around adds to a payment its deposits and payout, if it has any, in a second round trip. Most payments that are read
// have neither yet, and three statements that find nothing cost more than the one that reads the payment.
func (s *Store) around(ctx context.Context, p payment.Payment) (change.View, error) {
	v := change.View{Payment: p}
	if !moved(p) {
		return v, nil
	}
	batch := &pgx.Batch{}
	batch.Queue(readDepositRows, p.ID).Query(collectRows(&v))
	batch.Queue(readLastPayout, p.ID).Query(s.collectPayout(&v))
	batch.Queue(selectMoment, string(p.Mode)).Query(collectMoment(&v, new(time.Time)))
	queueRefunds(batch, &v)
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return change.View{}, fmt.Errorf("read deposits and payout of payment %s: %w", p.ID, err)
	}
	return v, nil
}

// moved reports whether the payment has a valid transfer or ever had a payout or a refund.
func moved(p payment.Payment) bool { return p.Transfers > 0 || p.Attempt > 0 || p.Refunds > 0 }

func notFound(err error, doing string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return change.ErrNotFound
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func collectRows(v *change.View) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		v.Rows, err = pgx.CollectRows(rows, scanDeposit)
		return err
	}
}

func (s vault) collectPayout(v *change.View) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, s.scanPayout)
		if len(found) > 0 {
			v.Payout = found[0]
		}
		return err
	}
}

// collectMoment reads the chain heads and the database's clock.
func collectMoment(v *change.View, now *time.Time) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		v.Heads = map[string]change.Head{}
		var network string
		var h change.Head
		var quiet int64
		_, err := pgx.ForEachRow(rows, []any{now, &network, &h.Height, &h.Time, &h.State, &quiet}, func() error {
			if network != "" {
				h.Quiet = microseconds(quiet)
				v.Heads[network] = h
			}
			return nil
		})
		return err
	}
}

// Update implements deposits.Store.
func (s *Store) Update(ctx context.Context, paymentID string, f change.Func) error {
	if s.packed(&member{ctx: ctx, key: paymentID, at: byID(paymentID), f: f}) {
		return nil
	}
	return s.apart(ctx, func(tx pgx.Tx, done *effects) error {
		return s.change(ctx, tx, done, f, byID(paymentID))
	})
}

// apart makes a change that a pack left to its caller. Many may wait for one payment's lock, so they hold half of the
// connections at most.
func (s *Store) apart(ctx context.Context, f func(tx pgx.Tx, done *effects) error) error {
	return s.aside.In(ctx, func() error { return s.inTx(ctx, f) })
}

// ClaimPayout implements payouts.Store.
func (s *Store) ClaimPayout(ctx context.Context, paymentID, payoutID string, f change.Func) error {
	at := byPayout(paymentID, payoutID)
	at.leaves = true
	return s.changePayout(ctx, f, at)
}

// UpdatePayout implements payouts.Store.
func (s *Store) UpdatePayout(ctx context.Context, paymentID, payoutID string, f change.Func) error {
	return s.changePayout(ctx, f, byPayout(paymentID, payoutID))
}

func (s *Store) changePayout(ctx context.Context, f change.Func, at target) error {
	if at.withdrawn() == "" && s.packed(&member{ctx: ctx, key: at.args[0].(string), at: at, f: f}) {
		return nil
	}
	return s.apart(ctx, func(tx pgx.Tx, done *effects) error {
		return s.change(ctx, tx, done, f, at)
	})
}

// UpdateOnce changes a payment by its id and stores the answer under the key.
func (s *Store) UpdateOnce(ctx context.Context, paymentID string, k idempotency.Key, f change.Func) error {
	return s.changeOnce(ctx, k, f, byID(paymentID))
}

// UpdatePayoutOnce implements operators.Store.
func (s *Store) UpdatePayoutOnce(ctx context.Context, paymentID, payoutID string, k idempotency.Key, f change.Func) error {
	return s.changeOnce(ctx, k, f, byPayout(paymentID, payoutID))
}

// UpdateOwned implements access.Store.
func (s *Store) UpdateOwned(ctx context.Context, o tenant.Owner, reference string, k idempotency.Key, f change.Func) error {
	return s.changeOnce(ctx, k, f, target{lock: lockOwned, args: []any{reference, o.MerchantID, string(o.Mode)}})
}

// SendOwned implements sandbox.Store.
func (s *Store) SendOwned(ctx context.Context, o tenant.Owner, reference string, k idempotency.Key, f change.Func) error {
	v, err := s.findOwned(ctx, &s.wholes, o, reference)
	if err != nil {
		return err
	}
	ctx, span := continued(ctx, v.Payment)
	defer span.End()
	now := s.now().UTC()
	r, err := f(v, now)
	if err != nil {
		return err
	}
	done := effects{about: ctx}
	w := newWrites(false)
	if err := s.write(ctx, w, v, change.Result{Commands: r.Commands}, now, &done); err != nil {
		return err
	}
	one := sending{messages: w.messages}
	if r.Answer != nil {
		one.key, one.answer = k, *r.Answer
	}
	if err := s.sends.Write(ctx, one); err != nil {
		return refusedOnce(k, fmt.Errorf("send for payment %s: %w", v.Payment.ID, err))
	}
	s.follow(done)
	return nil
}

// sending is what a request sends without a change of its payment, with the answer that is kept under its key.
type sending struct {
	messages []outbox.Message
	key      idempotency.Key
	answer   idempotency.Answer
}

func queueSends(batch *pgx.Batch, all []sending) {
	var messages []outbox.Message
	keys, answers := make([]idempotency.Key, len(all)), make([]idempotency.Answer, len(all))
	for i, one := range all {
		messages = append(messages, one.messages...)
		keys[i], answers[i] = one.key, one.answer
	}
	idempotency.QueuePutAll(batch, keys, answers)
	if len(messages) > 0 {
		sql, args := outbox.Statement(messages)
		batch.Queue(sql, args...)
	}
}

// changeOnce is change in its own transaction, which stores the answer under the key.
func (s *Store) changeOnce(ctx context.Context, k idempotency.Key, f change.Func, at target) error {
	err := s.inTx(ctx, func(tx pgx.Tx, done *effects) error {
		return s.change(ctx, tx, done, func(v change.View, now time.Time) (change.Result, error) {
			r, err := f(v, now)
			r.Key = k
			return r, err
		}, at)
	})
	return refusedOnce(k, err)
}

// refusedOnce is the error of a change under a key as callers know it.
func refusedOnce(k idempotency.Key, err error) error {
	switch pg, ok := errors.AsType[*pgconn.PgError](err); {
	case k.Sent() && idempotency.IsTaken(err):
		return idempotency.ErrTaken
	case isOverLimit(err):
		return change.ErrDailyLimit
	case ok && pg.Code == lockNotAvailable:
		return change.ErrBusy.Because(err)
	}
	return err
}

// lockNotAvailable is PostgreSQL's code for a lock that did not become free within the session's lock timeout.
const lockNotAvailable = "55P03"

// Replay implements access.Store. Requests that come together share a statement.
func (s *Store) Replay(ctx context.Context, k idempotency.Key) (idempotency.Answer, bool, error) {
	if !k.Sent() {
		return idempotency.Answer{}, false, nil
	}
	found, err := s.replays.Ask(ctx, k)
	return found.Answer, found.Known, cmp.Or(err, found.Err)
}

func (s *Store) replayAll(ctx context.Context, keys []idempotency.Key) ([]idempotency.Found, error) {
	if len(keys) == 1 {
		a, known, err := idempotency.Find(ctx, s.pool, keys[0])
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
		return []idempotency.Found{{Answer: a, Known: known, Err: err}}, nil
	}
	batch := &pgx.Batch{}
	batch.Queue(postgres.ByIndexSQL)
	found := idempotency.QueueFindAll(batch, keys)
	return found, wrap(s.pool.SendBatch(ctx, batch).Close(), "look for earlier answers")
}

// Settled implements access.Store.
func (s *Store) Settled(ctx context.Context, k idempotency.Key) (idempotency.Answer, error) {
	return idempotency.Replay(ctx, s.pool, k)
}

// Receive implements deposits.Store. It locks the payment before the deposit row, so that changes of one payment are
// serial. An address without a payment is locked too, because an operator may be giving it one; a payment that came
// while this waited for the lock is found by a second look.
func (s *Store) Receive(ctx context.Context, in change.Incoming, f change.Func, stray change.Stray) error {
	if s.packed(&member{ctx: ctx, key: strings.Join([]string{string(in.Mode), string(in.Family), in.Address}, "/"), in: &in, f: f}) {
		return nil
	}
	return s.apart(ctx, func(tx pgx.Tx, done *effects) error {
		p, found, err := s.byAddress(ctx, tx, in.Mode, string(in.Family), in.Address)
		if err == nil && !found {
			if _, err := tx.Exec(ctx, lockAddress, string(in.Mode), string(in.Family), in.Address); err != nil {
				return fmt.Errorf("lock an address: %w", err)
			}
			p, found, err = s.byAddress(ctx, tx, in.Mode, string(in.Family), in.Address)
		}
		if err != nil {
			return err
		}
		if fresh, err := inbox.Fresh(ctx, tx, in.MessageID); err != nil || !fresh {
			return err
		}
		if noted, err := s.noteFinal(ctx, tx, in, p); err != nil || noted {
			return err
		}
		tag, err := tx.Exec(ctx, upsertDeposit, depositValues(in, p.ID)...)
		if err != nil {
			return fmt.Errorf("write deposit %s: %w", in.Deposit.Key, err)
		}
		if tag.RowsAffected() == 0 {
			return s.passedOver(ctx, tx, done, in)
		}
		if found {
			return s.changeLocked(ctx, tx, done, f, p, target{})
		}
		return s.stray(ctx, tx, done, in, stray)
	})
}

// noteFinal writes the snapshot of a transfer that has become final, where that is all that is new and the payment has
// converted the transfer. Its state does not depend on the depth then, except for the credit of a merchant's balance.
func (s *Store) noteFinal(ctx context.Context, tx pgx.Tx, in change.Incoming, p payment.Payment) (noted bool, err error) {
	if !finality(in, p) {
		return false, nil
	}
	tag, err := tx.Exec(ctx, finalDeposit, finalValues(in, p)...)
	if err != nil {
		return false, fmt.Errorf("write deposit %s: %w", in.Deposit.Key, err)
	}
	return tag.RowsAffected() == 1, nil
}

// finality reports a snapshot for which noteFinal may be enough.
func finality(in change.Incoming, p payment.Payment) bool {
	return in.Deposit.Finalized && !in.Deposit.Reverted && p.Credit.Frozen && !p.ToBalance
}

// finalValues are the arguments of finalDeposit.
func finalValues(in change.Incoming, p payment.Payment) []any {
	d := in.Deposit
	return []any{
		string(in.Mode), d.Key, d.Version, string(in.Family), d.Network, in.Address, d.Depth, in.Number,
		d.Amount, d.BlockHash, d.Senders, string(d.Witness), string(d.Screening), d.FirstSeenAt, p.ID,
	}
}

// depositValues are the arguments of upsertDeposit.
func depositValues(in change.Incoming, paymentID string) []any {
	d := in.Deposit
	return []any{
		string(in.Mode), d.Key, d.Version, nullText(paymentID), string(in.Family), d.Network, in.Address, d.Asset,
		d.Contract, d.TxHash, d.Amount, d.Reverted, d.BlockHeight, d.BlockHash, nullTime(d.BlockTime), d.FirstSeenAt, d.Depth, d.Finalized,
		d.Senders, d.USD, in.Number, string(d.Screening), string(d.Witness), in.Verdict.Reason, in.Verdict.Lists,
	}
}

// byAddress locks the payment of an address.
func (s *Store) byAddress(ctx context.Context, tx pgx.Tx, mode tenant.Mode, family, address string) (p payment.Payment, found bool, err error) {
	p, err = s.locked(ctx, tx, lockByAddress, string(mode), family, address)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, false, nil
	}
	return p, err == nil, wrap(err, "lock the payment of an address")
}

// passedOver raises an alert for a snapshot that was ignored because its key belongs to another address. An old
// snapshot raises none.
func (s *Store) passedOver(ctx context.Context, tx pgx.Tx, done *effects, in change.Incoming) error {
	tag, err := tx.Exec(ctx, movedDeposit, string(in.Mode), in.Deposit.Key, string(in.Family), in.Address)
	if err != nil {
		return fmt.Errorf("compare deposit %s: %w", in.Deposit.Key, err)
	}
	if tag.RowsAffected() > 0 {
		done.mode = in.Mode
		done.alerts = append(done.alerts, payment.Alert{Code: alert.DepositMoved, Text: "deposit with another address than before: " + in.Deposit.Key})
	}
	return nil
}

// stray books money that arrived at an address without a payment, and removes the address from the stock.
func (s *Store) stray(ctx context.Context, tx pgx.Tx, done *effects, in change.Incoming, decide change.Stray) error {
	if _, err := tx.Exec(ctx, spoilAddress, string(in.Mode), string(in.Family), in.Address); err != nil {
		return fmt.Errorf("remove an address from the stock: %w", err)
	}
	rows, err := tx.Query(ctx, selectDeposit, string(in.Mode), in.Deposit.Key)
	if err != nil {
		return fmt.Errorf("read deposit %s: %w", in.Deposit.Key, err)
	}
	d, err := pgx.CollectExactlyOneRow(rows, scanDeposit)
	if err != nil {
		return fmt.Errorf("read deposit %s: %w", in.Deposit.Key, err)
	}
	journals, mark := decide(d)
	batch := &pgx.Batch{}
	queueJournals(batch, in.Mode, journals...)
	batch.Queue(markDeposit, markValues(in.Mode, mark)...)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("book stray deposit %s: %w", d.Key, err)
	}
	done.mode = in.Mode
	done.alerts = append(done.alerts, payment.Alert{Code: alert.StrayDeposit, Text: "deposit on an address without a payment: " + d.Key})
	return nil
}

// effects are the actions that follow the commit of a transaction.
type effects struct {
	messages bool
	mode     tenant.Mode // of the alerts
	alerts   []payment.Alert
	about    context.Context // carries trace and ids of the payment, for log lines
	token    string          // settlement token of the change
	moves    []Move
}

func (s *Store) inTx(ctx context.Context, f func(tx pgx.Tx, done *effects) error) error {
	var done effects
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		done = effects{about: ctx}
		return f(tx, &done)
	})
	if err == nil {
		s.follow(done)
	}
	return err
}

// follow does what follows the commit of a change.
func (s *Store) follow(done effects) {
	if done.messages {
		s.Wake()
	}
	for _, m := range done.moves {
		s.tell(done.about, m)
	}
	for _, a := range done.alerts {
		s.Alert(done.mode, a.Code)
		s.Log.ErrorContext(done.about, "payment needs attention", "mode", done.mode, "code", a.Code.String(), "text", a.Text)
	}
}

// target is a payment that is to change: the statement that locks it, and the payout that the change sees.
type target struct {
	lock     string
	args     []any
	payoutID string // "" is the payout of the last attempt
	leaves   bool   // the change may let the payout leave, so it sees whether that is paused or over a limit
}

func byID(paymentID string) target { return target{lock: lockByID, args: []any{paymentID}} }

func byPayout(paymentID, payoutID string) target {
	return target{lock: lockByID, args: []any{paymentID}, payoutID: payoutID}
}

// change locks a payment, calls f with it and its deposits, payout and chain heads, and writes the result.
func (s *Store) change(ctx context.Context, tx pgx.Tx, done *effects, f change.Func, at target) error {
	if at.withdrawn() != "" {
		return s.changeWithdrawal(ctx, tx, done, f, at)
	}
	p, err := s.reader(whole).scan(tx.QueryRow(ctx, at.lock, at.args...))
	if errors.Is(err, pgx.ErrNoRows) {
		if answered, err := s.answers(ctx, tx, f, at); answered || err != nil {
			return err
		}
		p, err = s.locked(ctx, tx, at.lock, at.args...)
	}
	if err != nil {
		return notFound(err, "lock payment")
	}
	return s.changeLocked(ctx, tx, done, f, p, at)
}

// changeLocked is change of a payment whose row this transaction has locked and not written.
func (s *Store) changeLocked(ctx context.Context, tx pgx.Tx, done *effects, f change.Func, p payment.Payment, at target) error {
	ctx, span := continued(ctx, p)
	defer span.End()
	done.about = ctx
	v := change.View{Payment: p}
	var now time.Time
	read := &pgx.Batch{}
	read.Queue(selectDepositRows, p.ID).Query(collectRows(&v))
	switch {
	case at.payoutID != "":
		read.Queue(selectPayout, at.payoutID).Query(s.collectPayout(&v))
	case p.Attempt > 0: // before that it has none
		read.Queue(selectLastPayout, p.ID).Query(s.collectPayout(&v))
	}
	queueRefunds(read, &v)
	if at.leaves {
		s.queuePaused(read, &v)
		s.queueOverLimit(read, &v)
	}
	read.Queue(selectMoment, string(p.Mode)).Query(collectMoment(&v, &now))
	if err := tx.SendBatch(ctx, read).Close(); err != nil {
		return fmt.Errorf("read deposits and payout of payment %s: %w", p.ID, err)
	}
	r, err := f(v, now.UTC())
	if err != nil {
		return err
	}
	if !s.mayPass(p, r) {
		return s.save(ctx, tx, done, v, r, now)
	}
	before := *done
	inner, err := tx.Begin(ctx) // a savepoint: when a limit refuses the change, the payment waits for an operator instead
	if err != nil {
		return fmt.Errorf("set a savepoint: %w", err)
	}
	if err := s.save(ctx, inner, done, v, r, now); !isOverLimit(err) {
		if err != nil {
			return err
		}
		return wrap(inner.Commit(ctx), "release a savepoint")
	}
	if err := inner.Rollback(ctx); err != nil {
		return fmt.Errorf("go back to a savepoint: %w", err)
	}
	*done, v.OverLimit = before, true
	if r, err = f(v, now.UTC()); err != nil {
		return err
	}
	return s.save(ctx, tx, done, v, r, now)
}

// save writes the result of a change.
func (s *Store) save(ctx context.Context, tx pgx.Tx, done *effects, v change.View, r change.Result, now time.Time) error {
	done.mode, done.alerts = v.Payment.Mode, r.Alerts
	w := newWrites(false)
	if err := s.write(ctx, w, v, r, now.UTC(), done); err != nil {
		return err
	}
	return wrap(w.send(ctx, tx), "write payment "+v.Payment.ID)
}

// The errors of a write that does not find its row as this transaction locked it.
var (
	errPaymentStale   = stale("payment")
	errDepositStale   = stale("deposit")
	errPayoutStale    = stale("payout")
	errScreeningStale = errors.New("the screening was not written")
	errRefundStale    = stale("refund")
	errWithdrawStale  = stale("withdrawal")
)

func stale(what string) error { return fmt.Errorf("the %s's row changed under its lock", what) }

// write queues the statements of a result, in the order of locks: first the payment, then the accounts.
func (s *Store) write(ctx context.Context, w *writes, v change.View, r change.Result, now time.Time, done *effects) error {
	batch := &w.batch
	if r.Answer != nil {
		idempotency.QueuePut(batch, r.Key, *r.Answer)
	}
	if len(r.Facts) > 0 {
		next := r.Payment
		next.Version = v.Payment.Version + 1
		next, done.token = s.issueToken(next, r.Facts, now)
		if err := s.writePayment(w, v.Payment, next, r, done); err != nil {
			return err
		}
		s.queueLimits(batch, v.Payment, next, r)
		if r.Decision != nil {
			batch.Queue(deleteApproval, next.ID)
			batch.Queue(noteDecision, next.ID, next.Version, r.Decision.Operator, r.Decision.Action, r.Decision.Reason, r.Decision.TxHash)
		}
		after := v
		if after.Payment = next; r.Payout != nil {
			after.Payout = r.Payout
		}
		if err := s.writeFacts(ctx, w, after, r.Facts, now, done); err != nil {
			return err
		}
	}
	if err := s.writeWithdrawal(ctx, w, r.Withdrawal, now, done); err != nil {
		return err
	}
	if r.Payout != nil {
		o := r.Payout
		receiver, err := s.renamed(v.Payout, *o)
		if err != nil {
			return fmt.Errorf("encode the receiver: %w", err)
		}
		w.payouts.add(w, payoutValues(*o, receiver), func(row pgx.Row) error {
			o.ReadHere = time.Now()
			return row.Scan(&o.Written, (*instant)(&o.ReadAt))
		})
	}
	if r.Audit != nil {
		if err := queueAudit(batch, v.Payment.ID, *r.Audit); err != nil {
			return err
		}
	}
	if r.Withdrawn {
		batch.Queue(deleteApproval, v.Payment.ID)
	}
	if r.Approval != nil {
		queueApproval(batch, v.Payment, *r.Approval)
	}
	for _, n := range r.Screened {
		if n.Stage == change.AtDeposit {
			batch.Queue(setVerdict, string(v.Payment.Mode), n.Deposit, string(n.Verdict.Screening()), n.Addresses).Exec(exactlyOne(errDepositStale))
		}
		args := []any{string(v.Payment.Mode), v.Payment.ID, nullText(n.Deposit), n.Stage, string(n.Verdict.Screening()), n.Verdict.Reason, n.Verdict.Lists, n.Addresses}
		if n.Stage == change.AtRefund { // a repeated one is not written
			batch.Queue(insertScreening, args...)
		} else {
			w.verdicts.add(w, args, nil)
		}
	}
	queueLookups(batch, v, r)
	for _, c := range r.Commands {
		msg, err := outbox.Encode(ctx, c.Name, c.ID, c.Payload)
		if err != nil {
			return err
		}
		w.messages, done.messages = append(w.messages, msg), true
	}
	return nil
}

// writePayment writes the row of a payment: a few columns of it on the usual way, because each costs a statement over
// lists 0.3 microseconds a row, changed or not.
func (s *Store) writePayment(w *writes, before, next payment.Payment, r change.Result, done *effects) error {
	past, read := pastOf(next, r.Facts), []any{next.ID, before.Version}
	if row, ok := usualRow(before, next); ok && r.WalletID == "" {
		w.usual.add(w, append(append(read, row.values(usual)...), nil, past.changes), past.written(done))
		return nil
	}
	row, err := s.recordOf(before, next)
	if err != nil {
		return err
	}
	if r.WalletID != "" {
		w.batch.Queue(cleanAddress, string(next.Mode), row.family, next.Address).Exec(exactlyOne(change.ErrAddressUsed))
	}
	w.payments.add(w, append(append(read, row.values(mutable)...), nullText(r.WalletID), past.changes), past.written(done))
	return nil
}

// markedAgain reports whether a later fact of the same change replaces a mark: a payment that is funded and screened at
// once marks its transfer twice, and a statement over lists writes each row once.
func markedAgain(m payment.Mark, later []payment.Fact) bool {
	return slices.ContainsFunc(later, func(f payment.Fact) bool {
		next, ok := f.(payment.Mark)
		return ok && next.Key == m.Key
	})
}

// payoutValues are the arguments of savePayout. Without a receiver the row keeps the one that it has.
func payoutValues(o payout.Payout, receiver []byte) []any {
	return []any{
		o.ID, string(o.State), o.Frozen, nullTime(o.LeaseUntil), o.Sends, nullTime(o.SentAt), o.Polls, o.Misses,
		nullTime(o.FirstMissAt), nullTime(o.NextAt), o.Paged, o.NoFloat, o.RailID, o.Reason, o.Fee, nullTime(o.DoneAt), receiver,
		o.Stopped, nullTime(o.FirstSentAt), o.Answer, nullTime(o.AnswerAt), string(o.Concluded), nullTime(o.ConcludedAt), o.Contradicted,
	}
}

// markValues are the arguments of markDeposit.
func markValues(mode tenant.Mode, m payment.Mark) []any {
	return []any{string(mode), m.Key, m.Booked, m.BookedAmount, m.Bookings, m.Counted, m.Refunded, m.BookedBlock}
}

// SavePayout implements payouts.Store.
func (s *Store) SavePayout(ctx context.Context, o payout.Payout) (saved bool, err error) {
	if o.Written == 0 {
		return false, nil
	}
	saved, err = s.saves.Ask(ctx, o)
	return saved, wrap(err, "write payout "+o.ID)
}

// savePayouts writes payouts as SavePayout does.
func (s *Store) savePayouts(ctx context.Context, all []payout.Payout) ([]bool, error) {
	saved, rows := make([]bool, len(all)), make([][]any, len(all))
	for i, o := range all {
		rows[i] = append(payoutValues(o, nil), int64(o.Written))
	}
	err := postgres.Planned(ctx, s.pool, postgres.OnePlanSQL, func(rows pgx.Rows) error {
		var place int
		_, err := pgx.ForEachRow(rows, []any{&place}, func() error {
			saved[place-1] = true
			return nil
		})
		return err
	}, savePayoutsAlone, lists(rows)...)
	return saved, err
}

// renamed is the sealed receiver of a payout whose names became known, nil when they did not change.
func (s vault) renamed(before *payout.Payout, o payout.Payout) ([]byte, error) {
	if before == nil || (before.AccountName == o.AccountName && before.BankName == o.BankName) {
		return nil, nil
	}
	return sealed(s.keys, payment.Receiver{
		BankCode: o.BankCode, BankName: o.BankName, AccountNumber: o.AccountNumber, AccountName: o.AccountName, NameVerified: o.AccountName != "",
	}, receiverPlace(o.PaymentID))
}

func exactlyOne(otherwise error) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != 1 {
			return otherwise
		}
		return nil
	}
}

var errPayoutExists = errors.New("a payout with this reference exists and was not withdrawn")

// writeFacts queues the facts of a change. v is the payment and its payout after the change. Events are rendered last,
// because each shows the payout as the other facts leave it.
func (s *Store) writeFacts(
	ctx context.Context, w *writes, v change.View, facts []payment.Fact, now time.Time, done *effects,
) error {
	batch, next := &w.batch, v.Payment
	var events []occurrence
	for i, f := range facts {
		switch f := f.(type) {
		case payment.Change: // written with the payment
		case payment.Mark:
			if markedAgain(f, facts[i+1:]) {
				continue
			}
			w.marks.add(w, markValues(next.Mode, f), nil)
		case payment.KeepRefund:
			if err := queueRefund(batch, f.Refund); err != nil {
				return err
			}
			v.Refunds = withRefund(v.Refunds, f.Refund)
		case payment.HoldPayout:
			o := hold(next, f, now)
			if v.Payout != nil && v.Payout.Reference == o.Reference { // a withdrawn row is revived and keeps its id
				o.ID, o.CreatedAt = v.Payout.ID, v.Payout.CreatedAt
			}
			receiver, err := sealed(s.keys, f.Receiver, receiverPlace(next.ID))
			if err != nil {
				return fmt.Errorf("encode the receiver: %w", err)
			}
			w.held.add(w, []any{
				o.ID, o.PaymentID, string(o.Mode), o.Reference, o.Attempt, o.Rail, string(o.Currency), o.Amount, receiver, string(o.State), now,
			}, nil)
			v.Payout = &o
		case payment.VoidPayout:
			batch.Queue(voidPayout, f.Reference, now).Exec(exactlyOne(errPayoutExists))
			if v.Payout != nil && v.Payout.Reference == f.Reference {
				withdrawn := *v.Payout
				withdrawn.State = payout.Withdrawn
				v.Payout = &withdrawn
			}
		case payment.Post:
			if err := f.Journal.Check(); err != nil {
				return err
			}
			w.journals.add(next.Mode, f.Journal)
		case payment.Alert:
			done.alerts = append(done.alerts, f)
		case payment.Event:
			events = append(events, occurrence{f, v.Refunds})
		default:
			return fmt.Errorf("a %T cannot be written", f)
		}
	}
	v.Rows = payment.Marked(v.Rows, facts)
	for _, e := range events {
		v.Refunds = e.refunds
		msg, err := s.event(ctx, e.Event, v, done.token)
		if err != nil {
			return err
		}
		w.messages, done.messages = append(w.messages, msg), true
	}
	return nil
}

// occurrence is an event with the refunds as they are when it happens.
type occurrence struct {
	payment.Event
	refunds []refund.Refund
}

// hold is the payout row of a HoldPayout.
func hold(p payment.Payment, f payment.HoldPayout, now time.Time) payout.Payout {
	return payout.Payout{
		ID: id.Beside(id.Payout, p.ID, now), PaymentID: p.ID, Reference: f.Reference, Attempt: f.Attempt, Mode: p.Mode, Rail: f.Rail,
		Amount: f.Amount, Currency: f.Currency, BankCode: f.Receiver.BankCode, BankName: f.Receiver.BankName,
		AccountNumber: f.Receiver.AccountNumber, AccountName: f.Receiver.AccountName, State: payout.Created, NextAt: now, CreatedAt: now,
	}
}
