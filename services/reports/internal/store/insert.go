package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/reports/internal/app"
	"causeway.internal/services/reports/internal/report"
)

// openWithin bounds a shared look-up in time. After it each caller looks alone.
const openWithin = 2 * time.Second

// opening is what a report's caller asks before it is written.
type opening struct {
	owner     tenant.Owner
	reference string
	sources   []app.Source
	key       idempotency.Key
}

// opened is the answer to an opening.
type opened struct {
	app.Opening
	earlier idempotency.Found
}

// Open implements app.Filing.
func (s *Store) Open(ctx context.Context, o tenant.Owner, reference string, sources []app.Source, k idempotency.Key) (app.Opening, error) {
	open, err := s.openings.Ask(ctx, opening{o, reference, sources, k})
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

// open answers openings in one round trip.
func (s *Store) open(ctx context.Context, all []opening) ([]opened, error) {
	out := make([]opened, len(all))
	keys, references := make([]idempotency.Key, len(all)), make([]string, len(all))
	var of, places []int // of each source: whose it is, and its place among those of its opening
	var modes, addresses, roles []string
	var ids []int64
	for i, f := range all {
		out[i].Filed, keys[i], references[i] = make([]int64, len(f.sources)), f.key, f.reference
		for place, source := range f.sources {
			of, places = append(of, i), append(places, place)
			modes, addresses, roles, ids = append(modes, string(f.owner.Mode)), append(addresses, source.Address), append(roles, string(source.Role)), append(ids, f.owner.KeyID)
		}
	}
	batch := &pgx.Batch{}
	earlier := idempotency.QueueFindAll(batch, keys)
	batch.Queue(openReports, references).Query(func(rows pgx.Rows) error {
		var n int
		var o app.Opening
		_, err := pgx.ForEachRow(rows, []any{&n, &o.ID, &o.Now, &o.Window, &o.Used}, func() error {
			out[n].ID, out[n].Now, out[n].Window, out[n].Used = o.ID, o.Now.UTC(), o.Window.UTC(), o.Used
			return nil
		})
		return err
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

// birth is a report that waits for its transaction, with everything that it writes.
type birth struct {
	app.Newborn
	values    []any // of insertReports
	event     outbox.Message
	answer    idempotency.Answer // as it is stored
	subjects  []report.Subject
	reporter  []byte
	reporters [][]byte // the marks under which the reporter may be counted already
}

// lockTries bounds how often a write starts over after a deadlock or a lock timeout on a counter.
const lockTries = 5

// Insert implements app.Filing. Reports that come while others are being written share the next transaction, which has
// one statement for all rows of a table.
func (s *Store) Insert(ctx context.Context, n app.Newborn) error {
	b, err := s.birth(ctx, n)
	if err != nil {
		return err
	}
	write := s.births.Write
	for try := 1; ; try++ {
		err := write(ctx, b)
		switch {
		case err == nil:
			s.wake()
			return nil
		case postgres.IsUnique(err, "reports_reference"):
			return app.ErrReferenceUsed
		case n.Key.Sent() && idempotency.IsTaken(err):
			return idempotency.ErrTaken
		case try == lockTries || !postgres.Contended(err):
			return fmt.Errorf("insert report %d: %w", n.Report.ID, err)
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
		write = s.births.WriteAlone // what it waits for would undo those beside it again
	}
}

func (s *Store) birth(ctx context.Context, n app.Newborn) (birth, error) {
	kept, err := s.keep(n.Report)
	if err != nil {
		return birth{}, err
	}
	hash, err := s.hash(kept)
	if err != nil {
		return birth{}, err
	}
	event, err := s.message(ctx, n.Event)
	b := birth{Newborn: n, values: kept.values(), event: event, subjects: n.Report.Subjects(hash), reporter: reporter(n.Report, hash), reporters: s.reporters(n.Report)}
	if n.Key.Sent() {
		b.answer = idempotency.Answer{Status: n.Answer.Status, Body: s.keepAnswer(n.Key, n.Answer.Body)}
	}
	return b, err
}

// queueBirths queues everything that reports write. It takes the rows that other requests may want in the order of
// locks, and those of one table by their keys.
func queueBirths(batch *pgx.Batch, births []birth) {
	var (
		keys    []idempotency.Key
		answers []idempotency.Answer
		rows    [][]any
		events  []outbox.Message
		sources = map[sourceKey]sourceCount{}
		accused = map[accusedKey]accusedCount{}
		counts  = tally{}
	)
	for _, b := range births {
		r := b.Report
		keys, answers = append(keys, b.Key), append(answers, b.answer)
		rows, events = append(rows, b.values), append(events, b.event)
		for _, source := range b.Sources {
			key := sourceKey{source.Role, r.Mode, source.Address, r.KeyID}
			sources[key] = sources[key].plus(sourceCount{1, 1, r.MerchantID, b.Window, r.CreatedAt, r.CreatedAt})
		}
		one := report.One(r.Status, r.Kind)
		counts.add(b.subjects, r.CreatedAt, one)
		if r.Fraudster != "" {
			key := accusedOf(r)
			accused[key] = accused[key].plus(accusedCount{one, r.CreatedAt, r.CreatedAt})
		}
	}
	idempotency.QueuePutAll(batch, keys, answers)
	batch.Queue(insertReports, postgres.Lists(rows)...)
	sql, args := outbox.Statement(events)
	batch.Queue(sql, args...)
	queueSources(batch, sources)
	counts.queue(batch)
	queueAccusedCounts(batch, accused)
	queueMarks(batch, births)
}

// sourceKey names a key's filings on an address.
type sourceKey struct {
	role    app.Role
	mode    tenant.Mode
	address string
	keyID   int64
}

// sourceCount is what is added to them. inWindow are those of the hour that begins at window.
type sourceCount struct {
	n, inWindow         int64
	merchantID          string
	window, first, last time.Time
}

func (c sourceCount) plus(o sourceCount) sourceCount {
	if c.n == 0 {
		return o
	}
	switch o.window.Compare(c.window) {
	case 0:
		c.inWindow += o.inWindow
	case 1:
		c.inWindow, c.window = o.inWindow, o.window
	}
	c.n, c.first, c.last = c.n+o.n, earliest(c.first, o.first), latest(c.last, o.last)
	return c
}

func queueSources(batch *pgx.Batch, all map[sourceKey]sourceCount) {
	var modes, addresses, roles, merchants []string
	var ids, ns, inWindows []int64
	var windows, firsts, lasts []time.Time
	for _, k := range slices.SortedFunc(maps.Keys(all), func(a, b sourceKey) int {
		return cmp.Or(cmp.Compare(a.role, b.role), cmp.Compare(a.mode, b.mode), cmp.Compare(a.address, b.address), cmp.Compare(a.keyID, b.keyID))
	}) {
		c := all[k]
		modes, addresses, roles, merchants = append(modes, string(k.mode)), append(addresses, k.address), append(roles, string(k.role)), append(merchants, c.merchantID)
		ids, ns, inWindows = append(ids, k.keyID), append(ns, c.n), append(inWindows, c.inWindow)
		windows, firsts, lasts = append(windows, c.window), append(firsts, c.first), append(lasts, c.last)
	}
	if len(ns) > 0 {
		batch.Queue(countSources, modes, addresses, roles, ids, merchants, ns, inWindows, windows, firsts, lasts)
	}
}

// accusedKey names an address in the order of locks.
type accusedKey struct {
	mode    tenant.Mode
	address string
}

func accusedOf(r report.Report) accusedKey { return accusedKey{r.Mode, report.AddressKey(r.Fraudster)} }

type accusedCount struct {
	n           report.Counts
	first, last time.Time
}

func (c accusedCount) plus(o accusedCount) accusedCount {
	if c.first.IsZero() {
		return o
	}
	return accusedCount{c.n.Plus(o.n), earliest(c.first, o.first), latest(c.last, o.last)}
}

// queueMarks counts each reporter and each merchant of an accused address once.
func queueMarks(batch *pgx.Batch, births []birth) {
	var modes, addresses []string
	var reporters, merchants, others [][]byte
	var of []int // of each of the others: the place of its report in these lists
	for _, b := range births {
		if b.Report.Fraudster == "" {
			continue
		}
		k := accusedOf(b.Report)
		modes, addresses = append(modes, string(k.mode)), append(addresses, k.address)
		reporters, merchants = append(reporters, b.reporter), append(merchants, mark(b.Report.MerchantID))
		for _, other := range b.reporters {
			of, others = append(of, len(modes)), append(others, other)
		}
	}
	if len(modes) > 0 {
		batch.Queue(markAccused, modes, addresses, reporters, merchants, of, others)
	}
}

func queueAccusedCounts(batch *pgx.Batch, all map[accusedKey]accusedCount) {
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

// add adds to the counts of the subjects of a report: the total and the day of its filing.
func (t tally) add(subjects []report.Subject, at time.Time, change report.Counts) {
	for _, subject := range subjects {
		if t[subject] == nil {
			t[subject] = map[string]report.Counts{}
		}
		for _, day := range []string{total, at.UTC().Format(time.DateOnly)} {
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
