// Package store keeps the people of a console, their ways to sign in, their sessions and their invitations in
// PostgreSQL. It stores decisions of other packages and makes none. Only this package of the service imports pgx.
package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/console/internal/people"
)

// PersonPrefix begins the id of a person.
const PersonPrefix = "usr_"

// Store is the database of a console. It is safe for concurrent use.
type Store struct {
	pool *pgxpool.Pool
	ring *keyring.Ring // seals the secrets of second factors
	now  func() time.Time
}

// New makes a store over a pool.
func New(pool *pgxpool.Pool, ring *keyring.Ring, now func() time.Time) *Store {
	return &Store{pool: pool, ring: ring, now: now}
}

// ErrUnknown is the answer for an object that does not exist.
var ErrUnknown = fault.New(fault.NotFound, "not_found", "There is nothing here.")

// found turns the absence of a row into ErrUnknown.
func found(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrUnknown
	}
	return err
}

const personColumns = `p.id, p.login, p.name, p.locale, p.handle, p.password IS NOT NULL, p.totp IS NOT NULL, p.created_at, p.disabled_at IS NOT NULL,
	(SELECT count(*) FROM passkeys k WHERE k.person_id = p.id), (SELECT count(*) FROM recovery_codes c WHERE c.person_id = p.id)`

func readPerson(row pgx.Row) (p people.Person, err error) {
	err = row.Scan(&p.ID, &p.Login, &p.Name, &p.Locale, &p.Handle, &p.HasPassword, &p.HasTOTP, &p.CreatedAt, &p.Disabled, &p.Passkeys, &p.Codes)
	return p, found(err)
}

// Person returns the person of an id.
func (s *Store) Person(ctx context.Context, personID string) (people.Person, error) {
	return readPerson(s.pool.QueryRow(ctx, `SELECT `+personColumns+` FROM people p WHERE p.id = $1`, personID))
}

// PersonOf returns the person of a login.
func (s *Store) PersonOf(ctx context.Context, login string) (people.Person, error) {
	return readPerson(s.pool.QueryRow(ctx, `SELECT `+personColumns+` FROM people p WHERE p.login = $1`, login))
}

// PersonBehind returns the person whom a passkey names by a handle.
func (s *Store) PersonBehind(ctx context.Context, handle []byte) (people.Person, error) {
	return readPerson(s.pool.QueryRow(ctx, `SELECT `+personColumns+` FROM people p WHERE p.handle = $1`, handle))
}

// Admit returns the person of a login, and makes one if there is none.
func (s *Store) Admit(ctx context.Context, login, name string) (people.Person, error) {
	if err := admit(ctx, s.pool, s.now(), login, name); err != nil {
		return people.Person{}, err
	}
	return s.PersonOf(ctx, login)
}

func admit(ctx context.Context, q postgres.Querier, now time.Time, login, name string) error {
	handle := make([]byte, 32)
	_, _ = rand.Read(handle) // never fails
	_, err := q.Exec(ctx, `INSERT INTO people (id, login, name, handle) VALUES ($1, $2, $3, $4) ON CONFLICT (login) DO NOTHING`,
		id.New(PersonPrefix, now), login, name, handle)
	return err
}

// Rename changes the name of a person, and the language of its pages, "" for the browser's.
func (s *Store) Rename(ctx context.Context, personID, name, locale string) error {
	_, err := s.pool.Exec(ctx, `UPDATE people SET name = $2, locale = $3 WHERE id = $1`, personID, name, locale)
	return err
}

const membershipColumns = `m.person_id, m.merchant_id, m.merchant_name, m.role, m.created_at`

func readMembership(row pgx.CollectableRow) (m people.Membership, err error) {
	err = row.Scan(&m.PersonID, &m.MerchantID, &m.MerchantName, &m.Role, &m.CreatedAt)
	return m, err
}

// Memberships lists the memberships of a person.
func (s *Store) Memberships(ctx context.Context, personID string) ([]people.Membership, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+membershipColumns+` FROM memberships m WHERE m.person_id = $1 ORDER BY m.merchant_id LIMIT 500`, personID)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, readMembership)
}

// Member is a person in a team.
type Member struct {
	people.Person
	people.Membership
	SeenAt *time.Time // time of the person's last request
}

// Team lists a page of the members of a merchant by login, after one.
func (s *Store) Team(ctx context.Context, merchantID, after string, limit int) ([]Member, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+personColumns+`, `+membershipColumns+`,
		(SELECT max(x.seen_at) FROM sessions x WHERE x.person_id = p.id)
		FROM memberships m JOIN people p ON p.id = m.person_id
		WHERE m.merchant_id = $1 AND p.login > $2 ORDER BY p.login LIMIT $3`, merchantID, after, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (m Member, err error) {
		p, of := &m.Person, &m.Membership
		err = row.Scan(&p.ID, &p.Login, &p.Name, &p.Locale, &p.Handle, &p.HasPassword, &p.HasTOTP, &p.CreatedAt, &p.Disabled, &p.Passkeys, &p.Codes,
			&of.PersonID, &of.MerchantID, &of.MerchantName, &of.Role, &of.CreatedAt, &m.SeenAt)
		return m, err
	})
}

// Join makes a person a member, or changes the member's role.
func (s *Store) Join(ctx context.Context, m people.Membership, by string) error {
	_, err := s.pool.Exec(ctx, joinStatement, m.PersonID, m.MerchantID, m.MerchantName, m.Role, by)
	return err
}

const joinStatement = `INSERT INTO memberships (person_id, merchant_id, merchant_name, role, created_by) VALUES ($1, $2, $3, $4, $5)
	ON CONFLICT (person_id, merchant_id) DO UPDATE SET role = excluded.role, merchant_name = excluded.merchant_name`

// NameMerchant writes the name of a merchant into its memberships.
func (s *Store) NameMerchant(ctx context.Context, merchantID, name string) error {
	_, err := s.pool.Exec(ctx, `UPDATE memberships SET merchant_name = $2 WHERE merchant_id = $1 AND merchant_name <> $2`, merchantID, name)
	return err
}

// ErrLastOwner refuses a change after which nobody could manage the team of a merchant or of the operators.
var ErrLastOwner = fault.New(fault.Conflict, "last_owner", "Somebody else must be able to manage the team first.")

// endInvitations ends the open invitations of a member, which would restore an earlier role, and those that the member
// has made and may no longer make.
const endInvitations = `UPDATE links SET expires_at = now() WHERE merchant_id = $1 AND purpose = 'join' AND used_at IS NULL AND expires_at > now()
	AND ((SELECT login FROM people WHERE id = $2) = login OR $3 AND (SELECT login FROM people WHERE id = $2) = created_by)`

// ChangeRole gives a member another role, "" for none: the member leaves. Invitations that would undo it end.
func (s *Store) ChangeRole(ctx context.Context, merchantID, personID string, role, managing people.Role) error {
	return postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT person_id FROM memberships WHERE merchant_id = $1 AND role = $2 ORDER BY person_id FOR UPDATE`, merchantID, managing)
		if err != nil {
			return err
		}
		owners, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		if role != managing && len(owners) == 1 && owners[0] == personID {
			return ErrLastOwner
		}
		change, args := `UPDATE memberships SET role = $3 WHERE merchant_id = $1 AND person_id = $2`, []any{merchantID, personID, role}
		if role == "" {
			change, args = `DELETE FROM memberships WHERE merchant_id = $1 AND person_id = $2`, args[:2]
		}
		done, err := tx.Exec(ctx, change, args...)
		if err == nil && done.RowsAffected() == 0 {
			return ErrUnknown
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, endInvitations, merchantID, personID, role != managing)
		return err
	})
}

// Act is an act of a person on a person.
type Act struct {
	ID         int64
	PersonID   string
	Login      string
	MerchantID string
	Act        string // signed_in, invited, role_changed and so on: the last part of a key of the texts
	About      string
	Address    string
	At         time.Time
}

// Record writes an act.
func (s *Store) Record(ctx context.Context, a Act) error {
	_, err := s.pool.Exec(ctx, `INSERT INTO acts (person_id, login, merchant_id, act, about, address) VALUES ($1, $2, $3, $4, $5, $6)`,
		a.PersonID, a.Login, a.MerchantID, a.Act, a.About, a.Address)
	return err
}

// Acts lists a page of the acts about a merchant, the newest first, before one.
func (s *Store) Acts(ctx context.Context, merchantID string, before int64, limit int) ([]Act, error) {
	rows, err := s.pool.Query(ctx, `SELECT id, person_id, login, merchant_id, act, about, address, at FROM acts
		WHERE merchant_id = $1 AND ($2 = 0 OR id < $2) ORDER BY id DESC LIMIT $3`, merchantID, before, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Act])
}

// maintainMost bounds the rows that one statement of Maintain removes.
const maintainMost = 5000

// Maintain removes expired rows in bounded parts until none is left: requests without a sign-in can make sessions
// faster than one part a time would remove them.
func (s *Store) Maintain(ctx context.Context) error {
	for _, statement := range []string{
		`DELETE FROM sessions WHERE token IN (SELECT token FROM sessions WHERE expires_at < now() ORDER BY expires_at LIMIT $1)`,
		`DELETE FROM links WHERE id IN (SELECT id FROM links WHERE expires_at < now() - interval '30 days' ORDER BY expires_at LIMIT $1)`,
		`DELETE FROM attempts WHERE subject IN (SELECT subject FROM attempts WHERE since < now() - interval '1 day' ORDER BY since LIMIT $1)`,
	} {
		for {
			done, err := s.pool.Exec(ctx, statement, maintainMost)
			if err != nil {
				return fmt.Errorf("remove expired rows: %w", err)
			}
			if done.RowsAffected() < maintainMost {
				break
			}
		}
	}
	return nil
}
