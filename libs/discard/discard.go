// Package discard removes dead messages that no operator can or need redrive. Each is kept before it leaves its queue,
// with the operator and the reason: the message until thirty days after it died, the note for ever. The package knows
// one table.
package discard

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Schema is the table that every service with dead messages creates in a migration, word for word.
const Schema = `CREATE TABLE discarded (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue      text        NOT NULL,
    message_id text        NOT NULL,
    name       text        NOT NULL,
    died_at    timestamptz NOT NULL,
    died_of    text        NOT NULL,
    body       bytea,
    digest     bytea       NOT NULL,
    operator   text        NOT NULL,
    reason     text        NOT NULL,
    at         timestamptz NOT NULL DEFAULT now(),
    UNIQUE (queue, message_id, died_at, digest)
);
CREATE INDEX discarded_bodies ON discarded (died_at) WHERE body IS NOT NULL;`

const (
	// A message whose command was interrupted is discarded again; it is noted once.
	keepSQL = `INSERT INTO discarded (queue, message_id, name, died_at, died_of, body, digest, operator, reason)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (queue, message_id, died_at, digest) DO NOTHING`
	listSQL   = `SELECT queue, message_id, name, died_at, died_of, body, operator, reason, at FROM discarded ORDER BY id DESC LIMIT $1`
	forgetSQL = `UPDATE discarded SET body = NULL WHERE died_at < now() - interval '30 days' AND body IS NOT NULL`
)

// Statements lists the SQL texts of the package by name.
func Statements() map[string]string {
	return map[string]string{"keepDiscarded": keepSQL, "listDiscarded": listSQL, "forgetDiscarded": forgetSQL}
}

// Note is a discarded message with the operator and the reason.
type Note struct {
	Queue    string    `json:"queue"` // its queue before it was dead
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	DiedAt   time.Time `json:"diedAt"`
	DiedOf   string    `json:"diedOf"`
	Body     []byte    `json:"body"` // in base64, as it came; null once it is dropped
	Operator string    `json:"operator"`
	Reason   string    `json:"reason"`
	At       time.Time `json:"at"`
}

type executor interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Keep notes a message. The caller may remove it from its queue once this is committed.
func Keep(ctx context.Context, on executor, n Note) error {
	digest := sha256.Sum256(n.Body)
	text := func(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "?") } // a broker takes any bytes
	_, err := on.Exec(ctx, keepSQL, n.Queue, text(n.ID), text(n.Name), n.DiedAt, text(n.DiedOf), n.Body, digest[:], n.Operator, n.Reason)
	if err != nil {
		return fmt.Errorf("keep a message that is discarded: %w", err)
	}
	return nil
}

// List returns the notes, the newest first.
func List(ctx context.Context, db *pgxpool.Pool, limit int) ([]Note, error) {
	rows, err := db.Query(ctx, listSQL, limit)
	if err != nil {
		return nil, fmt.Errorf("list discarded messages: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (n Note, err error) {
		err = row.Scan(&n.Queue, &n.ID, &n.Name, &n.DiedAt, &n.DiedOf, &n.Body, &n.Operator, &n.Reason, &n.At)
		return n, err
	})
}

// Forget drops the bodies that are thirty days old. Call it periodically.
func Forget(ctx context.Context, on executor) error {
	if _, err := on.Exec(ctx, forgetSQL); err != nil {
		return fmt.Errorf("forget discarded messages: %w", err)
	}
	return nil
}
