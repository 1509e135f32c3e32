// Package outbox carries messages out of a business transaction: a row is written in the transaction, one relay per
// database publishes it, and the row is deleted once its consumer has answered (docs/architecture.md#outbox). A crash
// repeats a message and never loses one, and neither does a broker that forgets what it has confirmed. The package
// knows PostgreSQL and a watermill publisher, no broker and no payload but the answers.
package outbox

import (
	"context"
	"encoding/json"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"

	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/wire"
)

// Schema is the table that every service with an outbox creates in a migration, word for word; a test of the service
// asserts it with testkit. The sequence must not be cached per session, because an object's messages leave in the order
// of their ids, which its row lock serialises. Rows live for milliseconds, so the table is vacuumed by count.
const Schema = `CREATE TABLE outbox (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text        NOT NULL,
    message_id text        NOT NULL,
    headers    text        NOT NULL,
    body       bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000, autovacuum_vacuum_cost_delay = 0);`

// InlineSchema keeps rows of up to 8 kB, which most events have, in the table itself. Bodies are sealed, so they do not
// compress, and each would be written to a table of long values and its index besides. Every service with an outbox
// has it in a migration, word for word.
const InlineSchema = `ALTER TABLE outbox SET (toast_tuple_target = 8160);`

// WakeSchema wakes a relay that sleeps when a row is written. Every service with an outbox creates it in a migration,
// word for word. A relay holds the lock only while it sleeps, so the condition is false while messages flow, and no
// busy database notifies: PostgreSQL commits transactions that notify one after the other.
const WakeSchema = `CREATE FUNCTION outbox_wake() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NOTIFY outbox; RETURN NULL; END $$;
CREATE TRIGGER outbox_wake AFTER INSERT ON outbox FOR EACH STATEMENT
    WHEN (NOT pg_try_advisory_xact_lock_shared(hashtextextended('outbox asleep', 0))) EXECUTE FUNCTION outbox_wake();`

// InsertSQL writes one message; its four arguments are those of Message.Args. It may be part of a larger statement.
const InsertSQL = `INSERT INTO outbox (name, message_id, headers, body) VALUES ($1, $2, $3, $4)`

// Message is an outgoing message. ID is the message's own id, by which consumers detect duplicates.
type Message struct {
	Name    wire.Name
	ID      string
	Body    []byte
	Headers map[string]string
}

// Encode makes a message of a wire payload. It stores the trace of ctx, so that the consumer's span joins the request
// that wrote the row instead of the relay that moved it, and the ids of ctx's log lines.
func Encode(ctx context.Context, name wire.Name, id string, payload any) (Message, error) {
	body, err := json.Marshal(payload)
	if err != nil {
		return Message{}, fmt.Errorf("encode %s: %w", name, err)
	}
	carrier := propagation.MapCarrier{}
	otel.GetTextMapPropagator().Inject(ctx, carrier)
	telemetry.Inject(ctx, carrier)
	return Message{Name: name, ID: id, Body: body, Headers: carrier}, nil
}

// Args are the arguments of InsertSQL, in its order.
func (m Message) Args() []any { return []any{string(m.Name), m.ID, m.headers(), m.Body} }

// headers are kept as the text of a JSON object, because the database never reads them.
func (m Message) headers() string {
	if len(m.Headers) == 0 {
		return "{}"
	}
	b, _ := json.Marshal(m.Headers) // a map of strings always encodes
	return string(b)
}

// insertMany writes several messages in the order of the arrays.
const insertMany = `INSERT INTO outbox (name, message_id, headers, body)
SELECT n, i, h, b FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) WITH ORDINALITY AS m(n, i, h, b, o) ORDER BY o`

// Insert writes the messages in their order, in the caller's transaction and in one round trip.
func Insert(ctx context.Context, q postgres.Querier, msgs ...Message) error {
	if len(msgs) == 0 {
		return nil
	}
	sql, args := Statement(msgs)
	if _, err := q.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("write the outbox: %w", err)
	}
	return nil
}

// Statement returns the statement that writes one or more messages in their order, for a batch of the caller.
func Statement(msgs []Message) (sql string, args []any) {
	if len(msgs) == 1 {
		return InsertSQL, msgs[0].Args()
	}
	names, ids, headers, bodies := make([]string, 0, len(msgs)), make([]string, 0, len(msgs)), make([]string, 0, len(msgs)), make([][]byte, 0, len(msgs))
	for _, m := range msgs {
		names, ids = append(names, string(m.Name)), append(ids, m.ID)
		headers, bodies = append(headers, m.headers()), append(bodies, m.Body)
	}
	return insertMany, []any{names, ids, headers, bodies}
}
