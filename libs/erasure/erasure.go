// Package erasure keeps what operators asked to be forgotten until it is: a record that the law has kept for years is erased
// when its time is over, without anybody having to remember it. The package knows one table. What is erased, and when, is the
// service's; the person is sealed here, and gone with the last record.
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
	// Meanwhile somebody else may have ended it, or an operator may have asked again. A look that began in the first minute does
	// not end it.
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

// Copies is how long other services may hold something of a record after its last change: callback-dispatcher keeps an event for
// 34 days, may send it again until then, and keeps the receiver's answer, which may repeat it, for 34 days more. Stored answers
// and messages that could not be taken in go sooner (docs/runbooks/personal-data.md). No record is erased before, so that one
// that is erased here is erased everywhere.
const Copies = 70 * 24 * time.Hour

// Commit is the longest time from the stamp of a record to its commit. An erasure that was asked for in between does not see the
// record, so it is looked at once more when it is as old, and does not end before.
const Commit = time.Minute

// Retention is how long after its last change a record is kept from erasure.
type Retention struct {
	Laundering time.Duration // if the law against money laundering demands it
	Copies     time.Duration // if it does not
}

// Keep is the retention with a setting of the former.
func Keep(laundering time.Duration) (Retention, error) {
	if laundering < Copies {
		return Retention{}, fmt.Errorf("AML_RETENTION is %s and must be at least %s: other services hold copies for so long", laundering, Copies)
	}
	return Retention{Laundering: laundering, Copies: Copies}, nil
}

// Asked is an erasure that is not over: everything about Person that was there at At.
type Asked[P comparable] struct {
	ID       int64
	Operator string
	Person   P
	At       time.Time
	Seen     bool // all that was stamped by At is committed (Commit)
}

// Done is what became of a look at an erasure.
type Done struct {
	Erased int64 // records that are forgotten now
	Open   int64 // records left, because they are not over
	Kept   int64 // records left, because the law has them kept longer
	Copied int64 // records left, because other services may hold copies of them
}

// Tell says what became of it to the operator who asked.
func (d Done) Tell(records string) string {
	text := fmt.Sprintf("%d %s erased, %d not over yet, %d kept by law, %d kept until other services have dropped their copies",
		d.Erased, records, d.Open, d.Kept, d.Copied)
	if d.Left() > 0 {
		text += "; these are erased when their time has come"
	}
	return text
}

// Left is the number of records that are still to be erased.
func (d Done) Left() int64 { return d.Open + d.Kept + d.Copied }

// Ask notes that a person is to be forgotten. Asked twice it is one erasure, of what was there the last time.
func Ask[P comparable](ctx context.Context, db postgres.Querier, keys *keyring.Ring, operator string, person P) (a Asked[P], err error) {
	notes, err := read(ctx, db, nil)
	if err != nil {
		return a, err
	}
	for _, n := range notes {
		a, err := open[P](keys, n)
		if err != nil || a.Person != person { // Due tells of those that cannot be opened
			continue
		}
		a.Seen = false
		err = db.QueryRow(ctx, againSQL, a.ID).Scan(&a.At)
		switch {
		case err == nil:
			return a, nil
		case !errors.Is(err, pgx.ErrNoRows): // else it has ended meanwhile, and this is another one
			return a, fmt.Errorf("ask for an erasure again: %w", err)
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

// note is an erasure that is not over, as it is kept.
type note struct {
	id       int64
	operator string
	person   []byte
	at       time.Time
	seen     bool
}

// read lists the erasures that are not over: all, or only some.
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

// Look erases what may be erased of one, and notes how much is left. With nothing left, and nothing to come to light, the person is
// forgotten here too.
func Look[P comparable](ctx context.Context, db postgres.Querier, a Asked[P], erase func(context.Context, Asked[P]) (Done, error)) (Done, error) {
	done, err := erase(ctx, a)
	if err != nil {
		return done, err
	}
	if _, err := db.Exec(ctx, lookedSQL, a.ID, done.Erased, done.Left(), a.At, a.Seen); err != nil {
		return done, fmt.Errorf("note a look at an erasure: %w", err)
	}
	return done, nil
}

// Due looks at the erasures that are not over: all, or only some. One that fails, or whose person is under a key that is gone,
// does not hold up the others.
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

// Reseal seals what is open under the first key, and gives the number of rows that it changed.
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

// each does f for every erasure that is not over, and joins the errors.
func each(ctx context.Context, db postgres.Querier, only []int64, f func(note) error) error {
	notes, err := read(ctx, db, only)
	for _, n := range notes {
		if failed := f(n); failed != nil {
			err = errors.Join(err, fmt.Errorf("erasure %d: %w", n.id, failed))
		}
	}
	return err
}
