// Package idempotency keeps the answers of requests with an Idempotency-Key, so that a repeated request gets the stored
// answer and has no second effect (docs/api-contract.md#idempotency). The row is written in the transaction of the
// business write. The package knows one table; the caller decides what is answered, and when.
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/postgres"
)

// Schema is the table that every service with keyed requests creates in a migration, word for word. Answers are kept at
// least 72 hours in a ring of daily partitions; the oldest is truncated as a whole before its day comes again
// (docs/decisions/0002). Uniqueness over all partitions: a caller looks in all of them first, by Find or in the writing
// statement itself by UnknownAt. In the first ten minutes of a day, longer than any request may last, it writes to the
// past day's partition as well, so that two callers on the two sides of midnight still meet in one unique index.
const Schema = `CREATE TABLE idempotency (
    slot         smallint    NOT NULL,
    id           bytea       NOT NULL,
    hash         bytea       NOT NULL,
    status       smallint    NOT NULL,
    body         bytea       NOT NULL,
    secret       bytea,
    secret_until timestamptz,
    PRIMARY KEY (id, slot)
) PARTITION BY LIST (slot);
CREATE TABLE idempotency_0 PARTITION OF idempotency FOR VALUES IN (0);
CREATE TABLE idempotency_1 PARTITION OF idempotency FOR VALUES IN (1);
CREATE TABLE idempotency_2 PARTITION OF idempotency FOR VALUES IN (2);
CREATE TABLE idempotency_3 PARTITION OF idempotency FOR VALUES IN (3);
CREATE TABLE idempotency_4 PARTITION OF idempotency FOR VALUES IN (4);
CREATE INDEX idempotency_secret_until ON idempotency (secret_until) WHERE secret_until IS NOT NULL;
-- +goose StatementBegin
CREATE FUNCTION idempotency_slots() RETURNS SETOF smallint LANGUAGE sql STABLE AS $$
    SELECT DISTINCT (floor(extract(epoch FROM t) / 86400)::bigint % 5)::smallint
    FROM (VALUES (now()), (now() - interval '10 minutes')) AS v(t)
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION idempotency_rotate() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    next  text := format('idempotency_%s', (floor(extract(epoch FROM now()) / 86400)::bigint + 1) % 5);
    stale boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM %I)', next) INTO stale;
    IF stale THEN
        EXECUTE format('TRUNCATE %I', next);
    END IF;
END
$$;
-- +goose StatementEnd`

// InsertSQL writes an answer; its arguments are those of Args.
var InsertSQL = InsertAt(1)

// InsertAt is InsertSQL with its arguments numbered from $n, for use inside a larger statement.
func InsertAt(n int) string {
	return fmt.Sprintf(`INSERT INTO idempotency (slot, id, hash, status, body, secret, secret_until)
SELECT slot, $%d::bytea, $%d::bytea, $%d::smallint, $%d::bytea, $%d::bytea, CASE WHEN $%d::bytea IS NOT NULL THEN now() + interval '15 minutes' END
FROM idempotency_slots() AS slot`, n, n+1, n+2, n+3, n+4, n+4)
}

// Columns are the names, and ColumnTypes the types, of Args in a larger statement over lists of them. A request without
// a key has null in all of them.
var (
	Columns     = []string{"answer_id", "answer_hash", "answer_status", "answer_body", "answer_secret"}
	ColumnTypes = []string{"bytea", "bytea", "smallint", "bytea", "bytea"}
)

// InsertFrom is InsertSQL for the rows of a table with Columns. It takes the keys in one order, so that no two
// statements wait for each other.
func InsertFrom(table string) string {
	return fmt.Sprintf(`INSERT INTO idempotency (slot, id, hash, status, body, secret, secret_until)
SELECT slot, answer_id, answer_hash, answer_status, answer_body, answer_secret, CASE WHEN answer_secret IS NOT NULL THEN now() + interval '15 minutes' END
FROM %s, idempotency_slots() AS slot WHERE answer_id IS NOT NULL ORDER BY slot, answer_id`, table)
}

// UnknownAt is a condition that holds unless a partition has the key whose id is $n, which is the first argument of
// InsertAt. A statement that writes under it, with InsertAt, needs no Find before: it writes nothing when the key has
// an answer, and conflicts in the unique index with another request that runs at the same time.
func UnknownAt(n int) string {
	return fmt.Sprintf(`NOT EXISTS (SELECT FROM idempotency WHERE id = $%d::bytea)`, n)
}

// InsertAllSQL is InsertSQL over lists of its arguments, which all have a key.
var InsertAllSQL = `WITH given AS (
	SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::smallint[], $4::bytea[], $5::bytea[]) AS k(` + strings.Join(Columns, ", ") + `)
)
` + InsertFrom("given")

// The other statements of the package.
const (
	FindSQL    = `SELECT hash, status, body, CASE WHEN secret_until > now() THEN secret END FROM idempotency WHERE id = $1 LIMIT 1`
	FindAllSQL = `SELECT k.place - 1, i.* FROM unnest($1::bytea[]) WITH ORDINALITY AS k(id, place), LATERAL (
	SELECT hash, status, body, CASE WHEN secret_until > now() THEN secret END FROM idempotency WHERE id = k.id LIMIT 1) AS i`
	RotateSQL = `SELECT idempotency_rotate()`
	EraseSQL  = `UPDATE idempotency SET secret = NULL, secret_until = NULL WHERE secret_until <= now()`
)

// StaleSQL counts the secrets that are not sealed under key $1. A sealed value begins with its version, the length of
// its key's id and the id (libs/keyring). An answer of a day's first minutes has two rows.
const StaleSQL = `SELECT count(DISTINCT id), max(secret_until) FROM idempotency
WHERE secret_until > now() AND substring(secret from 3 for get_byte(secret, 1)) <> $1`

// ReplayedHeader marks a stored answer.
const ReplayedHeader = "Idempotent-Replayed"

// Key names one request of one caller. A zero Key.Key means that the caller sent none.
type Key struct {
	Scope string   // from Scope
	Key   string   // the Idempotency-Key header
	Hash  [32]byte // SHA-256 of the raw body
}

// Scope joins the parts within which a key is unique: merchant, mode and route, or route and reference.
func Scope(parts ...string) string { return strings.Join(parts, "\x1f") }

// Sent reports whether the caller sent a key at all.
func (k Key) Sent() bool { return k.Key != "" }

// id is the row's key: it has one length, and it hides the content of callers' keys.
func (k Key) id() []byte {
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(k.Scope)))
	h.Write(n[:])
	h.Write([]byte(k.Scope))
	h.Write([]byte(k.Key))
	return h.Sum(nil)
}

// Answer is the exact reply to a request, as it is kept for the request's key.
//
// A reply that holds a secret has three forms: the first caller gets Full; Secret, its sealed form, answers the same
// request for 15 minutes and is erased then; Body, without the secret, is the answer from then on. A Personal body
// names a person's account, and the store seals it.
type Answer struct {
	Status   int
	Body     []byte
	Full     []byte
	Secret   []byte
	Personal bool
	Replayed bool // it was given before

	Header map[string][]string // of the reply; not stored, and made again from the body for a repeated answer
}

// Args are the arguments of InsertSQL, in its order.
func Args(k Key, a Answer) []any {
	body := a.Body
	if body == nil {
		body = []byte{}
	}
	return []any{k.id(), k.Hash[:], a.Status, body, a.Secret}
}

// ErrTaken means that another request with the same key has won; Replay has its answer.
var ErrTaken = errors.New("a request with this idempotency key won")

var (
	errReused     = fault.New(fault.KeyReused, "idempotency_key_reused", "This Idempotency-Key was used before with another body.")
	errInProgress = fault.New(fault.Conflict, "idempotency_in_progress", "A request with this Idempotency-Key is still running.").After(time.Second)
)

// Find returns the stored answer of a key. The same key with another body is a 422 fault. Without a key it finds
// nothing and sends no query.
func Find(ctx context.Context, q postgres.Querier, k Key) (a Answer, found bool, err error) {
	if !k.Sent() {
		return Answer{}, false, nil
	}
	var hash []byte
	err = q.QueryRow(ctx, FindSQL, k.id()).Scan(&hash, &a.Status, &a.Body, &a.Secret)
	if errors.Is(err, pgx.ErrNoRows) {
		return Answer{}, false, nil
	}
	if err != nil {
		return Answer{}, false, fmt.Errorf("look for an earlier answer: %w", err)
	}
	if a, err = a.replayed(hash, k); err != nil {
		return Answer{}, false, err
	}
	return a, true, nil
}

// replayed is a stored answer to a request that had this hash, as the answer to k.
func (a Answer) replayed(hash []byte, k Key) (Answer, error) {
	if [32]byte(hash) != k.Hash {
		return Answer{}, errReused
	}
	a.Replayed = true
	return a, nil
}

// Found is what Find returns.
type Found struct {
	Answer Answer
	Known  bool
	Err    error
}

// QueueFindAll adds Find of several keys to a batch of the caller. found has their results, in their order, once the
// batch was sent.
func QueueFindAll(batch *pgx.Batch, keys []Key) (found []Found) {
	found = make([]Found, len(keys))
	ids := make([][]byte, len(keys))
	some := false
	for i, k := range keys {
		if k.Sent() {
			ids[i], some = k.id(), true
		}
	}
	if !some {
		return found
	}
	batch.Queue(FindAllSQL, ids).Query(func(rows pgx.Rows) error {
		var (
			place int
			hash  []byte
			a     Answer
		)
		_, err := pgx.ForEachRow(rows, []any{&place, &hash, &a.Status, &a.Body, &a.Secret}, func() error {
			earlier, err := a.replayed(hash, keys[place])
			found[place] = Found{earlier, err == nil, err}
			return nil
		})
		if err != nil {
			return fmt.Errorf("look for earlier answers: %w", err)
		}
		return nil
	})
	return found
}

// QueuePutAll adds Put of several different keys, each with its answer, to a batch of the caller.
func QueuePutAll(batch *pgx.Batch, keys []Key, answers []Answer) {
	var ids, hashes, bodies, secrets [][]byte
	var statuses []int
	for i, k := range keys {
		if !k.Sent() {
			continue
		}
		body := answers[i].Body
		if body == nil {
			body = []byte{}
		}
		ids, hashes, statuses = append(ids, k.id()), append(hashes, k.Hash[:]), append(statuses, answers[i].Status)
		bodies, secrets = append(bodies, body), append(secrets, answers[i].Secret)
	}
	if len(ids) > 0 {
		batch.Queue(InsertAllSQL, ids, hashes, statuses, bodies, secrets)
	}
}

// Put stores the answer in the caller's transaction, and does nothing without a key. When another request with the key
// has won, IsTaken(err) is true; the caller rolls back and calls Replay.
func Put(ctx context.Context, q postgres.Querier, k Key, a Answer) error {
	if !k.Sent() {
		return nil
	}
	if _, err := q.Exec(ctx, InsertSQL, Args(k, a)...); err != nil {
		return fmt.Errorf("store the answer: %w", err)
	}
	return nil
}

// QueuePut adds Put to a batch of the caller.
func QueuePut(batch *pgx.Batch, k Key, a Answer) {
	if k.Sent() {
		batch.Queue(InsertSQL, Args(k, a)...)
	}
}

// IsTaken reports whether a write failed because another request with the same key has finished first, or is still
// running after the session's lock timeout of two seconds.
func IsTaken(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	const lockNotAvailable = "55P03"
	return pg.Code == lockNotAvailable || (postgres.IsUnique(err, "") && strings.HasPrefix(pg.TableName, "idempotency_"))
}

// Replay returns the answer of the request that won, after IsTaken; a 409 fault while that one is still running.
func Replay(ctx context.Context, q postgres.Querier, k Key) (Answer, error) {
	a, found, err := Find(ctx, q, k)
	if err != nil {
		return Answer{}, err
	}
	if !found {
		return Answer{}, errInProgress
	}
	return a, nil
}

// Resealed is the report of a rotation of the master key.
type Resealed struct {
	Master   string     `json:"master"` // the key that seals
	Sealed   int        `json:"sealed"`
	Answers  int        `json:"answersUnderOldKeys"`
	ErasedAt *time.Time `json:"answersErasedAt"` // the last of them
}

// Report adds the number of stored answers that are not sealed under the first key. They last a quarter of an hour and
// are not sealed again.
func Report(ctx context.Context, q postgres.Querier, first string, sealed int) (Resealed, error) {
	r := Resealed{Master: first, Sealed: sealed}
	if err := q.QueryRow(ctx, StaleSQL, []byte(first)).Scan(&r.Answers, &r.ErasedAt); err != nil {
		return r, fmt.Errorf("count stored answers: %w", err)
	}
	if r.ErasedAt != nil {
		at := r.ErasedAt.UTC().Truncate(time.Second)
		r.ErasedAt = &at
	}
	return r, nil
}

// Maintain erases secrets older than 15 minutes and empties the partition that tomorrow will use; call it every minute.
// It gives up after the session's lock timeout so that it does not delay requests.
func Maintain(ctx context.Context, q postgres.Querier) error {
	if _, err := q.Exec(ctx, EraseSQL); err != nil {
		return fmt.Errorf("erase stored secrets: %w", err)
	}
	if _, err := q.Exec(ctx, RotateSQL); err != nil {
		return fmt.Errorf("rotate stored answers: %w", err)
	}
	return nil
}
