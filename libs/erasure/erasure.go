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
	openSQL  = `SELECT id, operator, person, asked_at FROM erasures WHERE done_at IS NULL ORDER BY id`
	againSQL = `UPDATE erasures SET asked_at = now() WHERE id = $1 RETURNING asked_at`
	// Meanwhile somebody else may have ended it, or an operator may have asked again.
	lookedSQL = `UPDATE erasures SET looked_at = now(), erased = erased + $2, left_over = $3,
	done_at = CASE WHEN $3::bigint = 0 THEN now() END, person = CASE WHEN $3::bigint = 0 THEN NULL ELSE person END
WHERE id = $1 AND asked_at = $4 AND done_at IS NULL`
	resealSQL = `UPDATE erasures SET person = $3 WHERE id = $1 AND person = $2`
)

// Statements lists the SQL texts of the package by name.
func Statements() map[string]string {
	return map[string]string{"askErasure": askSQL, "openErasures": openSQL, "erasureAgain": againSQL, "erasureLooked": lookedSQL, "resealErasure": resealSQL}
}

const place = "erasure"

// Asked is an erasure that is not over: everything about Person that was there at At.
type Asked[P comparable] struct {
	ID       int64
	Operator string
	Person   P
	At       time.Time
	sealed   []byte
}

// Done is what became of a look at an erasure.
type Done struct {
	Erased int64 // records that are forgotten now
	Open   int64 // records left, because they are not over
	Kept   int64 // records left, because the law has them kept longer
}

// Tell says what became of it to the operator who asked.
func (d Done) Tell(records string) string {
	text := fmt.Sprintf("%d %s erased, %d not over yet, %d kept by law", d.Erased, records, d.Open, d.Kept)
	if d.Left() > 0 {
		text += "; these are erased when their time has come"
	}
	return text
}

// Left is the number of records that are still to be erased.
func (d Done) Left() int64 { return d.Open + d.Kept }

// Ask notes that a person is to be forgotten. Asked twice it is one erasure, of what was there the last time.
func Ask[P comparable](ctx context.Context, db postgres.Querier, keys *keyring.Ring, operator string, person P) (a Asked[P], err error) {
	open, err := Open[P](ctx, db, keys)
	if err != nil {
		return a, err
	}
	for _, a := range open {
		if a.Person == person {
			if err := db.QueryRow(ctx, againSQL, a.ID).Scan(&a.At); err != nil {
				return a, fmt.Errorf("ask for an erasure again: %w", err)
			}
			return a, nil
		}
	}
	plain, err := json.Marshal(person)
	if err != nil {
		return a, fmt.Errorf("encode a person: %w", err)
	}
	a = Asked[P]{Operator: operator, Person: person, sealed: keys.Seal(plain, place)}
	if err := db.QueryRow(ctx, askSQL, operator, a.sealed).Scan(&a.ID, &a.At); err != nil {
		return a, fmt.Errorf("note an erasure: %w", err)
	}
	return a, nil
}

// Open lists the erasures that are not over.
func Open[P comparable](ctx context.Context, db postgres.Querier, keys *keyring.Ring) ([]Asked[P], error) {
	rows, err := db.Query(ctx, openSQL)
	if err != nil {
		return nil, fmt.Errorf("read the open erasures: %w", err)
	}
	open, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a Asked[P], err error) {
		if err := row.Scan(&a.ID, &a.Operator, &a.sealed, &a.At); err != nil {
			return a, err
		}
		plain, err := keys.Open(a.sealed, place)
		if err != nil {
			return a, fmt.Errorf("erasure %d: %w", a.ID, err)
		}
		return a, json.Unmarshal(plain, &a.Person)
	})
	if err != nil {
		return nil, fmt.Errorf("read the open erasures: %w", err)
	}
	return open, nil
}

// Look erases what may be erased of one, and notes how much is left; with nothing left the person is forgotten here too.
func Look[P comparable](ctx context.Context, db postgres.Querier, a Asked[P], erase func(context.Context, Asked[P]) (Done, error)) (Done, error) {
	done, err := erase(ctx, a)
	if err != nil {
		return done, err
	}
	if _, err := db.Exec(ctx, lookedSQL, a.ID, done.Erased, done.Left(), a.At); err != nil {
		return done, fmt.Errorf("note a look at an erasure: %w", err)
	}
	return done, nil
}

// Due looks at every erasure that is not over. One that fails does not hold up the others.
func Due[P comparable](ctx context.Context, db postgres.Querier, keys *keyring.Ring, erase func(context.Context, Asked[P]) (Done, error)) error {
	open, err := Open[P](ctx, db, keys)
	for _, a := range open {
		if _, failed := Look(ctx, db, a, erase); failed != nil {
			err = errors.Join(err, fmt.Errorf("erasure %d: %w", a.ID, failed))
		}
	}
	return err
}

// Reseal seals what is open under the first key, and gives the number of rows that it changed.
func Reseal(ctx context.Context, db postgres.Querier, keys *keyring.Ring) (changed int64, err error) {
	open, err := Open[any](ctx, db, keys)
	if err != nil {
		return 0, err
	}
	for _, a := range open {
		if !keys.Stale(a.sealed) {
			continue
		}
		plain, err := keys.Open(a.sealed, place)
		if err != nil {
			return changed, fmt.Errorf("erasure %d: %w", a.ID, err)
		}
		if _, err := db.Exec(ctx, resealSQL, a.ID, a.sealed, keys.Seal(plain, place)); err != nil {
			return changed, fmt.Errorf("seal erasure %d again: %w", a.ID, err)
		}
		changed++
	}
	return changed, nil
}
