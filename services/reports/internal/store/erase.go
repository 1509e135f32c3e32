package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/erasure"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
)

// Person is a person whom an operator asked to erase: the reporter with a phone or a wallet, or the one of a single
// report.
type Person struct {
	Mode      tenant.Mode `json:"mode"`
	Phone     string      `json:"phone,omitempty"`  // digits
	Wallet    string      `json:"wallet,omitempty"` // as report.AddressKey has it
	Reference string      `json:"reference,omitempty"`
}

// AskErasure stores a request to erase a person, and erases at once the reports that may be erased. EraseDue erases the
// rest.
func (s *Store) AskErasure(ctx context.Context, operator string, who Person, keep erasure.Retention) (erasure.Done, error) {
	asked, err := erasure.Ask(ctx, s.pool, s.keys.Ring(), operator, who)
	if err != nil {
		return erasure.Done{}, err
	}
	return erasure.Look(ctx, s.pool, asked, s.eraser(keep))
}

// EraseDue erases the reports of open requests that may be erased by now. Call it periodically.
func (s *Store) EraseDue(ctx context.Context, keep erasure.Retention) error {
	if s.keys.Ring() == nil { // no request can exist
		return nil
	}
	return erasure.Due(ctx, s.pool, s.keys.Ring(), nil, s.eraser(keep))
}

// eraser erases the reporter in each of its final reports that existed at the time of the request. The accused address,
// the history and the counts against the address stay. Each report is a transaction of its own.
func (s *Store) eraser(keep erasure.Retention) func(context.Context, erasure.Asked[Person]) (erasure.Done, error) {
	s = s.sealing()
	return func(ctx context.Context, asked erasure.Asked[Person]) (done erasure.Done, err error) {
		who := asked.Person
		var indexes [][]byte
		if who.Phone != "" {
			indexes = s.indexes(who.Mode, who.Phone)
		}
		rows, err := s.pool.Query(ctx, reportsOf, string(who.Mode), null(who.Phone), indexes, null(who.Wallet), null(who.Reference), asked.At)
		if err != nil {
			return done, fmt.Errorf("find a person's reports: %w", err)
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return done, fmt.Errorf("find a person's reports: %w", err)
		}
		for _, id := range ids { // one that fails does not block the others
			if failed := s.erase(ctx, id, keep, &done); failed != nil {
				err = errors.Join(err, fmt.Errorf("erase the person of report %d: %w", id, failed))
			}
		}
		return done, err
	}
}

// forgotten replaces the name of an erased reporter: a report always has one.
const forgotten = "****"

func (s *Store) erase(ctx context.Context, id int64, keep erasure.Retention, done *erasure.Done) error {
	counted := &done.Erased
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		was, err := s.scan(tx.QueryRow(ctx, lockReport, id))
		if err != nil {
			return err
		}
		lawful, wait := was.Mode == tenant.Live, keep.Copies
		if lawful {
			wait = keep.Laundering
		}
		var young bool
		if err := tx.QueryRow(ctx, changedWithin, was.UpdatedAt, wait.Seconds()).Scan(&young); err != nil {
			return err
		}
		r := person{Name: forgotten}.of(was.Report)
		r.Wallet = ""
		switch {
		case !was.Status.Final():
			counted = &done.Open
		case r == was.Report: // erased already
			counted = nil
		case young && lawful:
			counted = &done.Kept
		case young:
			counted = &done.Copied
		default:
			return s.replace(ctx, tx, was, r)
		}
		return nil
	})
	if err == nil && counted != nil {
		*counted++
	}
	return err
}
