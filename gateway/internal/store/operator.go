package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/operator"
	"causeway.internal/libs/approval"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
)

const (
	//nolint:gosec // columns
	tokenColumns = `t.id, t.name, t.created_by, t.created_at, t.expires_at, t.revoked_at, t.last_used_at, t.expires_at <= now()`

	tokensByDigestSQL = `SELECT ` + tokenColumns + ` FROM operator_tokens t WHERE t.digest = ANY($1) ORDER BY t.id`

	// Times of use are exact to the minute.
	tokenUsedSQL = `UPDATE operator_tokens SET last_used_at = now() WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`

	getTokenSQL = `SELECT ` + tokenColumns + ` FROM operator_tokens t WHERE t.id = $1`

	lockTokenSQL = getTokenSQL + ` FOR UPDATE`

	listTokensSQL = `SELECT ` + tokenColumns + ` FROM operator_tokens t
WHERE least(t.expires_at, t.revoked_at) > now() - interval '90 days' ORDER BY t.id DESC LIMIT 500`

	// One person's tokens are made one after another, so that the count holds.
	lockPersonSQL = `SELECT pg_advisory_xact_lock(hashtextextended('operator/' || $1, 0))`

	//nolint:gosec // a statement
	heldTokensSQL = `SELECT count(*) FROM operator_tokens WHERE name = $1 AND revoked_at IS NULL AND expires_at > now()`

	insertTokenSQL = `INSERT INTO operator_tokens AS t (name, digest, pepper_id, created_by, expires_at)
SELECT $1, $2, $3, $4, now() + make_interval(days => $5) WHERE NOT EXISTS (SELECT FROM operator_tokens WHERE digest = ANY($6))
ON CONFLICT (digest) DO NOTHING RETURNING ` + tokenColumns

	replaceTokenSQL = `INSERT INTO operator_tokens AS t (name, digest, pepper_id, created_by, expires_at)
VALUES ($1, $2, $3, $4, $5) RETURNING ` + tokenColumns

	revokeTokenSQL = `UPDATE operator_tokens SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL`

	askedSQL = `SELECT object, version, action, digest, operator, at FROM approvals WHERE object = $1 AND at > now() - make_interval(secs => $2)`

	askSQL = `INSERT INTO approvals (object, version, action, digest, operator) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (object) DO UPDATE SET version = excluded.version, action = excluded.action, digest = excluded.digest,
	operator = excluded.operator, at = now()`

	confirmSQL = `DELETE FROM approvals WHERE object = $1 AND version = $2 AND action = $3 AND digest = $4 AND operator = $5
	AND at > now() - make_interval(secs => $6)`

	withdrawSQL = `DELETE FROM approvals WHERE object = $1`

	forgetApprovalsSQL = `DELETE FROM approvals WHERE at < now() - make_interval(secs => $1)`
)

var _ operator.Store = (*Store)(nil)

func scanToken(row pgx.Row) (t operator.Token, err error) {
	var revoked, used *time.Time
	err = row.Scan(&t.ID, &t.Name, &t.CreatedBy, &t.CreatedAt, &t.ExpiresAt, &revoked, &used, &t.Expired)
	t.RevokedAt, t.LastUsedAt = value(revoked), value(used)
	if errors.Is(err, pgx.ErrNoRows) {
		err = operator.ErrNotFound
	}
	return t, err
}

// TokensByDigest implements operator.Store.
func (s *Store) TokensByDigest(ctx context.Context, digests []apikey.Digest) ([]operator.Token, error) {
	rows, err := s.pool.Query(ctx, tokensByDigestSQL, bytesOf(digests))
	if err != nil {
		return nil, fmt.Errorf("look up an operator's token: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (operator.Token, error) { return scanToken(row) })
	if err != nil {
		return nil, fmt.Errorf("look up an operator's token: %w", err)
	}
	if len(found) != 1 {
		return found, nil
	}
	if _, err := s.pool.Exec(ctx, tokenUsedSQL, found[0].ID); err != nil {
		return nil, fmt.Errorf("note the use of an operator's token: %w", err)
	}
	return found, nil
}

// InsertToken implements operator.Store.
func (s *Store) InsertToken(ctx context.Context, o operator.Order, secret operator.Secret, most int, by audit.Entry) (t operator.Token, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockPersonSQL, o.Name); err != nil {
			return fmt.Errorf("lock the person: %w", err)
		}
		var held int
		if err := tx.QueryRow(ctx, heldTokensSQL, o.Name).Scan(&held); err != nil {
			return fmt.Errorf("count the person's tokens: %w", err)
		}
		if held >= most {
			return operator.ErrTooMany
		}
		t, err = scanToken(tx.QueryRow(ctx, insertTokenSQL, o.Name, secret.Digest[:], secret.PepperID, by.Actor, o.Days, bytesOf(secret.Taken)))
		if errors.Is(err, operator.ErrNotFound) { // nothing was inserted
			return operator.ErrUsed
		}
		if err != nil {
			return fmt.Errorf("insert the token: %w", err)
		}
		by.Object = tokenObject(t.ID)
		return writeAudit(ctx, tx, by)
	})
	return t, err
}

// RotateToken implements operator.Store.
func (s *Store) RotateToken(ctx context.Context, id int64, person string, secret operator.Secret, by audit.Entry) (t operator.Token, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		old, err := scanToken(tx.QueryRow(ctx, lockTokenSQL, id))
		switch {
		case err != nil:
			return err
		case person != "" && person != old.Name:
			return operator.ErrNotYours
		case old.Expired || !old.RevokedAt.IsZero():
			return operator.ErrEnded
		}
		if _, err := tx.Exec(ctx, revokeTokenSQL, id); err != nil {
			return fmt.Errorf("end the old token: %w", err)
		}
		if t, err = scanToken(tx.QueryRow(ctx, replaceTokenSQL, old.Name, secret.Digest[:], secret.PepperID, by.Actor, old.ExpiresAt)); err != nil {
			return fmt.Errorf("insert the token: %w", err)
		}
		by.Object, by.Detail = tokenObject(t.ID), map[string]string{"name": old.Name, "replaces": tokenObject(id)}
		return writeAudit(ctx, tx, by)
	})
	return t, err
}

// RevokeToken implements operator.Store. A token that is revoked already leaves no second audit entry.
func (s *Store) RevokeToken(ctx context.Context, id int64, by audit.Entry) (t operator.Token, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, revokeTokenSQL, id)
		if err != nil {
			return fmt.Errorf("mark the token: %w", err)
		}
		if t, err = scanToken(tx.QueryRow(ctx, getTokenSQL, id)); err != nil || tag.RowsAffected() == 0 {
			return err
		}
		by.Object, by.Detail = tokenObject(id), map[string]string{"name": t.Name}
		return writeAudit(ctx, tx, by)
	})
	return t, err
}

// Tokens implements operator.Store.
func (s *Store) Tokens(ctx context.Context) ([]operator.Token, error) {
	rows, err := s.pool.Query(ctx, listTokensSQL)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (operator.Token, error) { return scanToken(row) })
}

func tokenObject(id int64) string { return "operator_token:" + strconv.FormatInt(id, 10) }

// Asked is the open request about an object, nil without one.
func (s *Store) Asked(ctx context.Context, object string) (*approval.Request, error) {
	var r approval.Request
	err := s.pool.QueryRow(ctx, askedSQL, object, approval.Life.Seconds()).Scan(&r.Object, &r.Version, &r.Action, &r.Digest, &r.Operator, &r.At)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no request and no fault
	}
	if err != nil {
		return nil, fmt.Errorf("read an approval: %w", err)
	}
	return &r, nil
}

// Ask keeps a request for another operator, with its audit entry and its answer.
func (s *Store) Ask(ctx context.Context, r approval.Request, by audit.Entry, k idempotency.Key, a idempotency.Answer) error {
	return postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, askSQL, r.Object, r.Version, r.Action, r.Digest, r.Operator); err != nil {
			return fmt.Errorf("keep an approval request: %w", err)
		}
		if err := writeAudit(ctx, tx, by); err != nil {
			return err
		}
		return idempotency.Put(ctx, tx, k, a)
	})
}

// Withdraw ends the open request about an object.
func (s *Store) Withdraw(ctx context.Context, object string) error {
	if _, err := s.pool.Exec(ctx, withdrawSQL, object); err != nil {
		return fmt.Errorf("withdraw an approval request: %w", err)
	}
	return nil
}

// confirm uses up a request in the transaction of the act that it allows; a request allows one act.
func confirm(ctx context.Context, tx pgx.Tx, r approval.Request) error {
	tag, err := tx.Exec(ctx, confirmSQL, r.Object, r.Version, r.Action, r.Digest, r.Operator, approval.Life.Seconds())
	if err != nil {
		return fmt.Errorf("use up an approval request: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return approval.ErrOutdated
	}
	return nil
}
