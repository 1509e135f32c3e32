-- +goose Up

-- Standalone wallets: what a key asked for over the API. A wallet's id is that of its address. Money on an address with a
-- row here is told to the merchant and never to the payments service.
CREATE TABLE wallets (
    id            text           PRIMARY KEY,
    mode          text           NOT NULL CHECK (mode IN ('live', 'test')),
    merchant_id   text           NOT NULL,
    key_id        bigint         NOT NULL,
    family        text           NOT NULL,
    network       text           NOT NULL,
    network_name  text           NOT NULL, -- as the caller called it
    crypto        text           NOT NULL,
    address       text           NOT NULL,
    metadata      text           NOT NULL,
    status        text           NOT NULL CHECK (status IN ('watching', 'deposit_detected', 'confirmed', 'swept', 'expired')),
    amount        numeric(78, 0) NOT NULL DEFAULT 0 CHECK (amount >= 0),
    deposits      bigint         NOT NULL DEFAULT 0,
    newest_height bigint         NOT NULL DEFAULT 0,
    sequence      bigint         NOT NULL,
    created_at    timestamptz    NOT NULL,
    expires_at    timestamptz    NOT NULL,
    CONSTRAINT wallets_address_once UNIQUE (mode, family, address)
);
CREATE INDEX wallets_of_key ON wallets (key_id, mode, created_at DESC, id DESC);
CREATE INDEX wallets_of_key_by_status ON wallets (key_id, mode, status, created_at DESC, id DESC);
CREATE INDEX wallets_window ON wallets (expires_at) WHERE status = 'watching';
CREATE INDEX wallets_pending ON wallets (merchant_id, mode) WHERE status = 'deposit_detected';

CREATE TABLE wallet_history (
    wallet_id text        NOT NULL,
    sequence  bigint      NOT NULL,
    status    text        NOT NULL,
    amount    numeric     NOT NULL,
    at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (wallet_id, sequence)
);

-- The number of the last deposit message about the network: its reader can tell that it has had all before a height.
ALTER TABLE cursors ADD COLUMN told bigint NOT NULL DEFAULT 0;

-- Custody: what we hold for merchants on standalone wallets, in double entry. Rows are never changed.
CREATE TABLE custody_journals (
    key         text        PRIMARY KEY, -- deposit and number of the journal about it
    event       text        NOT NULL CHECK (event IN ('deposit_confirmed', 'deposit_reverted')),
    mode        text        NOT NULL,
    merchant_id text        NOT NULL,
    wallet_id   text        NOT NULL,
    deposit     text        NOT NULL,
    at          timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX custody_journals_by_deposit ON custody_journals (mode, deposit);
CREATE TABLE custody_entries (
    journal     text           NOT NULL REFERENCES custody_journals (key),
    line        smallint       NOT NULL,
    mode        text           NOT NULL,
    merchant_id text           NOT NULL,
    account     text           NOT NULL CHECK (account IN ('custody', 'merchant')),
    network     text           NOT NULL,
    asset       text           NOT NULL,
    debit       numeric(78, 0) NOT NULL CHECK (debit >= 0),
    credit      numeric(78, 0) NOT NULL CHECK (credit >= 0),
    PRIMARY KEY (journal, line),
    CHECK ((debit > 0) <> (credit > 0))
);
CREATE INDEX custody_entries_of_merchant ON custody_entries (mode, merchant_id, account, network, asset) INCLUDE (debit, credit);
-- +goose StatementBegin
CREATE FUNCTION custody_balanced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM custody_entries WHERE journal = new.journal
               GROUP BY mode, merchant_id, network, asset HAVING sum(debit) <> sum(credit)) THEN
        RAISE EXCEPTION 'custody journal % does not balance', new.journal USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER custody_balanced AFTER INSERT ON custody_entries
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION custody_balanced();

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
