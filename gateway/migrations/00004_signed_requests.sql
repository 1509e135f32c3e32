-- +goose Up

-- Signatures of the requests that were let in, so that the same bytes are let in once (contract.md §2). A signature lasts
-- ten minutes at most, from five before its timestamp to five after. slot is the quarter of an hour of the signed
-- timestamp, modulo 4: one signature always falls into one slot, so the primary key alone decides, and a slot is emptied
-- as a whole while it is two quarters away. once is the hash of the Idempotency-Key that came with the first.
CREATE TABLE signed_requests (
    slot smallint NOT NULL,
    id   bytea    NOT NULL CHECK (octet_length(id) = 32),
    once bytea    CHECK (octet_length(once) = 32),
    PRIMARY KEY (id, slot)
) PARTITION BY LIST (slot);
CREATE TABLE signed_requests_0 PARTITION OF signed_requests FOR VALUES IN (0);
CREATE TABLE signed_requests_1 PARTITION OF signed_requests FOR VALUES IN (1);
CREATE TABLE signed_requests_2 PARTITION OF signed_requests FOR VALUES IN (2);
CREATE TABLE signed_requests_3 PARTITION OF signed_requests FOR VALUES IN (3);
-- +goose StatementBegin
CREATE FUNCTION signed_requests_rotate() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    far   text := format('signed_requests_%s', (floor(extract(epoch FROM now()) / 900)::bigint + 2) % 4);
    stale boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM %I)', far) INTO stale;
    IF stale THEN
        EXECUTE format('TRUNCATE %I', far);
    END IF;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE signed_requests;
DROP FUNCTION signed_requests_rotate();
