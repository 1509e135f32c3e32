// Package store keeps reports, their counts and the figures of accused addresses in PostgreSQL. It writes the decisions
// of the use cases and the pure package and makes none itself; it sends nothing over the network. Only this package of
// the service imports pgx.
//
// Every transaction locks rows in one order, so that no two wait for each other: idempotency key, report, sources,
// counts by subject and day, accused address, marks.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/gather"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/reports/internal/app"
	"causeway.internal/services/reports/internal/report"
)

// Store is the reports database. It is safe for concurrent use.
type Store struct {
	vault
	pool   *pgxpool.Pool
	wake   func()
	events keyring.Optional // seals the bodies of events

	openings gather.Calls[opening, opened]
	births   *idempotency.Shared[birth]
}

// SealEvents makes the store seal the bodies of events for the dispatcher. Call it before the store is used.
func (s *Store) SealEvents(keys keyring.Optional) { s.events = keys }

// Session gives the pool's sessions the settings that the statements need. One plan for all arguments is always right
// for them: they read an index from a position for a number of rows. By default PostgreSQL plans most look-ups again,
// because it cannot estimate how few rows that is, and on a large table compiles them to machine code: 0.2 ms and 70 ms
// for a look-up of 0.1 ms. While its statistics say that a table is empty, it would read the whole table for each row.
func Session(cfg postgres.Config) postgres.Config {
	return cfg.With("plan_cache_mode", "force_generic_plan").With("jit", "off").With("enable_seqscan", "off")
}

// New makes a store over a pool. keys open sealed values, and seal new ones if seals says so. wake is called after
// every commit that left a message in the outbox.
func New(pool *pgxpool.Pool, log *slog.Logger, keys keyring.Optional, seals bool, wake func()) *Store {
	s := &Store{vault: vault{keys, seals}, pool: pool, wake: wake}
	s.openings.All, s.openings.Within = s.open, openWithin
	s.births = idempotency.NewShared(pool, log, func(b birth) idempotency.Key { return b.Key }, queueBirths)
	return s
}

// Replay implements app.Filing.
func (s *Store) Replay(ctx context.Context, k idempotency.Key) (idempotency.Answer, bool, error) {
	a, found, err := idempotency.Find(ctx, s.pool, k)
	if err != nil || !found {
		return idempotency.Answer{}, false, err
	}
	a.Body, err = s.openAnswer(k, a.Body)
	return a, true, err
}

// Settled implements app.Filing.
func (s *Store) Settled(ctx context.Context, k idempotency.Key) (idempotency.Answer, error) {
	a, err := idempotency.Replay(ctx, s.pool, k)
	if err != nil {
		return idempotency.Answer{}, err
	}
	a.Body, err = s.openAnswer(k, a.Body)
	return a, err
}

func subjects(r report.Report, hash report.Hash) (all [][]byte) {
	for _, subject := range r.Subjects(hash) {
		all = append(all, subject[:])
	}
	return all
}

// reporter is the hash under which a reporter is counted once.
func reporter(r report.Report, hash report.Hash) []byte { return hash(r.Reporter())[:markBytes] }

// reporters are all hashes under which a reporter may be counted.
func (s *Store) reporters(r report.Report) (all [][]byte) {
	for _, hash := range s.hashes() {
		all = append(all, reporter(r, hash))
	}
	return all
}

// message renders an event as its outbox message.
func (s *Store) message(ctx context.Context, e app.Event) (outbox.Message, error) {
	return outbox.Encode(ctx, wire.ReportStatusChangedV1, e.ID, wire.StatusChanged{
		EventID: e.ID, Type: e.Type, MerchantID: e.Report.MerchantID, Mode: e.Report.Mode, ObjectID: e.Report.Reference,
		Sequence: e.Report.Sequence, OccurredAt: e.OccurredAt.UTC(), Body: s.events.Seal(e.Body, wire.BodyPlace(e.ID)),
	})
}

// Refuse implements app.Filing.
func (s *Store) Refuse(ctx context.Context, o tenant.Owner, source app.Source, window, now time.Time) error {
	if _, err := s.pool.Exec(ctx, refuseSource, string(o.Mode), source.Address, string(source.Role), o.KeyID, o.MerchantID, window, now); err != nil {
		return fmt.Errorf("record a refused report: %w", err)
	}
	return nil
}

// Find implements app.Reading.
func (s *Store) Find(ctx context.Context, modes []tenant.Mode, reference string) (report.Report, error) {
	r, err := s.scan(s.pool.QueryRow(ctx, selectByReference, reference, words(modes)))
	return r.Report, notFound(err, "read a report")
}

func notFound(err error, doing string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return app.ErrNotFound
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// Own implements app.Reading.
func (s *Store) Own(ctx context.Context, o tenant.Owner, q report.Own) ([]report.Report, error) {
	at := newest()
	if q.After != nil {
		at = *q.After
	}
	rows, err := s.pool.Query(ctx, selectOwn, o.MerchantID, string(o.Mode), words(q.Statuses), words(q.Kinds), at.At, at.ID, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("list a merchant's reports: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(from pgx.CollectableRow) (report.Report, error) {
		r, err := s.scan(from)
		return r.Report, err
	})
	if err != nil {
		return nil, fmt.Errorf("list a merchant's reports: %w", err)
	}
	return found, nil
}

// shallow is the offset up to which a page is found by counting rows from the newest. Beyond it the counts of days find
// the day in which the page begins, so that no offset costs more than the rows of one day.
const shallow = 1000

// Lookup implements app.Reading.
func (s *Store) Lookup(ctx context.Context, modes []tenant.Mode, l report.Lookup) (app.Page, error) {
	if len(modes) == 0 {
		return app.Page{}, nil
	}
	if l.Offset > shallow {
		return s.deep(ctx, modes, l)
	}
	var p app.Page
	at := newest()
	if l.After != nil {
		at = *l.After
	}
	batch := &pgx.Batch{}
	s.queueTotal(batch, modes, l, &p.Total)
	s.queuePage(batch, modes, l, at, l.Offset, &p)
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return app.Page{}, fmt.Errorf("look up reports: %w", err)
	}
	return p, nil
}

// newest is before every report of every list.
func newest() report.Position {
	return report.Position{At: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
}

// deep finds the page at a deep offset in two trips: the day, then the rows.
func (s *Store) deep(ctx context.Context, modes []tenant.Mode, l report.Lookup) (app.Page, error) {
	var p app.Page
	var day time.Time
	var newer int64
	found := false
	subjects, weights := s.weighted(modes, l)
	batch := &pgx.Batch{}
	s.queueTotal(batch, modes, l, &p.Total)
	batch.Queue(dayOf(len(subjects)), subjects, weights, mask(l), int64(l.Offset), nil).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&day, &newer}, func() error { found = true; return nil })
		return err
	})
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return app.Page{}, fmt.Errorf("find the day of an offset: %w", err)
	}
	if !found {
		return p, nil // past the end
	}
	batch = &pgx.Batch{}
	s.queuePage(batch, modes, l, report.Position{At: day.AddDate(0, 0, 1)}, l.Offset-int(newer), &p)
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return app.Page{}, fmt.Errorf("look up reports: %w", err)
	}
	return p, nil
}

func (s *Store) weighted(modes []tenant.Mode, l report.Lookup) (subjects [][]byte, weights []int) {
	for _, w := range l.Weighted(modes, s.hashes()...) {
		subjects, weights = append(subjects, w.Subject[:]), append(weights, w.Weight)
	}
	return subjects, weights
}

func mask(l report.Lookup) []int32 {
	wanted := l.Wanted()
	return wanted[:]
}

func (s *Store) queueTotal(batch *pgx.Batch, modes []tenant.Mode, l report.Lookup, into *int64) {
	subjects, weights := s.weighted(modes, l)
	batch.Queue(totalOf, subjects, weights, mask(l)).QueryRow(func(row pgx.Row) error { return row.Scan(into) })
}

// queuePage reads one row more than the page, which shows whether there are more.
func (s *Store) queuePage(batch *pgx.Batch, modes []tenant.Mode, l report.Lookup, after report.Position, skip int, p *app.Page) {
	of, by := s.shapeOf(modes, l)
	args := append([]any{after.At, after.ID, skip + l.Limit + 1, skip, l.Limit + 1}, by...)
	batch.Queue(pages[of], args...).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, func(from pgx.CollectableRow) (report.Report, error) {
			r, err := s.scan(from)
			return r.Report, err
		})
		if p.More = len(found) > l.Limit; p.More {
			found = found[:l.Limit]
		}
		p.Reports = found
		return err
	})
}

var errStale = errors.New("the report's row changed under its lock")

// Change implements app.Changing.
func (s *Store) Change(ctx context.Context, o tenant.Owner, requestID, reference string, decide func(report.Report, time.Time) (app.Decision, error)) error {
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var now time.Time
		var old row
		read := &pgx.Batch{}
		read.Queue(lockOwned, reference, o.MerchantID, string(o.Mode)).QueryRow(func(from pgx.Row) (err error) {
			old, err = s.scan(from)
			return err
		})
		read.Queue(clock).QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
		if err := notFound(tx.SendBatch(ctx, read).Close(), "lock a report"); err != nil {
			return err
		}
		d, err := decide(old.Report, now.UTC())
		if err != nil {
			return err
		}
		return s.rewrite(ctx, tx, o, requestID, old, d)
	})
	if err != nil {
		return err
	}
	s.wake()
	return nil
}

// rewrite writes a change and its consequences, in the order of locks.
func (s *Store) rewrite(ctx context.Context, tx pgx.Tx, o tenant.Owner, requestID string, old row, d app.Decision) error {
	r := d.Report
	kept, err := s.rekeep(old, r)
	if err != nil {
		return err
	}
	hash, err := s.hash(old)
	if err != nil {
		return err
	}
	msg, err := s.message(ctx, d.Event)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	c := kept.clear()
	batch.Queue(updateReport, r.ID, old.Version, string(r.Status), null(c.Confirmer), null(c.Notes), r.Version, r.Sequence, r.UpdatedAt, kept.person).
		Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() != 1 {
				return errStale
			}
			return nil
		})
	batch.Queue(insertHistory, r.ID, r.Version, string(old.Status), string(r.Status), o.MerchantID, o.KeyID, requestID, r.UpdatedAt)
	batch.Queue(outbox.InsertSQL, msg.Args()...)
	move := report.One(r.Status, r.Kind).Minus(report.One(old.Status, old.Kind))
	counts := tally{}
	counts.add(r.Subjects(hash), r.CreatedAt, move)
	counts.queue(batch)
	if r.Fraudster != "" {
		batch.Queue(moveAccused, string(r.Mode), report.AddressKey(r.Fraudster), move[:])
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("write report %d: %w", r.ID, err)
	}
	if r.Convicts() && !old.Convicts() {
		return convict(ctx, tx, d.Event, r)
	}
	return nil
}

// convict counts a resolved fraud report against its address and sends payments the number of merchants with one.
func convict(ctx context.Context, tx pgx.Tx, e app.Event, r report.Report) error {
	signal := wire.FraudSignal{Mode: r.Mode, Address: report.AddressKey(r.Fraudster), OccurredAt: r.UpdatedAt}
	row := tx.QueryRow(ctx, convictAccused, string(r.Mode), signal.Address, mark(r.MerchantID))
	if err := row.Scan(&signal.Merchants, &signal.Reports, &signal.Version, &signal.Confirmed); err != nil {
		return fmt.Errorf("count against an address: %w", err)
	}
	return tell(ctx, tx, e.ID, signal)
}

// tell writes a signal for payments.
func tell(ctx context.Context, tx pgx.Tx, eventID string, signal wire.FraudSignal) error {
	msg, err := outbox.Encode(ctx, wire.FraudSignalV1, "sig_"+eventID, signal)
	if err != nil {
		return err
	}
	return outbox.Insert(ctx, tx, msg)
}
