package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
	"causeway.internal/services/console/internal/people"
)

// PasswordOf returns the hash of a person's password, "" without one.
func (s *Store) PasswordOf(ctx context.Context, personID string) (hash string, err error) {
	err = s.pool.QueryRow(ctx, `SELECT coalesce(password, '') FROM people WHERE id = $1`, personID).Scan(&hash)
	return hash, found(err)
}

// SetPassword stores the hash of a new password.
func (s *Store) SetPassword(ctx context.Context, personID, hash string) error {
	_, err := s.pool.Exec(ctx, `UPDATE people SET password = $2 WHERE id = $1`, personID, hash)
	return err
}

func totpPlace(personID string) string { return "totp/" + personID }

// TOTP returns the secret of a person's authenticator app, "" without one.
func (s *Store) TOTP(ctx context.Context, personID string) (string, error) {
	var sealed []byte
	if err := s.pool.QueryRow(ctx, `SELECT totp FROM people WHERE id = $1`, personID).Scan(&sealed); err != nil || sealed == nil {
		return "", found(err)
	}
	secret, err := s.ring.Open(sealed, totpPlace(personID))
	if err != nil {
		return "", fmt.Errorf("open the secret of a second factor: %w", err)
	}
	return string(secret), nil
}

// SetTOTP stores the secret of an authenticator app and the hashes of new recovery codes; an empty secret removes both.
func (s *Store) SetTOTP(ctx context.Context, personID, secret string, codes [][]byte) error {
	var sealed []byte
	if secret != "" {
		sealed = s.ring.Seal([]byte(secret), totpPlace(personID))
	}
	return postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE people SET totp = $2, totp_used = 0 WHERE id = $1`, personID, sealed); err != nil {
			return err
		}
		return setCodes(ctx, tx, personID, codes)
	})
}

// SetCodes replaces the recovery codes of a person by their hashes.
func (s *Store) SetCodes(ctx context.Context, personID string, codes [][]byte) error {
	return postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error { return setCodes(ctx, tx, personID, codes) })
}

func setCodes(ctx context.Context, tx pgx.Tx, personID string, codes [][]byte) error {
	if _, err := tx.Exec(ctx, `DELETE FROM recovery_codes WHERE person_id = $1`, personID); err != nil {
		return err
	}
	for _, hash := range codes {
		if _, err := tx.Exec(ctx, `INSERT INTO recovery_codes (person_id, hash) VALUES ($1, $2)`, personID, hash); err != nil {
			return err
		}
	}
	return nil
}

// TakeStep uses up a step of an authenticator app's clock. It reports false for a step that was used, or is older than
// one.
func (s *Store) TakeStep(ctx context.Context, personID string, step int64) (bool, error) {
	done, err := s.pool.Exec(ctx, `UPDATE people SET totp_used = $2 WHERE id = $1 AND totp_used < $2`, personID, step)
	return err == nil && done.RowsAffected() == 1, err
}

// TakeCode uses up a recovery code by its hash.
func (s *Store) TakeCode(ctx context.Context, personID string, hash []byte) (bool, error) {
	done, err := s.pool.Exec(ctx, `DELETE FROM recovery_codes WHERE person_id = $1 AND hash = $2`, personID, hash)
	return err == nil && done.RowsAffected() == 1, err
}

// Passkey is a credential of a person.
type Passkey struct {
	CredentialID []byte
	PersonID     string
	Name         string
	Credential   []byte // JSON, as package passkey writes it
	CreatedAt    time.Time
	UsedAt       *time.Time
}

// Passkeys lists the passkeys of a person, the oldest first.
func (s *Store) Passkeys(ctx context.Context, personID string) ([]Passkey, error) {
	rows, err := s.pool.Query(ctx, `SELECT credential_id, person_id, name, credential, created_at, used_at FROM passkeys
		WHERE person_id = $1 ORDER BY created_at, credential_id LIMIT 100`, personID)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Passkey])
}

// AddPasskey stores a new credential. It reports false for a known one.
func (s *Store) AddPasskey(ctx context.Context, k Passkey) (bool, error) {
	done, err := s.pool.Exec(ctx, `INSERT INTO passkeys (credential_id, person_id, name, credential) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
		k.CredentialID, k.PersonID, k.Name, k.Credential)
	return err == nil && done.RowsAffected() == 1, err
}

// UsedPasskey stores a credential after its use, with its new counter.
func (s *Store) UsedPasskey(ctx context.Context, credentialID, credential []byte) error {
	_, err := s.pool.Exec(ctx, `UPDATE passkeys SET credential = $2, used_at = now() WHERE credential_id = $1`, credentialID, credential)
	return err
}

// ErrLastWay refuses to remove the last way by which a person can sign in.
var ErrLastWay = errors.New("the last way to sign in")

// RemovePasskey removes a credential of a person, unless it is the last way to sign in.
func (s *Store) RemovePasskey(ctx context.Context, personID string, credentialID []byte) error {
	return postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var others bool
		err := tx.QueryRow(ctx, `SELECT password IS NOT NULL AND totp IS NOT NULL OR
			EXISTS (SELECT 1 FROM passkeys k WHERE k.person_id = p.id AND k.credential_id <> $2) FROM people p WHERE id = $1 FOR UPDATE`,
			personID, credentialID).Scan(&others)
		if err != nil {
			return found(err)
		}
		if !others {
			return ErrLastWay
		}
		done, err := tx.Exec(ctx, `DELETE FROM passkeys WHERE person_id = $1 AND credential_id = $2`, personID, credentialID)
		if err == nil && done.RowsAffected() == 0 {
			return ErrUnknown
		}
		return err
	})
}

// Reset removes every way to sign in of a person and ends the sessions. A one-time link lets the person in again.
func (s *Store) Reset(ctx context.Context, who people.Person, by string) error {
	return postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		for _, statement := range []string{
			`UPDATE people SET password = NULL, totp = NULL WHERE id = $1`,
			`DELETE FROM passkeys WHERE person_id = $1`,
			`DELETE FROM recovery_codes WHERE person_id = $1`,
			`UPDATE sessions SET revoked_at = now() WHERE person_id = $1 AND revoked_at IS NULL`,
			`UPDATE links SET used_at = now() WHERE login = (SELECT login FROM people WHERE id = $1) AND purpose = 'sign_in' AND used_at IS NULL`,
		} {
			if _, err := tx.Exec(ctx, statement, who.ID); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO acts (person_id, login, merchant_id, act, about)
			SELECT $1, $2, m.merchant_id, 'reset', $3 FROM memberships m WHERE m.person_id = $1`, who.ID, by, who.Login)
		return err
	})
}
