package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/reports/internal/app"
	"causeway.internal/services/reports/internal/report"
)

// Reports that are filed while others are being written share the next transaction, which has one statement for all
// rows of a table. It waits only briefly for a row that another request has locked. If it fails, or if two requests in
// it have one key, each report is written alone by its own caller. So no request makes another's fail.
const (
	connectWithin = 3 * time.Second
	insertWithin  = 10 * time.Second // longer than the statements may take, because a commit may wait for a standby
	briefly       = `SELECT set_config('lock_timeout', '50ms', true), set_config('statement_timeout', '2s', true)`
)

// filing is what a report's caller asks before it is written.
type filing struct {
	owner   tenant.Owner
	sources []app.Source
	key     idempotency.Key
}

// opened is the answer to a filing.
type opened struct {
	app.Opening
	earlier idempotency.Found
}

// Open implements app.Filing.
func (s *Store) Open(ctx context.Context, o tenant.Owner, sources []app.Source, k idempotency.Key) (app.Opening, error) {
	open, err := s.filings.Ask(ctx, filing{o, sources, k})
	if err != nil {
		return app.Opening{}, fmt.Errorf("open a report: %w", err)
	}
	if open.earlier.Known || open.earlier.Err != nil {
		a, err := open.earlier.Answer, open.earlier.Err
		if err == nil {
			a.Body, err = s.openAnswer(k, a.Body)
		}
		return app.Opening{Earlier: &a}, err
	}
	return open.Opening, nil
}

// open answers filings in one round trip.
func (s *Store) open(ctx context.Context, all []filing) ([]opened, error) {
	out := make([]opened, len(all))
	keys := make([]idempotency.Key, len(all))
	var of, places []int // of each source: whose it is, and its place among those of its filing
	var modes, addresses, roles []string
	var ids []int64
	for i, f := range all {
		out[i].Filed, keys[i] = make([]int64, len(f.sources)), f.key
		for place, source := range f.sources {
			of, places = append(of, i), append(places, place)
			modes, addresses, roles, ids = append(modes, string(f.owner.Mode)), append(addresses, source.Address), append(roles, string(source.Role)), append(ids, f.owner.KeyID)
		}
	}
	batch := &pgx.Batch{}
	earlier := idempotency.QueueFindAll(batch, keys)
	batch.Queue(openReports, len(all)).Query(func(rows pgx.Rows) error {
		i := 0
		for ; rows.Next() && i < len(out); i++ {
			if err := rows.Scan(&out[i].ID, &out[i].Now, &out[i].Window); err != nil {
				return err
			}
			out[i].Now, out[i].Window = out[i].Now.UTC(), out[i].Window.UTC()
		}
		rows.Close()
		return rows.Err()
	})
	if len(of) > 0 {
		batch.Queue(filedThisHour, modes, addresses, roles, ids).Query(func(rows pgx.Rows) error {
			var n int
			var filed int64
			_, err := pgx.ForEachRow(rows, []any{&n, &filed}, func() error {
				out[of[n]].Filed[places[n]] = filed
				return nil
			})
			return err
		})
	}
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	for i := range out {
		out[i].earlier = earlier[i]
	}
	return out, nil
}

// birth is a report that waits for its transaction.
type birth struct {
	app.Newborn
	row    row
	hash   report.Hash
	event  outbox.Message
	answer idempotency.Answer // as it is stored
}

// delivered is what became of a birth. The caller of one that is alone has to write it itself.
type delivered struct {
	alone bool
	err   error
}

// lockTries bounds how often a write starts over after a deadlock or a lock timeout on a counter.
const lockTries = 5

// Insert implements app.Filing.
func (s *Store) Insert(ctx context.Context, n app.Newborn) error {
	b, err := s.birth(ctx, n)
	if err != nil {
		return err
	}
	done, err := s.births.Ask(ctx, b)
	if err == nil {
		err = done.err
	}
	for try := 1; done.alone; try++ {
		if err = s.write(ctx, s.pool, []birth{b}, nil); !contended(err) || try == lockTries {
			break
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
	switch {
	case err == nil:
		s.wake()
		return nil
	case postgres.IsUnique(err, "reports_reference"):
		return app.ErrReferenceUsed
	case n.Key.Sent() && idempotency.IsTaken(err):
		return idempotency.ErrTaken
	}
	return fmt.Errorf("insert report %d: %w", n.Report.ID, err)
}

// birth makes everything that a new report writes.
func (s *Store) birth(ctx context.Context, n app.Newborn) (b birth, err error) {
	b.Newborn = n
	if b.row, err = s.keep(n.Report); err != nil {
		return b, err
	}
	if b.hash, err = s.hash(b.row); err != nil {
		return b, err
	}
	if n.Key.Sent() {
		b.answer = idempotency.Answer{Status: n.Answer.Status, Body: s.keepAnswer(n.Key, n.Answer.Body)}
	}
	b.event, err = s.message(ctx, n.Event)
	return b, err
}

// deliver writes reports in one transaction.
func (s *Store) deliver(ctx context.Context, births []birth) ([]delivered, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), insertWithin)
	defer cancel()
	out := make([]delivered, len(births))
	for i := range out {
		out[i].alone = true
	}
	places := distinct(births)
	some := make([]birth, len(places))
	for i, place := range places {
		some[i] = births[place]
	}
	err = s.write(ctx, conn, some, &pgx.QueuedQuery{SQL: briefly})
	if err != nil && postgres.Undone(err) && (len(some) > 1 || contended(err)) { // certainly none was written
		return out, nil
	}
	for _, place := range places {
		out[place] = delivered{err: err}
	}
	return out, nil
}

// distinct returns the places of the births of which none has the key of one before it.
func distinct(births []birth) (places []int) {
	known := map[[2]string]bool{}
	for i, b := range births {
		key := [2]string{b.Key.Scope, b.Key.Key}
		if !b.Key.Sent() || !known[key] {
			places, known[key] = append(places, i), true
		}
	}
	return places
}

// write writes reports, after another statement if there is one. The batch is one implicit transaction: all of it or
// nothing. It takes the rows that other requests may want in the order of locks, and those of one table by their keys.
func (s *Store) write(ctx context.Context, on interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}, births []birth, first *pgx.QueuedQuery,
) error {
	batch := &pgx.Batch{}
	if first != nil {
		batch.QueuedQueries = append(batch.QueuedQueries, first)
	}
	var (
		keys     []idempotency.Key
		answers  []idempotency.Answer
		rows     [][]any
		events   []outbox.Message
		sources  = map[sourceKey]filings{}
		accused  = map[accusedKey]accusations{}
		accusing []birth
		counts   = tally{}
	)
	for _, b := range births {
		r := b.Report
		keys, answers = append(keys, b.Key), append(answers, b.answer)
		rows, events = append(rows, b.row.values()), append(events, b.event)
		for _, source := range b.Sources {
			key := sourceKey{source.Role, r.Mode, source.Address, r.KeyID}
			sources[key] = sources[key].plus(filings{1, r.MerchantID, b.Window, r.CreatedAt, r.CreatedAt})
		}
		one := report.One(r.Status, r.Kind)
		counts.add(r, b.hash, one)
		if r.Fraudster != "" {
			key := accusedKey{r.Mode, report.AddressKey(r.Fraudster)}
			accused[key] = accused[key].plus(accusations{one, r.CreatedAt, r.CreatedAt})
			accusing = append(accusing, b)
		}
	}
	idempotency.QueuePutAll(batch, keys, answers)
	batch.Queue(insertReports, columnsOf(rows)...)
	sql, args := outbox.Statement(events)
	batch.Queue(sql, args...)
	queueSources(batch, sources)
	counts.queue(batch)
	queueAccusations(batch, accused)
	slices.SortStableFunc(accusing, func(a, b birth) int {
		return cmp.Or(cmp.Compare(a.Report.Mode, b.Report.Mode), cmp.Compare(report.AddressKey(a.Report.Fraudster), report.AddressKey(b.Report.Fraudster)))
	})
	for _, b := range accusing {
		r := b.Report
		batch.Queue(markAccused, string(r.Mode), report.AddressKey(r.Fraudster), reporter(r, b.hash), mark(r.MerchantID), s.reporters(r))
	}
	return on.SendBatch(ctx, batch).Close()
}

// columnsOf are the columns of rows, as arguments of a statement over lists.
func columnsOf(rows [][]any) []any {
	args := make([]any, len(rows[0]))
	for i := range args {
		list := make([]any, len(rows))
		for n, row := range rows {
			list[n] = row[i]
		}
		args[i] = list
	}
	return args
}

// sourceKey names a key's filings on an address.
type sourceKey struct {
	role    app.Role
	mode    tenant.Mode
	address string
	keyID   int64
}

type filings struct {
	n                   int64
	merchantID          string
	window, first, last time.Time
}

func (f filings) plus(o filings) filings {
	if f.n == 0 {
		return o
	}
	return filings{f.n + o.n, o.merchantID, latest(f.window, o.window), earliest(f.first, o.first), latest(f.last, o.last)}
}

func queueSources(batch *pgx.Batch, all map[sourceKey]filings) {
	var modes, addresses, roles, merchants []string
	var ids, ns []int64
	var windows, firsts, lasts []time.Time
	for _, k := range slices.SortedFunc(maps.Keys(all), func(a, b sourceKey) int {
		return cmp.Or(cmp.Compare(a.role, b.role), cmp.Compare(a.mode, b.mode), cmp.Compare(a.address, b.address), cmp.Compare(a.keyID, b.keyID))
	}) {
		f := all[k]
		modes, addresses, roles, merchants = append(modes, string(k.mode)), append(addresses, k.address), append(roles, string(k.role)), append(merchants, f.merchantID)
		ids, ns = append(ids, k.keyID), append(ns, f.n)
		windows, firsts, lasts = append(windows, f.window), append(firsts, f.first), append(lasts, f.last)
	}
	if len(ns) > 0 {
		batch.Queue(countSources, modes, addresses, roles, ids, merchants, ns, windows, firsts, lasts)
	}
}

// accusedKey names an address in the order of locks.
type accusedKey struct {
	mode    tenant.Mode
	address string
}

type accusations struct {
	n           report.Counts
	first, last time.Time
}

func (a accusations) plus(o accusations) accusations {
	if a.first.IsZero() {
		return o
	}
	return accusations{a.n.Plus(o.n), earliest(a.first, o.first), latest(a.last, o.last)}
}

func queueAccusations(batch *pgx.Batch, all map[accusedKey]accusations) {
	var modes, addresses, counts []string
	var firsts, lasts []time.Time
	for _, k := range slices.SortedFunc(maps.Keys(all), func(a, b accusedKey) int {
		return cmp.Or(cmp.Compare(a.mode, b.mode), cmp.Compare(a.address, b.address))
	}) {
		modes, addresses, counts = append(modes, string(k.mode)), append(addresses, k.address), append(counts, array(all[k].n))
		firsts, lasts = append(firsts, all[k].first), append(lasts, all[k].last)
	}
	if len(modes) > 0 {
		batch.Queue(countAccused, modes, addresses, counts, firsts, lasts)
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// tally is what is added to counts, by subject and day. "-infinity" is the total.
type tally map[report.Subject]map[string]report.Counts

const total = "-infinity"

// add adds to the counts of every subject of a report: the total and the day of its filing.
func (t tally) add(r report.Report, hash report.Hash, change report.Counts) {
	for _, subject := range r.Subjects(hash) {
		if t[subject] == nil {
			t[subject] = map[string]report.Counts{}
		}
		for _, day := range []string{total, r.CreatedAt.UTC().Format(time.DateOnly)} {
			t[subject][day] = t[subject][day].Plus(change)
		}
	}
}

// queue takes the rows in the order of the subjects; of each, the total comes before the days.
func (t tally) queue(batch *pgx.Batch) {
	var subjects [][]byte
	var days, counts []string
	for _, subject := range slices.SortedFunc(maps.Keys(t), func(a, b report.Subject) int { return slices.Compare(a[:], b[:]) }) {
		for _, day := range slices.Sorted(maps.Keys(t[subject])) {
			subjects, days, counts = append(subjects, subject[:]), append(days, day), append(counts, array(t[subject][day]))
		}
	}
	if len(days) > 0 {
		batch.Queue(addCounts, subjects, days, counts)
	}
}

// array is PostgreSQL's text of counts.
func array(c report.Counts) string {
	return "{" + strings.Trim(strings.ReplaceAll(fmt.Sprint(c), " ", ","), "[]") + "}"
}

// contended reports whether a write failed only because of concurrent transactions.
func contended(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains([]string{"40P01", "40001", "55P03", "57014"}, pg.Code)
}

func pause(ctx context.Context, try int) error {
	//nolint:gosec // it spreads retries
	t := time.NewTimer(time.Duration(rand.Int64N(int64(10*time.Millisecond) * int64(try))))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
