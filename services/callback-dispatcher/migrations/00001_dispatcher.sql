-- +goose Up

-- Everything that grows with traffic lives in a ring of 36 daily partitions named by slot = day % 36: 33 full days are
-- kept, today and tomorrow are written, and the slot of the day after tomorrow is emptied whole (dispatcher_rotate).
-- An event's slot follows from the time it occurred, which every copy of its message carries, so (id, slot) is unique
-- per event and a duplicate meets the first copy.
CREATE TABLE event (
    slot        smallint    NOT NULL,
    id          text        NOT NULL,
    merchant_id text        NOT NULL,
    mode        text        NOT NULL CHECK (mode IN ('live', 'test')),
    type        text        NOT NULL,
    object_id   text        NOT NULL,
    sequence    bigint      NOT NULL CHECK (sequence > 0),
    occurred_at timestamptz NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(),
    trace       text        NOT NULL,
    body        bytea       NOT NULL,
    PRIMARY KEY (id, slot)
) PARTITION BY LIST (slot);

-- Deliveries that are not over yet: one per (event, target). The table is a queue: small, hot, vacuumed by count. The
-- body stays with the event, so that an update rewrites little.
-- target names the lane: an endpoint's id, or a digest of merchant, mode and callbackUrl.
-- waits says that the first attempt must not be made before next_at unless the first attempt of the sequence before it,
-- to the same target, is over (contract.md §7).
CREATE TABLE delivery (
    id               text        PRIMARY KEY,
    event_id         text        NOT NULL,
    event_slot       smallint    NOT NULL,
    merchant_id      text        NOT NULL,
    mode             text        NOT NULL,
    endpoint_id      text,
    target           text        NOT NULL,
    url              text        NOT NULL,
    type             text        NOT NULL,
    object_id        text        NOT NULL,
    sequence         bigint      NOT NULL,
    state            text        NOT NULL CHECK (state IN ('due', 'leased', 'held')),
    waits            boolean     NOT NULL DEFAULT false,
    attempts         integer     NOT NULL DEFAULT 0,
    next_at          timestamptz NOT NULL,
    lease_owner      text,
    lease_until      timestamptz,
    last_class       text,
    last_status      smallint,
    created_at       timestamptz NOT NULL DEFAULT now(),
    first_attempt_at timestamptz,
    CONSTRAINT delivery_event_target UNIQUE (event_id, target),
    CONSTRAINT delivery_lease CHECK ((state = 'leased') = (lease_owner IS NOT NULL AND lease_until IS NOT NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0);
CREATE INDEX delivery_due ON delivery (next_at) WHERE state = 'due';
CREATE INDEX delivery_waits ON delivery (next_at) WHERE state = 'due' AND waits;
CREATE INDEX delivery_leased ON delivery (lease_owner) WHERE state = 'leased';
CREATE INDEX delivery_order ON delivery (target, object_id, sequence);

-- Deliveries that are over, in the slot of their event, so that both go together.
CREATE TABLE delivery_done (
    slot             smallint    NOT NULL,
    id               text        NOT NULL,
    event_id         text        NOT NULL,
    merchant_id      text        NOT NULL,
    mode             text        NOT NULL,
    endpoint_id      text,
    target           text        NOT NULL,
    url              text        NOT NULL,
    type             text        NOT NULL,
    object_id        text        NOT NULL,
    sequence         bigint      NOT NULL,
    state            text        NOT NULL CHECK (state IN ('delivered', 'exhausted')),
    attempts         integer     NOT NULL,
    last_class       text        NOT NULL,
    last_status      smallint,
    created_at       timestamptz NOT NULL,
    first_attempt_at timestamptz NOT NULL,
    done_at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id, slot)
) PARTITION BY LIST (slot);
CREATE INDEX delivery_done_order ON delivery_done (target, object_id, sequence);

-- One row per attempt, in the slot of the day it was made. Times are microseconds.
CREATE TABLE attempt (
    slot        smallint    NOT NULL,
    delivery_id text        NOT NULL,
    id          uuid        NOT NULL,
    number      integer     NOT NULL,
    trigger     text        NOT NULL DEFAULT 'auto' CHECK (trigger IN ('auto', 'manual', 'replay', 'probe')),
    at          timestamptz NOT NULL,
    class       text        NOT NULL,
    status      smallint,
    remote      text        NOT NULL,
    dns_us      bigint      NOT NULL,
    connect_us  bigint      NOT NULL,
    tls_us      bigint      NOT NULL,
    wait_us     bigint      NOT NULL,
    total_us    bigint      NOT NULL,
    headers     text        NOT NULL,
    excerpt     bytea       NOT NULL,
    detail      text        NOT NULL,
    generation  integer     NOT NULL,
    PRIMARY KEY (delivery_id, id, slot)
) PARTITION BY LIST (slot);

-- +goose StatementBegin
DO $$
BEGIN
    FOR slot IN 0..35 LOOP
        EXECUTE format('CREATE TABLE event_%1$s PARTITION OF event FOR VALUES IN (%1$s)', slot);
        EXECUTE format('CREATE TABLE delivery_done_%1$s PARTITION OF delivery_done FOR VALUES IN (%1$s)', slot);
        EXECUTE format('CREATE TABLE attempt_%1$s PARTITION OF attempt FOR VALUES IN (%1$s)', slot);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- dispatcher_slot is the slot of a time. What claims to have occurred outside the window that the ring can hold counts
-- as of today.
-- +goose StatementBegin
CREATE FUNCTION dispatcher_slot(t timestamptz) RETURNS smallint LANGUAGE sql STABLE AS $$
    SELECT ((floor(extract(epoch FROM
        CASE WHEN t > now() - interval '31 days' AND t < now() + interval '1 hour' THEN t ELSE now() END
    ) / 86400)::bigint) % 36)::smallint
$$;
-- +goose StatementEnd

-- dispatcher_rotate empties the slot of the day after tomorrow, which holds what is 34 days old. It belongs to the
-- schema's owner because the service's own role may not truncate.
-- +goose StatementBegin
CREATE FUNCTION dispatcher_rotate() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    next  bigint := (floor(extract(epoch FROM now()) / 86400)::bigint + 2) % 36;
    stale boolean;
    part  text;
BEGIN
    FOREACH part IN ARRAY ARRAY['attempt', 'delivery_done', 'event'] LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', part || '_' || next) INTO stale;
        IF stale THEN
            EXECUTE format('TRUNCATE %I', part || '_' || next);
        END IF;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- Signing secrets, sealed. endpoint_id is '' for the one of a merchant and mode that signs callbackUrl deliveries. The
-- largest generation signs first; those before it go on until they expire.
CREATE TABLE secret (
    merchant_id text        NOT NULL,
    mode        text        NOT NULL CHECK (mode IN ('live', 'test')),
    endpoint_id text        NOT NULL,
    generation  integer     NOT NULL CHECK (generation > 0),
    sealed      bytea       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz,
    PRIMARY KEY (merchant_id, mode, endpoint_id, generation)
);

-- Processes that lease deliveries. Each holds the session advisory lock lock_key while it lives, and says so every
-- second; whose lock is free or who has been silent is dead, and its leases are taken over.
CREATE TABLE instance (
    id         text        PRIMARY KEY,
    lock_key   bigint      NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE idempotency (
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
-- +goose StatementEnd
