-- +goose Up

CREATE TABLE outbox (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text        NOT NULL,
    message_id text        NOT NULL,
    headers    text        NOT NULL,
    body       bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000, autovacuum_vacuum_cost_delay = 0);

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
