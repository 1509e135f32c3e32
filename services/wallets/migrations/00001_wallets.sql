-- +goose Up

-- Where the next address of a mode and family comes from. The row is locked while addresses are made, so their seq is
-- also the order in which they are committed: a scanner reads on from the last seq it knows and misses none.
CREATE TABLE counters (
    mode       text   NOT NULL CHECK (mode IN ('live', 'test')),
    family     text   NOT NULL CHECK (family IN ('bitcoin', 'evm', 'tron', 'solana')),
    next_index bigint NOT NULL DEFAULT 0 CHECK (next_index BETWEEN 0 AND 2147483648),
    last_seq   bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (mode, family)
);
INSERT INTO counters (mode, family)
SELECT m, f FROM unnest(ARRAY['live', 'test']) AS m, unnest(ARRAY['bitcoin', 'evm', 'tron', 'solana']) AS f;

-- Every address ever handed out. Rows are never changed and never deleted: late money is always seen.
CREATE TABLE addresses (
    mode       text        NOT NULL,
    family     text        NOT NULL,
    seq        bigint      NOT NULL,
    account    bigint      NOT NULL,
    idx        bigint      NOT NULL,
    key        bytea       NOT NULL,
    address    text        NOT NULL,
    wallet_id  text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (mode, family, seq),
    CONSTRAINT addresses_once UNIQUE (mode, family, address),
    CONSTRAINT addresses_index_once UNIQUE (mode, family, account, idx),
    CONSTRAINT addresses_wallet_once UNIQUE (wallet_id),
    FOREIGN KEY (mode, family) REFERENCES counters (mode, family)
);

-- Requests for addresses by their id. first_seq is null while a request waits for keys or for stock.
CREATE TABLE allocations (
    request_id text        PRIMARY KEY,
    mode       text        NOT NULL,
    family     text        NOT NULL,
    count      integer     NOT NULL CHECK (count > 0),
    first_seq  bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    granted_at timestamptz
);
CREATE INDEX allocations_waiting ON allocations (created_at) WHERE first_seq IS NULL;

-- Who works on what. A new owner gets a larger epoch, and a write under an older epoch is refused (cursors.epoch).
CREATE TABLE leases (
    name  text        PRIMARY KEY,
    owner text        NOT NULL,
    epoch bigint      NOT NULL,
    until timestamptz NOT NULL
);

-- How far each chain has been scanned. Every write compares and sets the whole position.
CREATE TABLE cursors (
    mode       text        NOT NULL,
    network    text        NOT NULL,
    epoch      bigint      NOT NULL,
    height     bigint      NOT NULL,
    hash       text        NOT NULL,
    block_time timestamptz NOT NULL,
    finalized  bigint      NOT NULL DEFAULT 0,
    moved_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (mode, network)
);

-- The newest headers of each scanned chain: enough to find the common ancestor after a reorganisation.
CREATE TABLE headers (
    mode    text        NOT NULL,
    network text        NOT NULL,
    height  bigint      NOT NULL,
    hash    text        NOT NULL,
    parent  text        NOT NULL,
    time    timestamptz NOT NULL,
    PRIMARY KEY (mode, network, height)
);

-- The present state of every transfer to an address of ours, by the name that survives a re-inclusion.
CREATE TABLE deposits (
    mode          text           NOT NULL,
    network       text           NOT NULL,
    tx_hash       text           NOT NULL,
    ordinal       integer        NOT NULL,
    version       bigint         NOT NULL,
    family        text           NOT NULL,
    address       text           NOT NULL,
    wallet_id     text           NOT NULL,
    asset         text           NOT NULL,
    contract      text           NOT NULL,
    amount        numeric(78, 0) NOT NULL CHECK (amount > 0),
    senders       text[]         NOT NULL,
    state         text           NOT NULL CHECK (state IN ('seen', 'confirmed', 'reverted')),
    height        bigint         NOT NULL,
    block_hash    text           NOT NULL,
    block_time    timestamptz    NOT NULL,
    depth         bigint         NOT NULL,
    head          bigint         NOT NULL,
    finalized     boolean        NOT NULL,
    due_height    bigint         NOT NULL,
    first_seen_at timestamptz    NOT NULL,
    changed_at    timestamptz    NOT NULL DEFAULT now(),
    PRIMARY KEY (mode, network, tx_hash, ordinal)
);
CREATE INDEX deposits_by_height ON deposits (mode, network, height);
CREATE INDEX deposits_due ON deposits (mode, network, due_height) WHERE due_height > 0;
CREATE INDEX deposits_not_final ON deposits (mode, network, height) WHERE NOT finalized AND state <> 'reverted';
CREATE INDEX deposits_by_wallet ON deposits (wallet_id);

-- Every inclusion of a transfer in a block, kept also when the block left the chain: the trail behind a deposit.
CREATE TABLE transfers (
    mode        text           NOT NULL,
    network     text           NOT NULL,
    height      bigint         NOT NULL,
    block_hash  text           NOT NULL,
    tx_hash     text           NOT NULL,
    ordinal     integer        NOT NULL,
    address     text           NOT NULL,
    asset       text           NOT NULL,
    amount      numeric(78, 0) NOT NULL,
    scanned_at  timestamptz    NOT NULL DEFAULT now(),
    orphaned_at timestamptz,
    PRIMARY KEY (mode, network, block_hash, tx_hash, ordinal)
);
CREATE INDEX transfers_by_height ON transfers (mode, network, height);

-- The simulated chains of test mode, which live in the database so that they survive restarts and can be audited.
CREATE TABLE sim_networks (
    network    text        PRIMARY KEY,
    height     bigint      NOT NULL,
    mine_until bigint      NOT NULL,
    mined_at   timestamptz NOT NULL
);
CREATE TABLE sim_blocks (
    network text        NOT NULL,
    height  bigint      NOT NULL,
    hash    text        NOT NULL,
    parent  text        NOT NULL,
    time    timestamptz NOT NULL,
    PRIMARY KEY (network, height)
);
CREATE TABLE sim_transfers (
    request_id    text           PRIMARY KEY,
    network       text           NOT NULL,
    tx_hash       text           NOT NULL UNIQUE,
    key           bytea          NOT NULL,
    asset         text           NOT NULL,
    contract      text           NOT NULL,
    amount        numeric(78, 0) NOT NULL CHECK (amount > 0),
    sender        text           NOT NULL,
    confirmations bigint         NOT NULL CHECK (confirmations > 0),
    height        bigint, -- null while it waits for a block
    dropped       boolean        NOT NULL DEFAULT false,
    created_at    timestamptz    NOT NULL DEFAULT now()
);
CREATE INDEX sim_transfers_by_height ON sim_transfers (network, height) WHERE height IS NOT NULL;
CREATE INDEX sim_transfers_waiting ON sim_transfers (network) WHERE height IS NULL AND NOT dropped;

CREATE TABLE outbox (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text        NOT NULL,
    message_id text        NOT NULL,
    headers    text        NOT NULL,
    body       bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE inbox (
    slot       smallint NOT NULL,
    message_id text     NOT NULL,
    PRIMARY KEY (message_id, slot)
) PARTITION BY LIST (slot);
CREATE TABLE inbox_0 PARTITION OF inbox FOR VALUES IN (0);
CREATE TABLE inbox_1 PARTITION OF inbox FOR VALUES IN (1);
CREATE TABLE inbox_2 PARTITION OF inbox FOR VALUES IN (2);
CREATE TABLE inbox_3 PARTITION OF inbox FOR VALUES IN (3);
-- +goose StatementBegin
CREATE FUNCTION inbox_slots() RETURNS SETOF smallint LANGUAGE sql STABLE AS $$
    SELECT DISTINCT (floor(extract(epoch FROM t) / 604800)::bigint % 4)::smallint
    FROM (VALUES (now()), (now() - interval '10 minutes')) AS v(t)
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION inbox_rotate() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    next  text := format('inbox_%s', (floor(extract(epoch FROM now()) / 604800)::bigint + 1) % 4);
    stale boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM %I)', next) INTO stale;
    IF stale THEN
        EXECUTE format('TRUNCATE %I', next);
    END IF;
END
$$;
-- +goose StatementEnd
