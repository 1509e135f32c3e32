-- +goose Up
-- A delivery that is attempted at once, from memory, gets no row of its own in delivery. The commit that takes its event in
-- writes where the event goes into the event itself (fan), and one row of flight for the whole batch; the attempt's commit
-- writes the row that stays (delivery_done) or, after a failure, the row that waits (delivery). A flight lands, which makes
-- rows of all that is not over yet, when its process has had it for some seconds, and when that process leaves or dies.
-- fan has a line for each such delivery: target, id, endpoint or nothing, URL, with tabs between them.
ALTER TABLE event ADD COLUMN fan text;

-- events and slots name the events of one commit. A row is written once and deleted once.
CREATE TABLE flight (
    id       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner    text        NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT now(),
    events   text[]      NOT NULL,
    slots    smallint[]  NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_insert_threshold = -1,
    autovacuum_vacuum_cost_delay = 0);

-- flies says that a process knows of flights. While one that does not works here, nobody begins any: it would not see that
-- the event before one of its own is under way.
ALTER TABLE instance ADD COLUMN flies boolean NOT NULL DEFAULT false;

-- The attempt of a delivery that succeeded at the first lies in the row of the delivery: its number is 1, its time, class and
-- status are those of the row, remote says that there is one.
ALTER TABLE delivery_done
    ADD COLUMN trigger    text,
    ADD COLUMN remote     text,
    ADD COLUMN dns_us     bigint,
    ADD COLUMN connect_us bigint,
    ADD COLUMN tls_us     bigint,
    ADD COLUMN wait_us    bigint,
    ADD COLUMN total_us   bigint,
    ADD COLUMN headers    text,
    ADD COLUMN excerpt    bytea,
    ADD COLUMN detail     text,
    ADD COLUMN generation integer;

-- A row that is brought back, to be sent again, leaves its attempt in the log.
-- +goose StatementBegin
CREATE FUNCTION dispatcher_keep_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO attempt (slot, delivery_id, id, number, trigger, at, class, status, remote, dns_us, connect_us, tls_us, wait_us,
        total_us, headers, excerpt, detail, generation)
    VALUES (dispatcher_slot(OLD.first_attempt_at), OLD.id, gen_random_uuid(), 1, OLD.trigger, OLD.first_attempt_at, OLD.last_class,
        OLD.last_status, OLD.remote, OLD.dns_us, OLD.connect_us, OLD.tls_us, OLD.wait_us, OLD.total_us, OLD.headers, OLD.excerpt,
        OLD.detail, OLD.generation);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER delivery_done_attempt AFTER DELETE ON delivery_done
    FOR EACH ROW WHEN (OLD.remote IS NOT NULL) EXECUTE FUNCTION dispatcher_keep_attempt();

-- dispatcher_fan is the id of the delivery to a target that an event's fan names, or null.
CREATE FUNCTION dispatcher_fan(fan text, target text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT nullif(split_part(split_part(fan, target || chr(9), 2), chr(9), 1), '')
$$;

-- dispatcher_land ends flights. What of them is neither over nor in delivery gets its row there: leased to keeper, who has it in
-- memory, or due when there is none. The settings are those of dispatcher_claim, and for the same reason: few rows are looked for
-- in large tables.
-- +goose StatementBegin
CREATE FUNCTION dispatcher_land(landing bigint[], keeper text) RETURNS bigint LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    landed bigint;
BEGIN
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

-- Whoever takes a process off the list, of whichever version, lands what it had under way.
-- +goose StatementBegin
CREATE FUNCTION dispatcher_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM dispatcher_land(ARRAY(SELECT id FROM flight WHERE owner = OLD.id), NULL);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER instance_gone AFTER DELETE ON instance FOR EACH ROW EXECUTE FUNCTION dispatcher_gone();
