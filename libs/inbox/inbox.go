// Package inbox makes message handlers idempotent: the message's id is inserted in the transaction of its effect, and a
// duplicate inserts nothing (docs/architecture.md#inbox). It knows one table and no message.
package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
)

// Schema is the table that every consuming service creates in a migration, word for word. Ids are kept 14 to 21 days in
// a ring of weekly partitions; the oldest is truncated as a whole before its week comes again (docs/decisions/0002).
// Uniqueness over all partitions: a writer looks in all of them, and in the first ten minutes of a week, longer than
// any transaction may last, it writes to the past week's partition as well, so that two writers on the two sides of the
// turn still meet in one unique index.
const Schema = `CREATE TABLE inbox (
    slot       smallint NOT NULL,
    message_id text     NOT NULL,
    PRIMARY KEY (message_id, slot)
) PARTITION BY LIST (slot);
CREATE TABLE inbox_0 PARTITION OF inbox FOR VALUES IN (0);
CREATE TABLE inbox_1 PARTITION OF inbox FOR VALUES IN (1);
CREATE TABLE inbox_2 PARTITION OF inbox FOR VALUES IN (2);
CREATE TABLE inbox_3 PARTITION OF inbox FOR VALUES IN (3);
-- +goose StatementBegin
CREATE FUNCTION inbox_slots() RETURNS SETOF smallint LANGUAGE sql STABLE AS $$
    SELECT DISTINCT (floor(extract(epoch FROM t) / 604800)::bigint % 4)::smallint
    FROM (VALUES (now()), (now() - interval '10 minutes')) AS v(t)
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION inbox_rotate() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    next  text := format('inbox_%s', (floor(extract(epoch FROM now()) / 604800)::bigint + 1) % 4);
    stale boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM %I)', next) INTO stale;
    IF stale THEN
        EXECUTE format('TRUNCATE %I', next);
    END IF;
END
$$;
-- +goose StatementEnd`

// FreshSQL inserts an id and returns whether it is new in every slot that must hold it.
const FreshSQL = `WITH s AS (SELECT slot FROM inbox_slots() AS slot),
i AS (INSERT INTO inbox (slot, message_id) SELECT slot, $1 FROM s
	WHERE NOT EXISTS (SELECT FROM inbox WHERE message_id = $1) ON CONFLICT DO NOTHING RETURNING 1)
SELECT (SELECT count(*) FROM i) = (SELECT count(*) FROM s)`

// FreshOfSQL is FreshSQL for many ids. It returns those that are new. They are written in one order, so that two
// consumers of the same messages wait for each other and never in a circle. OFFSET makes PostgreSQL look each id up by
// the index, and not read the table for all of them.
const FreshOfSQL = `WITH s AS (SELECT slot FROM inbox_slots() AS slot),
i AS (INSERT INTO inbox (slot, message_id) SELECT slot, id FROM unnest($1::text[]) AS m(id), s
	WHERE NOT EXISTS (SELECT FROM inbox WHERE message_id = id OFFSET 0) ORDER BY id, slot ON CONFLICT DO NOTHING RETURNING message_id)
SELECT message_id FROM i GROUP BY message_id HAVING count(*) = (SELECT count(*) FROM s)`

// RotateSQL empties the partition that the next week will use. The application role may not truncate: the function
// belongs to the schema's owner and can only empty ids older than 14 days.
const RotateSQL = `SELECT inbox_rotate()`

var errNoID = errors.New("message without an id")

// Fresh records the id in tx and reports whether it is new. On false the handler must do nothing and acknowledge. Two
// deliveries at once meet in the unique index: the second waits for the first to commit or roll back.
func Fresh(ctx context.Context, tx pgx.Tx, messageID string) (bool, error) {
	if messageID == "" {
		return false, errNoID
	}
	var fresh bool
	if err := tx.QueryRow(ctx, FreshSQL, messageID).Scan(&fresh); err != nil {
		return false, fmt.Errorf("write the inbox: %w", err)
	}
	return fresh, nil
}

// FreshOf is Fresh for several messages with different ids.
func FreshOf(ctx context.Context, tx pgx.Tx, messageIDs []string) (fresh map[string]bool, err error) {
	if slices.Contains(messageIDs, "") {
		return nil, errNoID
	}
	rows, err := tx.Query(ctx, FreshOfSQL, messageIDs)
	if err != nil {
		return nil, fmt.Errorf("write the inbox: %w", err)
	}
	fresh = make(map[string]bool, len(messageIDs))
	var id string
	if _, err = pgx.ForEachRow(rows, []any{&id}, func() error { fresh[id] = true; return nil }); err != nil {
		return nil, fmt.Errorf("write the inbox: %w", err)
	}
	return fresh, nil
}

// Rotate empties the partition that the next week will use; call it every hour. It does nothing when there is nothing
// to empty, and it gives up after the session's lock timeout so that it does not delay handlers.
func Rotate(ctx context.Context, q postgres.Querier) error {
	if _, err := q.Exec(ctx, RotateSQL); err != nil {
		return fmt.Errorf("rotate the inbox: %w", err)
	}
	return nil
}
