-- +goose Up

-- Traces of the requests that gave an address to a payment (payments.addresses_used.v1), so that what the scanner finds there
-- goes on in the same one. Kept 14 to 21 days in a ring of weekly partitions, as the inbox: money that comes later is seen in
-- a trace of its own. Nothing depends on them but traces.
CREATE TABLE address_traces (
    slot    smallint NOT NULL DEFAULT (floor(extract(epoch FROM now()) / 604800)::bigint % 4)::smallint,
    mode    text     NOT NULL,
    family  text     NOT NULL,
    address text     NOT NULL,
    trace   text     NOT NULL,
    PRIMARY KEY (mode, family, address, slot)
) PARTITION BY LIST (slot);
CREATE TABLE address_traces_0 PARTITION OF address_traces FOR VALUES IN (0);
CREATE TABLE address_traces_1 PARTITION OF address_traces FOR VALUES IN (1);
CREATE TABLE address_traces_2 PARTITION OF address_traces FOR VALUES IN (2);
CREATE TABLE address_traces_3 PARTITION OF address_traces FOR VALUES IN (3);
-- +goose StatementBegin
CREATE FUNCTION address_traces_rotate() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    next  text := format('address_traces_%s', (floor(extract(epoch FROM now()) / 604800)::bigint + 1) % 4);
    stale boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM %I)', next) INTO stale;
    IF stale THEN
        EXECUTE format('TRUNCATE %I', next);
    END IF;
END
$$;
-- +goose StatementEnd

ALTER TABLE deposits ADD COLUMN trace text; -- of the payment's, as it was known when the deposit was first seen
ALTER TABLE wallets ADD COLUMN trace text;  -- of the request that made a standalone wallet; null where nobody records it
