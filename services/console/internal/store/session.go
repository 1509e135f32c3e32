package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/services/console/internal/people"
)

// Idle is the time without a request after which a session ends.
const Idle = 12 * time.Hour

// sessionPlace binds the sealed data of a session to its token. The data is sealed, because it holds values that a page
// shows once: the secrets of new keys and authenticator apps, and recovery codes.
func sessionPlace(token string) string { return "session/" + token }

// FindSession returns the data of a session that is neither revoked nor expired nor idle for too long. It records the
// use of the session, at most once a minute. A session whose key is gone counts as none.
func (s *Store) FindSession(ctx context.Context, token string) (data []byte, ok bool, err error) {
	var stale bool
	var sealed []byte
	err = s.pool.QueryRow(ctx, `SELECT data, seen_at < now() - interval '1 minute' FROM sessions
		WHERE token = $1 AND revoked_at IS NULL AND expires_at > now() AND seen_at > now() - make_interval(secs => $2)`,
		token, Idle.Seconds()).Scan(&sealed, &stale)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, nil
	}
	if err == nil {
		if data, err = s.ring.Open(sealed, sessionPlace(token)); err != nil {
			return nil, false, nil //nolint:nilerr // the person signs in again
		}
	}
	if err == nil && stale {
		_, err = s.pool.Exec(ctx, `UPDATE sessions SET seen_at = now() WHERE token = $1`, token)
	}
	return data, err == nil, err
}

// Seen is what a list shows about a session.
type Seen struct {
	ID        string
	Address   string
	Agent     string
	CreatedAt time.Time
	SeenAt    time.Time
}

// CommitSession stores a session, whose person is "" before the sign-in. A session that was revoked meanwhile stays
// revoked.
func (s *Store) CommitSession(ctx context.Context, token, personID string, data []byte, about Seen, expires time.Time) error {
	_, err := s.pool.Exec(ctx, `INSERT INTO sessions (token, id, person_id, data, address, agent, expires_at)
		VALUES ($1, $2, nullif($3, ''), $4, $5, $6, $7)
		ON CONFLICT (token) DO UPDATE SET person_id = excluded.person_id, data = excluded.data, address = excluded.address,
			expires_at = excluded.expires_at, seen_at = now() WHERE sessions.revoked_at IS NULL`,
		token, about.ID, personID, s.ring.Seal(data, sessionPlace(token)), about.Address, about.Agent, expires)
	return err
}

// SessionOf is the person of the session with a token, even if the session has ended; "" is nobody.
func (s *Store) SessionOf(ctx context.Context, token string) (personID string, err error) {
	err = s.pool.QueryRow(ctx, `SELECT coalesce((SELECT person_id FROM sessions WHERE token = $1), '')`, token).Scan(&personID)
	return personID, err
}

// EndSession revokes a session by its token.
func (s *Store) EndSession(ctx context.Context, token string) error {
	_, err := s.pool.Exec(ctx, `UPDATE sessions SET revoked_at = now() WHERE token = $1 AND revoked_at IS NULL`, token)
	return err
}

// Sessions lists the sessions of a person that may be used, the newest first.
func (s *Store) Sessions(ctx context.Context, personID string) ([]Seen, error) {
	rows, err := s.pool.Query(ctx, `SELECT id, address, agent, created_at, seen_at FROM sessions
		WHERE person_id = $1 AND revoked_at IS NULL AND expires_at > now() AND seen_at > now() - make_interval(secs => $2)
		ORDER BY created_at DESC LIMIT 100`, personID, Idle.Seconds())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Seen])
}

// RevokeSession ends a session of a person by the name that a list shows.
func (s *Store) RevokeSession(ctx context.Context, personID, sessionID string) error {
	done, err := s.pool.Exec(ctx, `UPDATE sessions SET revoked_at = now() WHERE person_id = $1 AND id = $2 AND revoked_at IS NULL`, personID, sessionID)
	if err == nil && done.RowsAffected() == 0 {
		return ErrUnknown
	}
	return err
}

// RevokeOthers ends all sessions of a person except one; with "" it ends all.
func (s *Store) RevokeOthers(ctx context.Context, personID, but string) error {
	_, err := s.pool.Exec(ctx, `UPDATE sessions SET revoked_at = now() WHERE person_id = $1 AND id <> $2 AND revoked_at IS NULL`, personID, but)
	return err
}

// window is the time in which failed attempts count together.
const window = 15 * time.Minute

// Attempt counts an attempt against a subject, and returns how many there are in its window.
func (s *Store) Attempt(ctx context.Context, subject string) (n int, err error) {
	err = s.pool.QueryRow(ctx, `INSERT INTO attempts AS a (subject, n) VALUES ($1, 1) ON CONFLICT (subject) DO UPDATE SET
		n = CASE WHEN a.since > now() - make_interval(secs => $2) THEN a.n + 1 ELSE 1 END,
		since = CASE WHEN a.since > now() - make_interval(secs => $2) THEN a.since ELSE now() END RETURNING n`, subject, window.Seconds()).Scan(&n)
	return n, err
}

// TakeBack uncounts an attempt against a subject.
func (s *Store) TakeBack(ctx context.Context, subject string) error {
	_, err := s.pool.Exec(ctx, `UPDATE attempts SET n = n - 1 WHERE subject = $1 AND n > 0`, subject)
	return err
}

const linkColumns = `id, purpose, login, merchant_id, merchant_name, role, created_by, created_at, expires_at`

func readLink(row pgx.CollectableRow) (l people.Link, err error) {
	err = row.Scan(&l.ID, &l.Purpose, &l.Login, &l.MerchantID, &l.MerchantName, &l.Role, &l.CreatedBy, &l.CreatedAt, &l.ExpiresAt)
	return l, err
}

// MakeLink stores a one-time link by the hash of its secret.
func (s *Store) MakeLink(ctx context.Context, l people.Link, hash []byte) error {
	_, err := s.pool.Exec(ctx, `INSERT INTO links (hash, purpose, login, merchant_id, merchant_name, role, created_by, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, hash, l.Purpose, l.Login, l.MerchantID, l.MerchantName, l.Role, l.CreatedBy, l.ExpiresAt)
	return err
}

// FindLink returns a link that is neither used nor expired.
func (s *Store) FindLink(ctx context.Context, hash []byte) (people.Link, error) {
	return s.link(ctx, `SELECT `+linkColumns+` FROM links WHERE hash = $1 AND used_at IS NULL AND expires_at > now()`, hash)
}

// TakeLink uses a link up. A used or expired link is unknown.
func (s *Store) TakeLink(ctx context.Context, hash []byte) (people.Link, error) {
	return s.link(ctx, takeLink, hash)
}

const takeLink = `UPDATE links SET used_at = now() WHERE hash = $1 AND used_at IS NULL AND expires_at > now() RETURNING ` + linkColumns

func (s *Store) link(ctx context.Context, query string, args ...any) (people.Link, error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return people.Link{}, err
	}
	l, err := pgx.CollectExactlyOneRow(rows, readLink)
	return l, found(err)
}

// Invitations lists the open invitations of a merchant, the newest first.
func (s *Store) Invitations(ctx context.Context, merchantID string) ([]people.Link, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+linkColumns+` FROM links
		WHERE merchant_id = $1 AND purpose = 'join' AND used_at IS NULL AND expires_at > now() ORDER BY id DESC LIMIT 200`, merchantID)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, readLink)
}

// Withdraw ends an open invitation of a merchant.
func (s *Store) Withdraw(ctx context.Context, merchantID string, linkID int64) error {
	done, err := s.pool.Exec(ctx, `UPDATE links SET expires_at = now() WHERE merchant_id = $1 AND id = $2 AND used_at IS NULL AND expires_at > now()`,
		merchantID, linkID)
	if err == nil && done.RowsAffected() == 0 {
		return ErrUnknown
	}
	return err
}
