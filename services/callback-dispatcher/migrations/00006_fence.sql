-- +goose Up
-- A record that writes what came of a flight's deliveries and the landing of that flight take turns: the record holds the
-- flight's row as its first act, and so does the landing, which looks at the rest in a statement of its own, after it. Else
-- each would pass over what the other had not committed yet, and a delivery would be over and due at the same time.

-- dispatcher_landed ends a record that saw a flight which has landed since: what became of it is not seen by that statement.
-- +goose StatementBegin
CREATE FUNCTION dispatcher_landed() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the flight has landed meanwhile' USING ERRCODE = 'serialization_failure';
END
$$;
-- +goose StatementEnd

-- dispatcher_land as it was (00005), but for the lock, and for rows that are in delivery: none is inserted in the place of one
-- that a transaction is about to bring to an end.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION dispatcher_land(landing bigint[], keeper text) RETURNS bigint LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    landed bigint;
BEGIN
    PERFORM FROM flight WHERE id = ANY(landing) ORDER BY id FOR UPDATE;
    WITH f AS (
        DELETE FROM flight WHERE id = ANY(landing) RETURNING events, slots
    ), x AS (
        SELECT e.id AS event_id, e.slot, e.merchant_id, e.mode, e.type, e.object_id, e.sequence, e.received_at,
            split_part(t.line, chr(9), 1) AS target, split_part(t.line, chr(9), 2) AS id,
            nullif(split_part(t.line, chr(9), 3), '') AS endpoint_id, split_part(t.line, chr(9), 4) AS url
        FROM f CROSS JOIN LATERAL unnest(f.events, f.slots) AS n(id, slot) JOIN event e ON e.id = n.id AND e.slot = n.slot
            CROSS JOIN LATERAL string_to_table(e.fan, chr(10)) AS t(line)
    ), i AS (
        INSERT INTO delivery (id, event_id, event_slot, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence, state,
            next_at, created_at, lease_owner, lease_until)
        SELECT id, event_id, slot, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence,
            CASE WHEN keeper IS NULL THEN 'due' ELSE 'leased' END, received_at, received_at, keeper,
            CASE WHEN keeper IS NOT NULL THEN now() + interval '5 minutes' END
        FROM x WHERE NOT EXISTS (SELECT FROM delivery_done o WHERE o.id = x.id AND o.slot = x.slot)
            AND NOT EXISTS (SELECT FROM delivery d WHERE d.event_id = x.event_id AND d.target = x.target)
        ORDER BY id
        ON CONFLICT DO NOTHING
        RETURNING target, next_at, state
    ), l AS (
        INSERT INTO lane (target, due_at) SELECT target, min(next_at) FROM i WHERE state = 'due' GROUP BY target ORDER BY target
        ON CONFLICT (target) DO UPDATE SET due_at = excluded.due_at WHERE lane.due_at > excluded.due_at
    )
    SELECT count(*) INTO landed FROM i;
    RETURN landed;
END
$$;
-- +goose StatementEnd
