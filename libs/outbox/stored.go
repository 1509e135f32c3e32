package outbox

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/wire"
)

// StoredSchema is what a relay needs that believes consumers and not the broker. Every service with an outbox creates
// it in a migration, word for word. sent_at is NULL for most of a row's life: the relay keeps in memory what it sent a
// moment ago, and writes down only what nobody has answered by then.
const StoredSchema = `ALTER TABLE outbox ADD COLUMN sent_at timestamptz;
CREATE INDEX outbox_unsent ON outbox (id) WHERE sent_at IS NULL;
CREATE INDEX outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL;`

// NamesIndex lets a relay read past the rows of a name that the broker refuses, however many there are. Every service
// with an outbox creates it in a migration, word for word and concurrently, because writers do not wait for it then.
const NamesIndex = `outbox_names ON outbox (name, id) WHERE sent_at IS NULL;`

// NewestSchema keeps the newest row of each name that a consumer has answered, beside the rows that are gone. Every
// service with an outbox creates it in a migration, word for word.
const NewestSchema = `CREATE TABLE outbox_stored (
    name text   PRIMARY KEY,
    id   bigint NOT NULL
);`

// Bounds of what was sent and is not stored yet.
const (
	markAfter   = 2 * time.Second // most answers come within two tenths of a second
	markRows    = 5000            // that the memory of a leader holds, about
	repeatAfter = time.Minute
	repeatMost  = 10 * time.Minute // between two repeats of a row
	lookEvery   = 5 * time.Second
	settleAfter = 10 * time.Second // by then a consumer has handled what it had in hand beside a message that it answered
)

const (
	markSQL = `UPDATE outbox SET sent_at = now() WHERE id = ANY($1)`

	// A message is lost if its consumer has stored a later one of its name settleAfter ago or more, and not this one a
	// minute after it was sent. The newest of a name is sent again if nothing later is stored: the answer about it says
	// what became of those before. The waits grow with the row's age, so that a message that kills its consumer does so
	// seldom. $4 and $5 are names, and the newest row of each that was stored then. $7 are names that the broker
	// refuses.
	lostSQL = `WITH stored AS (SELECT * FROM unnest($4::text[], $5::bigint[]) AS s(name, id))
SELECT id, name, message_id, headers, body FROM outbox
WHERE sent_at < now() - $2 * interval '1 second' AND sent_at < now() - least(sent_at - created_at, $3 * interval '1 second')
	AND (id < (SELECT stored.id FROM stored WHERE stored.name = outbox.name)
		OR id IN (SELECT max(id) FROM outbox WHERE sent_at IS NOT NULL GROUP BY name)
			AND NOT EXISTS (SELECT FROM outbox_stored AS newest WHERE newest.name = outbox.name AND newest.id > outbox.id))
	AND id <> ALL($6::bigint[]) AND name <> ALL($7::text[])
ORDER BY id LIMIT $1`

	newestSQL = `SELECT name, id FROM outbox_stored`

	// Each row is compared with the message of its place in the answer: a join compared each with all of them.
	storedSQL = `WITH gone AS (DELETE FROM outbox
	WHERE id = ANY($1::bigint[]) AND message_id = ($2::text[])[array_position($1::bigint[], id)] AND name = ANY($3)
	RETURNING name, id)
INSERT INTO outbox_stored AS newest (name, id) SELECT name, max(id) FROM gone GROUP BY name ORDER BY name
ON CONFLICT (name) DO UPDATE SET id = excluded.id WHERE newest.id < excluded.id`
)

// Stored returns the handler of consumers' answers, which deletes from the outbox what they have stored. names are
// those that the consumer reads.
func Stored(q postgres.Querier) func(ctx context.Context, names []string, m wire.Stored) error {
	return func(ctx context.Context, names []string, m wire.Stored) error {
		if len(m.Messages) > wire.StoredMax {
			return fault.Permanent(fmt.Errorf("an answer names %d messages, the limit is %d", len(m.Messages), wire.StoredMax))
		}
		messages := slices.SortedFunc(slices.Values(m.Messages), func(a, b wire.StoredMessage) int { return cmp.Compare(a.Row, b.Row) })
		rows, ids := make([]int64, len(messages)), make([]string, len(messages))
		for n, one := range messages {
			rows[n], ids[n] = one.Row, one.ID
		}
		if err := postgres.Planned(ctx, q, postgres.ByIndexSQL, nil, storedSQL, rows, ids, names); err != nil {
			return fmt.Errorf("delete %d stored messages from the outbox: %w", len(rows), err)
		}
		return nil
	}
}

// flight is what a leader has sent and does not know to be stored, and what it could not send.
type flight struct {
	front     front
	rows      []int64          // not marked in the table, in the order of sent; never nil, which PostgreSQL reads as NULL
	sent      []time.Time      // when each of them was
	stored    map[string]int64 // by name, the newest row that its consumer had stored settleAfter ago
	newest    map[string]int64 // the same when it was read last
	newestAt  time.Time
	looked    time.Time
	refused   map[string]retry // by name, until a whole batch of it is published, or none waits
	nextProbe time.Time        // of any name that was refused
}

// retry says when a name is tried again, and how.
type retry struct {
	wait  time.Duration // after a failure; it begins anew when the name was free
	next  time.Time
	rows  int
	limit time.Duration
}

func newFlight() *flight {
	return &flight{rows: []int64{}, looked: time.Now(), refused: map[string]retry{}}
}

// refuse notes that a name was not published, and returns how long it waits. It is tried with half of the rows, and for
// twice as long where it was late.
func (f *flight) refuse(name string, began time.Time, late bool) time.Duration {
	one := f.refused[name]
	if late {
		one.limit *= 2
	}
	one.rows, one.limit = max(one.rows/2, probeRows), min(max(one.limit, probeFirst), probeMost)
	one.wait = min(max(2*one.wait, retryFirst), retryMost)
	one.next = time.Now().Add(one.wait)
	f.refused[name] = one
	f.front.forget()
	f.rest(began)
	return one.wait
}

// passed notes that rows of a name were published. One that was refused is tried with twice as many, until a whole
// batch has gone, or all that waits: a broker that takes a few rows in time may not take 500.
func (f *flight) passed(name string, began time.Time, rows int) {
	one, refused := f.refused[name]
	if !refused {
		return
	}
	f.rest(began)
	if rows < one.rows || rows == batchRows {
		delete(f.refused, name)
		return
	}
	one.rows, one.next = min(2*one.rows, batchRows), time.Now()
	f.refused[name] = one
}

// rest lets as much time pass before the next try of any name as this one took: the others have half of all time,
// however long a try takes. Where many names were refused in one batch, as by a broker that was away, the longest one
// counts.
func (f *flight) rest(began time.Time) {
	now := time.Now()
	if next := now.Add(now.Sub(began)); next.After(f.nextProbe) {
		f.nextProbe = next
	}
}

// due returns the name whose wait ended first.
func (f *flight) due() (name string, due bool) {
	now := time.Now()
	if now.Before(f.nextProbe) {
		return "", false
	}
	for other, one := range f.refused {
		if !one.next.After(now) && (!due || one.next.Before(f.refused[name].next)) {
			name, due = other, true
		}
	}
	return name, due
}

// refusedNames is never nil, which PostgreSQL reads as NULL.
func (f *flight) refusedNames() []string {
	return slices.AppendSeq(make([]string, 0, len(f.refused)), maps.Keys(f.refused))
}

func (f *flight) add(rows []int64) {
	f.rows, f.sent = append(f.rows, rows...), append(f.sent, slices.Repeat([]time.Time{time.Now()}, len(rows))...)
}

// lost counts the rows of a batch whose consumer has stored a later one.
func (f *flight) lost(b batch) (n int) {
	for name, rows := range b.rows {
		for _, one := range rows {
			if one.id < f.stored[name] {
				n++
			}
		}
	}
	return n
}

// attend marks what was sent a while ago and is still there, and publishes again what the broker has lost.
func (r *Relay) attend(ctx context.Context, s *postgres.Session, f *flight) error {
	if err := r.mark(ctx, s, f); err != nil {
		return err
	}
	if time.Since(f.looked) < r.lookEvery {
		return nil
	}
	if err := r.learn(ctx, s, f); err != nil {
		return err
	}
	names, newest := make([]string, 0, len(f.stored)), make([]int64, 0, len(f.stored))
	for name, id := range f.stored {
		names, newest = append(names, name), append(newest, id)
	}
	again, err := r.read(ctx, s, lostSQL, batchRows, r.repeatAfter.Seconds(), repeatMost.Seconds(), names, newest, f.rows, f.refusedNames())
	if err != nil {
		return err
	}
	if lost := f.lost(again); lost > 0 {
		r.lost.Add(float64(lost))
		r.log.Warn("messages lost by the broker, publishing again", "messages", lost, "names", again.names)
	}
	err = r.send(ctx, s, again, f)
	if len(again.ids) < batchRows || len(f.refused) > 0 {
		f.looked = time.Now()
	}
	return err
}

// learn reads what is stored. It counts settleAfter later.
func (r *Relay) learn(ctx context.Context, s *postgres.Session, f *flight) error {
	if time.Since(f.newestAt) < r.settleAfter {
		return nil
	}
	newest := map[string]int64{}
	err := s.Do(ctx, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, newestSQL)
		if err != nil {
			return err
		}
		var name string
		var id int64
		_, err = pgx.ForEachRow(rows, []any{&name, &id}, func() error {
			newest[name] = id
			return nil
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("read the newest stored rows: %w", err)
	}
	f.stored, f.newest, f.newestAt = f.newest, newest, time.Now()
	return nil
}

// mark writes down what was sent markAfter ago and is still there.
func (r *Relay) mark(ctx context.Context, s *postgres.Session, f *flight) error {
	n := 0
	for n < len(f.rows) && (time.Since(f.sent[n]) > r.markAfter || len(f.rows)-n > markRows) {
		n++
	}
	if n == 0 {
		return nil
	}
	err := s.Do(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, markSQL, slices.Sorted(slices.Values(f.rows[:n])))
		return err
	})
	if err != nil {
		return fmt.Errorf("mark %d sent rows: %w", n, err)
	}
	f.rows, f.sent = slices.Delete(f.rows, 0, n), slices.Delete(f.sent, 0, n)
	return nil
}
