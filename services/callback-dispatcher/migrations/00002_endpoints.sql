-- +goose Up
-- tx orders the events of a merchant for GET /v1/events: a reader that stops before the oldest transaction that still runs
-- passes by nothing. token is a settlementToken, sealed (libs/wire, StatusChanged).
ALTER TABLE event
    ADD COLUMN tx    xid8 NOT NULL DEFAULT pg_current_xact_id(),
    ADD COLUMN token bytea;
CREATE INDEX event_list ON event (merchant_id, mode, tx, id);
-- Whether the event before another one is known at all: an endpoint that filtered it out has no delivery of it.
CREATE INDEX event_order ON event (object_id, sequence);
DROP INDEX delivery_done_order;

-- trigger says why the attempt at hand is made, base how many attempts were made before this run of the schedule,
-- replay_id which replay asked for it.
ALTER TABLE delivery
    ADD COLUMN trigger   text    NOT NULL DEFAULT 'auto' CHECK (trigger IN ('auto', 'manual', 'replay')),
    ADD COLUMN base      integer NOT NULL DEFAULT 0,
    ADD COLUMN replay_id text;
DROP INDEX delivery_due;
CREATE INDEX delivery_due ON delivery (target, next_at) WHERE state = 'due';
CREATE INDEX delivery_list ON delivery (merchant_id, mode, id);
CREATE INDEX delivery_replay ON delivery (replay_id) WHERE replay_id IS NOT NULL;
CREATE INDEX delivery_endpoint ON delivery (endpoint_id) WHERE endpoint_id IS NOT NULL;
ALTER TABLE delivery_done ALTER COLUMN first_attempt_at DROP NOT NULL;
CREATE INDEX delivery_done_list ON delivery_done (merchant_id, mode, id);

-- One row per target that has, or lately had, deliveries that wait in the table or fail. Claims look here first, so that
-- a million rows of one target are one candidate. Every statement that makes a delivery due writes due_at in the same
-- transaction, under the row's lock; dispatcher_claim holds the same lock while it computes due_at anew. held is an
-- endpoint that is disabled; probe_at is when the breaker, being open, lets the next single delivery through.
CREATE TABLE lane (
    target        text        PRIMARY KEY,
    due_at        timestamptz NOT NULL,
    held          boolean     NOT NULL DEFAULT false,
    failures      integer     NOT NULL DEFAULT 0,
    failing_since timestamptz,
    failed_at     timestamptz,
    probe_at      timestamptz,
    probe_wait    interval    NOT NULL DEFAULT '0',
    warned        smallint    NOT NULL DEFAULT 0,
    used_at       timestamptz NOT NULL DEFAULT now(),
    ready_at      timestamptz GENERATED ALWAYS AS (CASE WHEN held THEN 'infinity'::timestamptz ELSE greatest(due_at, probe_at) END) STORED
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX lane_ready ON lane (ready_at) WHERE ready_at < 'infinity';
CREATE INDEX lane_failing ON lane (failing_since) WHERE failing_since IS NOT NULL;
INSERT INTO lane (target, due_at) SELECT target, min(next_at) FROM delivery WHERE state = 'due' GROUP BY target;

-- dispatcher_claim leases due rows: at most per_target of each target, targets in the order in which they became ready,
-- round robin. It locks the targets before it looks at their rows: each statement of a volatile function sees what was
-- committed before it began, so no row that was made due under the lock is missed. A target whose breaker is open gets
-- one row, and its next probe is set at once, whichever process makes it.
-- +goose StatementBegin
CREATE FUNCTION dispatcher_claim(owner text, full_targets text[], lanes_max bigint, per_target bigint, rows_max bigint)
    RETURNS SETOF text LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    targets text[];
    probes  boolean[];
BEGIN
    SELECT array_agg(x.target), array_agg(x.probe) INTO targets, probes FROM (
        SELECT l.target, l.probe_at IS NOT NULL AS probe FROM lane l
        WHERE l.ready_at <= now() AND l.ready_at < 'infinity' AND l.target <> ALL(full_targets)
        ORDER BY l.ready_at LIMIT lanes_max FOR UPDATE SKIP LOCKED) x;
    IF targets IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY WITH c AS MATERIALIZED (
        SELECT p.target, p.probe, d.id, d.next_at, row_number() OVER (PARTITION BY p.target ORDER BY d.next_at) AS place
        FROM unnest(targets, probes) AS p(target, probe) CROSS JOIN LATERAL (
            SELECT x.id, x.next_at FROM delivery x WHERE x.target = p.target AND x.state = 'due'
            ORDER BY x.next_at LIMIT per_target + 1 FOR UPDATE SKIP LOCKED) d
    ), k AS MATERIALIZED (
        SELECT c.id, c.target FROM c WHERE c.next_at <= now() AND c.place <= CASE WHEN c.probe THEN 1 ELSE per_target END
        ORDER BY c.place, c.next_at LIMIT rows_max
    ), rest AS (
        SELECT t.target, coalesce(min(c.next_at) FILTER (WHERE k.id IS NULL), 'infinity') AS due_at, count(k.id) > 0 AS took
        FROM unnest(targets) AS t(target) LEFT JOIN c ON c.target = t.target LEFT JOIN k ON k.id = c.id GROUP BY t.target
    ), l AS (
        UPDATE lane SET due_at = rest.due_at, used_at = now(),
            probe_at = CASE WHEN lane.probe_at IS NOT NULL AND rest.took THEN now() + lane.probe_wait ELSE lane.probe_at END,
            probe_wait = CASE WHEN lane.probe_at IS NOT NULL AND rest.took THEN least(2 * lane.probe_wait, interval '15 minutes')
                ELSE lane.probe_wait END
        FROM rest WHERE lane.target = rest.target
    )
    UPDATE delivery d SET state = 'leased', waits = false, lease_owner = owner, lease_until = now() + interval '5 minutes'
    FROM k WHERE d.id = k.id RETURNING d.id;
END
$$;
-- +goose StatementEnd

-- A merchant's registered endpoints. No types means every type. A deleted one stays until its deliveries are gone.
-- announced is false while the merchant has yet to be told, by an event, that we disabled the endpoint.
CREATE TABLE endpoint (
    id              text        PRIMARY KEY,
    merchant_id     text        NOT NULL,
    mode            text        NOT NULL CHECK (mode IN ('live', 'test')),
    url             text        NOT NULL,
    description     text        NOT NULL,
    types           text[]      NOT NULL,
    enabled         boolean     NOT NULL DEFAULT true,
    disabled_reason text,
    disabled_at     timestamptz,
    announced       boolean     NOT NULL DEFAULT true,
    sequence        bigint      NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    deleted_at      timestamptz
);
CREATE INDEX endpoint_owner ON endpoint (merchant_id, mode, id) WHERE deleted_at IS NULL;
CREATE INDEX endpoint_unannounced ON endpoint (id) WHERE NOT announced;
CREATE INDEX endpoint_deleted ON endpoint (deleted_at) WHERE deleted_at IS NOT NULL;

-- Replays of a range. after is the id of the last delivery that was put back.
CREATE TABLE replay (
    id          text        PRIMARY KEY,
    merchant_id text        NOT NULL,
    mode        text        NOT NULL CHECK (mode IN ('live', 'test')),
    endpoint_id text,
    from_at     timestamptz NOT NULL,
    to_at       timestamptz NOT NULL,
    states      text[]      NOT NULL,
    types       text[]      NOT NULL,
    state       text        NOT NULL CHECK (state IN ('running', 'paused', 'finished')),
    total       bigint      NOT NULL,
    sent        bigint      NOT NULL DEFAULT 0,
    after       text        NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX replay_running ON replay (id) WHERE state = 'running';
CREATE INDEX replay_list ON replay (merchant_id, mode, id);

-- Messages that can never be taken in, with the reason. `dead list` shows them, `dead redrive` takes them in again.
CREATE TABLE dead (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL DEFAULT now(),
    message_id text        NOT NULL,
    name       text        NOT NULL,
    reason     text        NOT NULL,
    body       bytea       NOT NULL,
    trace      text        NOT NULL
);
