// Package erasure keeps operators' requests to erase a person until they are done: a record that the law keeps for
// years is erased when that time has passed, without anybody having to remember it. The package knows one table. The
// service decides what is erased and when; the person is sealed here, and deleted with the last record.
package erasure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/keyring"
	"causeway.internal/libs/postgres"
)

// Schema is the table that every service with personal data creates in a migration, word for word.
const Schema = `CREATE TABLE erasures (
    id        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operator  text        NOT NULL,
    person    bytea,
    asked_at  timestamptz NOT NULL DEFAULT now(),
    looked_at timestamptz,
    erased    bigint      NOT NULL DEFAULT 0,
    left_over bigint      NOT NULL DEFAULT 0,
    done_at   timestamptz
);
CREATE INDEX erasures_open ON erasures (id) WHERE done_at IS NULL;`

const (
	askSQL   = `INSERT INTO erasures (operator, person) VALUES ($1, $2) RETURNING id, asked_at`
	openSQL  = `SELECT id, operator, person, asked_at, asked_at <= now() - $2 * interval '1 second' FROM erasures WHERE done_at IS NULL AND ($1::bigint[] IS NULL OR id = ANY($1)) ORDER BY id`
	againSQL = `UPDATE erasures SET asked_at = now() WHERE id = $1 AND done_at IS NULL RETURNING asked_at`
	// Another process may have ended it meanwhile, or an operator may have repeated the request. A look that began in
	// the first minute does not end it.
	lookedSQL = `UPDATE erasures SET looked_at = now(), erased = erased + $2, left_over = $3,
	done_at = CASE WHEN $3::bigint = 0 AND $5 THEN now() END, person = CASE WHEN $3::bigint = 0 AND $5 THEN NULL ELSE person END
WHERE id = $1 AND asked_at = $4 AND done_at IS NULL`
	resealSQL = `UPDATE erasures SET person = $3 WHERE id = $1 AND person = $2`
)

// Statements lists the SQL texts of the package by name.
func Statements() map[string]string {
	return map[string]string{"askErasure": askSQL, "openErasures": openSQL, "erasureAgain": againSQL, "erasureLooked": lookedSQL, "resealErasure": resealSQL}
}

const place = "erasure"

// Copies is how long other services may hold data of a record after its last change: callback-dispatcher keeps an event
// for 34 days, may send it again until then, and keeps the receiver's answer, which may repeat it, for 34 days more.
// Stored answers and dead messages go sooner (docs/runbooks/personal-data.md). No record is erased before, so that a
// record that is erased here is erased everywhere.
const Copies = 70 * 24 * time.Hour

// Commit is the longest time from the stamp of a record to its commit. An erasure requested in between does not see the
// record, so it looks again when it is as old, and does not end before.
const Commit = time.Minute

// Retention is how long a record is kept after its last change before it may be erased.
type Retention struct {
	Laundering time.Duration // where the law against money laundering applies
	Copies     time.Duration // where it does not
}

// Keep is the retention with a setting of the former.
func Keep(laundering time.Duration) (Retention, error) {
	if laundering < Copies {
		return Retention{}, fmt.Errorf("AML_RETENTION is %s and must be at least %s: other services hold copies for so long", laundering, Copies)
	}
	return Retention{Laundering: laundering, Copies: Copies}, nil
}

// Asked is an open erasure: of everything about Person that existed at At.
type Asked[P comparable] struct {
	ID       int64
	Operator string
	Person   P
	At       time.Time
	Seen     bool // all records stamped by At are committed (Commit)
}

// Done is the result of a look at an erasure.
type Done struct {
	Erased int64 // records that are erased now
	Open   int64 // records left because they are not final
	Kept   int64 // records left because the law keeps them longer
	Copied int64 // records left because other services may hold copies of them
}

// Tell prints the result for the operator.
func (d Done) Tell(records string) string {
	text := fmt.Sprintf("%d %s erased, %d not over yet, %d kept by law, %d kept until other services have dropped their copies",
		d.Erased, records, d.Open, d.Kept, d.Copied)
	if d.Left() > 0 {
		text += "; these are erased when their time has come"
	}
	return text
}

// Left is the number of records that must still be erased.
func (d Done) Left() int64 { return d.Open + d.Kept + d.Copied }

// Ask requests the erasure of a person. A repeated request is one erasure, of the records at the last time.
func Ask[P comparable](ctx context.Context, db postgres.Querier, keys *keyring.Ring, operator string, person P) (a Asked[P], err error) {
	notes, err := read(ctx, db, nil)
	if err != nil {
		return a, err
	}
	for _, n := range notes {
		a, err := open[P](keys, n)
		if err != nil || a.Person != person { // Due reports those that cannot be opened
			continue
		}
		a.Seen = false
		err = db.QueryRow(ctx, againSQL, a.ID).Scan(&a.At)
		switch {
		case err == nil:
			return a, nil
		case !errors.Is(err, pgx.ErrNoRows): // it has ended meanwhile, and this is another one
			return a, fmt.Errorf("repeat an erasure request: %w", err)
		}
	}
	plain, err := json.Marshal(person)
	if err != nil {
		return a, fmt.Errorf("encode a person: %w", err)
	}
	a = Asked[P]{Operator: operator, Person: person}
	if err := db.QueryRow(ctx, askSQL, operator, keys.Seal(plain, place)).Scan(&a.ID, &a.At); err != nil {
		return a, fmt.Errorf("note an erasure: %w", err)
	}
	return a, nil
}

// note is the stored form of an open erasure.
type note struct {
	id       int64
	operator string
	person   []byte
	at       time.Time
	seen     bool
}

// read lists the open erasures: all, or only some.
func read(ctx context.Context, db postgres.Querier, only []int64) ([]note, error) {
	rows, err := db.Query(ctx, openSQL, only, Commit.Seconds())
	if err != nil {
		return nil, fmt.Errorf("read the open erasures: %w", err)
	}
	notes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (n note, err error) {
		return n, row.Scan(&n.id, &n.operator, &n.person, &n.at, &n.seen)
	})
	if err != nil {
		return nil, fmt.Errorf("read the open erasures: %w", err)
	}
	return notes, nil
}

func open[P comparable](keys *keyring.Ring, n note) (a Asked[P], err error) {
	plain, err := keys.Open(n.person, place)
	if err != nil {
		return a, err
	}
	a = Asked[P]{ID: n.id, Operator: n.operator, At: n.at, Seen: n.seen}
	return a, json.Unmarshal(plain, &a.Person)
}

// Look erases the records of one erasure that may be erased, and stores how many are left. When none is left and none
// can appear, it deletes the person here too.
func Look[P comparable](ctx context.Context, db postgres.Querier, a Asked[P], erase func(context.Context, Asked[P]) (Done, error)) (Done, error) {
	done, err := erase(ctx, a)
	if err != nil {
		return done, err
	}
	if _, err := db.Exec(ctx, lookedSQL, a.ID, done.Erased, done.Left(), a.At, a.Seen); err != nil {
		return done, fmt.Errorf("store a look at an erasure: %w", err)
	}
	return done, nil
}

// Due looks at the open erasures: all, or only some. One that fails, or whose person is sealed under a missing key,
// does not block the others.
func Due[P comparable](ctx context.Context, db postgres.Querier, keys *keyring.Ring, only []int64, erase func(context.Context, Asked[P]) (Done, error)) error {
	return each(ctx, db, only, func(n note) error {
		a, err := open[P](keys, n)
		if err != nil {
			return err
		}
		_, err = Look(ctx, db, a, erase)
		return err
	})
}

// Reseal seals the persons of open erasures under the first key, and returns the number of changed rows.
func Reseal(ctx context.Context, db postgres.Querier, keys *keyring.Ring) (changed int64, err error) {
	err = each(ctx, db, nil, func(n note) error {
		if !keys.Stale(n.person) {
			return nil
		}
		plain, err := keys.Open(n.person, place)
		if err != nil {
			return err
		}
		if _, err := db.Exec(ctx, resealSQL, n.id, n.person, keys.Seal(plain, place)); err != nil {
			return fmt.Errorf("seal the person again: %w", err)
		}
		changed++
		return nil
	})
	return changed, err
}

// each calls f for every open erasure and joins the errors.
func each(ctx context.Context, db postgres.Querier, only []int64, f func(note) error) error {
	notes, err := read(ctx, db, only)
	for _, n := range notes {
		if failed := f(n); failed != nil {
			err = errors.Join(err, fmt.Errorf("erasure %d: %w", n.id, failed))
		}
	}
	return err
}
