package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/console/internal/people"
)

// Account is a new person with a way to sign in.
type Account struct {
	Login, Name string
	Handle      []byte
	Password    string // its hash
	TOTP        string
	Codes       [][]byte
	Passkey     *Passkey
}

// ErrTaken refuses a second account of one login.
var ErrTaken = fault.New(fault.Conflict, "account_exists", "There is an account of this name already. Sign in.")

// Enrol makes an account with the membership that a link grants, and uses the link up, by its hash. A used or expired
// link is unknown.
func (s *Store) Enrol(ctx context.Context, a Account, link []byte) (who people.Person, used people.Link, err error) {
	personID := id.New(PersonPrefix, s.now())
	var sealed []byte
	if a.TOTP != "" {
		sealed = s.ring.Seal([]byte(a.TOTP), totpPlace(personID))
	}
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, takeLink, link)
		if err != nil {
			return err
		}
		if used, err = pgx.CollectExactlyOneRow(rows, readLink); err != nil {
			return found(err)
		}
		if used.Login != a.Login {
			return ErrUnknown
		}
		_, err = tx.Exec(ctx, `INSERT INTO people (id, login, name, handle, password, totp) VALUES ($1, $2, $3, $4, nullif($5, ''), $6)`,
			personID, a.Login, a.Name, a.Handle, a.Password, sealed)
		if postgres.IsUnique(err, "people_login_key") {
			return ErrTaken
		}
		if err != nil {
			return err
		}
		if err := setCodes(ctx, tx, personID, a.Codes); err != nil {
			return err
		}
		if k := a.Passkey; k != nil {
			_, err := tx.Exec(ctx, `INSERT INTO passkeys (credential_id, person_id, name, credential) VALUES ($1, $2, $3, $4)`,
				k.CredentialID, personID, k.Name, k.Credential)
			if err != nil {
				return err
			}
		}
		if used.Purpose != people.Join {
			return nil
		}
		_, err = tx.Exec(ctx, joinStatement, personID, used.MerchantID, used.MerchantName, used.Role, used.CreatedBy)
		return err
	})
	if err != nil {
		return who, used, err
	}
	who, err = s.Person(ctx, personID)
	return who, used, err
}
