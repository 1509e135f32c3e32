-- +goose Up

-- A payment: what the merchant asked, what was quoted, and the facets of design.md §4. status, exception and due_at are
-- derived from the facets by internal/payment and stored for queries only. payer and receiver are one value each, so
-- that they can be sealed. At most six indexes stand on this table: every one is paid for by every create.
CREATE TABLE payments (
    id               text        PRIMARY KEY,
    reference        text        NOT NULL,
    merchant_id      text        NOT NULL,
    key_id           bigint      NOT NULL,
    mode             text        NOT NULL CHECK (mode IN ('live', 'test')),
    type             text        NOT NULL,
    version          bigint      NOT NULL,
    sequence         bigint      NOT NULL,
    status           text        NOT NULL,
    exception        text        NOT NULL DEFAULT '',
    due_at           timestamptz,

    fiat_currency    text          NOT NULL,
    fiat_amount      numeric NOT NULL CHECK (fiat_amount > 0 AND fiat_amount <> 'NaN'),
    charge_from      text          NOT NULL,
    crypto           text          NOT NULL DEFAULT '',
    network          text          NOT NULL DEFAULT '',
    network_name     text          NOT NULL DEFAULT '',
    crypto_amount    numeric NOT NULL DEFAULT 0 CHECK (crypto_amount >= 0 AND crypto_amount <> 'NaN'),
    payout_amount    numeric NOT NULL DEFAULT 0 CHECK (payout_amount >= 0 AND payout_amount <> 'NaN'),
    charge_fiat      numeric NOT NULL DEFAULT 0,
    charge_crypto    numeric NOT NULL DEFAULT 0,
    charge_usd       numeric NOT NULL DEFAULT 0,
    transaction_usd  numeric NOT NULL DEFAULT 0,
    rate             numeric NOT NULL DEFAULT 0,
    price            json,
    family           text,
    address          text,
    wallet_id        text,

    payer            bytea,
    receiver         bytea,
    preferred_crypto  text NOT NULL DEFAULT '',
    preferred_network text NOT NULL DEFAULT '',
    rail             text NOT NULL DEFAULT '',
    bank_ref         text NOT NULL DEFAULT '',
    callback_url     text NOT NULL DEFAULT '',
    metadata         bytea NOT NULL,

    funding          text    NOT NULL DEFAULT 'none',
    timing           text    NOT NULL DEFAULT 'on_time',
    claim            text    NOT NULL DEFAULT 'none',
    payout           text    NOT NULL DEFAULT 'none',
    hold             text    NOT NULL DEFAULT '',
    ended            text    NOT NULL DEFAULT '',
    closed           boolean NOT NULL DEFAULT false,
    underpaid        boolean NOT NULL DEFAULT false,
    overpaid         boolean NOT NULL DEFAULT false,
    wrong_asset      boolean NOT NULL DEFAULT false,
    reorged          boolean NOT NULL DEFAULT false,
    screening        text    NOT NULL DEFAULT '',

    received         numeric NOT NULL DEFAULT 0,
    transfers        integer        NOT NULL DEFAULT 0,
    credit_n         integer        NOT NULL DEFAULT 0,
    credit_crypto    numeric NOT NULL DEFAULT 0,
    credit_payout    numeric  NOT NULL DEFAULT 0,
    credit_fee       numeric  NOT NULL DEFAULT 0,
    credit_frozen    boolean        NOT NULL DEFAULT false,
    attempt          integer        NOT NULL DEFAULT 0,
    holds            integer        NOT NULL DEFAULT 0,
    token_hash       bytea,
    token_expires_at timestamptz,
    refund_address   text NOT NULL DEFAULT '',
    refund_tx        text NOT NULL DEFAULT '',
    settlement_ref   text NOT NULL DEFAULT '',

    created_at       timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL,
    deadline_at      timestamptz,
    fulfilled_at     timestamptz,
    claimed_at       timestamptz,
    confirmed_at     timestamptz,
    settled_at       timestamptz
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE UNIQUE INDEX payments_reference ON payments (reference);
-- An address belongs to one payment for ever. This index, and not the lease of the stock, is the guarantee.
CREATE UNIQUE INDEX payments_address ON payments (mode, family, address) WHERE address IS NOT NULL;
CREATE INDEX payments_due ON payments (due_at) WHERE due_at IS NOT NULL;

-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END
$$;
-- +goose StatementEnd

-- Every change of a payment, for ever. n counts the changes of one write.
CREATE TABLE history (
    payment_id text        NOT NULL,
    version    bigint      NOT NULL,
    n          smallint    NOT NULL,
    trigger    text        NOT NULL,
    from_state text        NOT NULL,
    to_state   text        NOT NULL,
    exception  text        NOT NULL,
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (payment_id, version, n)
);
CREATE TRIGGER history_append_only BEFORE UPDATE OR DELETE ON history FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER history_never_emptied BEFORE TRUNCATE ON history FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The newest snapshot of each transfer, with our marks on it. payment_id is null for money on an address that no payment
-- carries: it sits in suspense.
CREATE TABLE deposits (
    mode          text        NOT NULL,
    key           text        NOT NULL,
    version       bigint      NOT NULL,
    payment_id    text,
    family        text        NOT NULL,
    network       text        NOT NULL,
    address       text        NOT NULL,
    asset         text        NOT NULL,
    contract      text        NOT NULL,
    tx_hash       text        NOT NULL,
    amount        numeric NOT NULL CHECK (amount >= 0 AND amount <> 'NaN'),
    reverted      boolean     NOT NULL,
    block_height  bigint      NOT NULL,
    block_hash    text        NOT NULL,
    block_time    timestamptz,
    first_seen_at timestamptz NOT NULL,
    depth         bigint      NOT NULL,
    finalized     boolean     NOT NULL,
    senders       text[]      NOT NULL,
    usd           numeric NOT NULL DEFAULT 0,
    booked        text        NOT NULL DEFAULT '',
    booked_amount numeric     NOT NULL DEFAULT 0,
    bookings      integer     NOT NULL DEFAULT 0,
    counted       numeric     NOT NULL DEFAULT 0,
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (mode, key)
) WITH (fillfactor = 80);
CREATE INDEX deposits_payment ON deposits (payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX deposits_address ON deposits (mode, family, address);

-- How far each network is scanned: confirmations and expiry follow from it.
CREATE TABLE scan_progress (
    mode       text        NOT NULL,
    network    text        NOT NULL,
    height     bigint      NOT NULL,
    finalized  bigint      NOT NULL,
    block_time timestamptz NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (mode, network)
);
-- One row per attempt to pay a receiver. The reference is final from the first moment (rails.md R2). lease_until and
-- next_at are compared with this database's clock only. taken_until keeps two workers from looking at one row at once.
CREATE TABLE payouts (
    id           text          PRIMARY KEY,
    payment_id   text          NOT NULL,
    mode         text          NOT NULL,
    reference    text          NOT NULL,
    attempt      integer       NOT NULL,
    rail         text          NOT NULL,
    currency     text          NOT NULL,
    amount       numeric NOT NULL CHECK (amount > 0 AND amount <> 'NaN'),
    receiver     bytea         NOT NULL,
    state        text        NOT NULL,
    frozen       boolean     NOT NULL DEFAULT false,
    lease_until  timestamptz,
    sends        integer     NOT NULL DEFAULT 0,
    sent_at      timestamptz,
    polls        integer     NOT NULL DEFAULT 0,
    misses       integer     NOT NULL DEFAULT 0,
    first_miss_at timestamptz,
    next_at      timestamptz,
    taken_until  timestamptz,
    paged        boolean     NOT NULL DEFAULT false,
    no_float     boolean     NOT NULL DEFAULT false,
    rail_id      text        NOT NULL DEFAULT '',
    reason       text        NOT NULL DEFAULT '',
    fee          numeric     NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL,
    done_at      timestamptz
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX payouts_reference ON payouts (reference);
CREATE INDEX payouts_payment ON payouts (payment_id);
CREATE INDEX payouts_next ON payouts (next_at) WHERE next_at IS NOT NULL;

-- The simulated bank's own memory, as if it stood at another house: nothing here may be joined to a payment.
CREATE TABLE sim_transfers (
    ref            text        PRIMARY KEY,
    currency       text        NOT NULL,
    amount         numeric     NOT NULL,
    bank_code      text        NOT NULL,
    account_number text        NOT NULL,
    account_name   text        NOT NULL,
    outcome        text        NOT NULL,
    at             timestamptz NOT NULL,
    done_at        timestamptz NOT NULL
);
CREATE TABLE sim_outcomes (
    ref     text PRIMARY KEY,
    outcome text NOT NULL
);

-- Double entry. Accounts of one payment carry their balance, kept under the payment's lock; shared accounts have entries
-- only, so that no hot row serialises settlement.
CREATE TABLE ledger_accounts (
    code       text PRIMARY KEY,
    asset      text NOT NULL,
    normal     text NOT NULL CHECK (normal IN ('debit', 'credit')),
    payment_id text,
    balance    numeric
);
CREATE TABLE ledger_journals (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key        text        NOT NULL UNIQUE,
    event      text        NOT NULL,
    payment_id text,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE ledger_entries (
    journal_id bigint   NOT NULL,
    line       smallint NOT NULL,
    account    text     NOT NULL,
    asset      text     NOT NULL,
    side       text     NOT NULL CHECK (side IN ('debit', 'credit')),
    amount     numeric NOT NULL CHECK (amount > 0 AND amount <> 'NaN'),
    PRIMARY KEY (journal_id, line)
);
CREATE INDEX ledger_entries_account ON ledger_entries (account, journal_id);
CREATE INDEX ledger_journals_payment ON ledger_journals (payment_id) WHERE payment_id IS NOT NULL;

-- +goose StatementBegin
CREATE FUNCTION journal_balances() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    journal bigint := CASE WHEN TG_TABLE_NAME = 'ledger_journals' THEN (to_jsonb(NEW) ->> 'id')::bigint ELSE (to_jsonb(NEW) ->> 'journal_id')::bigint END;
    assets  integer;
    wrong   integer;
BEGIN
    SELECT count(*), count(*) FILTER (WHERE total <> 0) INTO assets, wrong FROM (
        SELECT sum(CASE side WHEN 'debit' THEN amount ELSE -amount END) AS total
        FROM ledger_entries WHERE journal_id = journal GROUP BY asset) AS sums;
    IF assets = 0 OR wrong > 0 THEN
        RAISE EXCEPTION 'journal % does not balance', journal USING ERRCODE = 'check_violation', CONSTRAINT = 'journal_balances';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER journal_balances AFTER INSERT ON ledger_journals DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION journal_balances();
CREATE CONSTRAINT TRIGGER journal_balances AFTER INSERT ON ledger_entries DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION journal_balances();
CREATE TRIGGER ledger_journals_append_only BEFORE UPDATE OR DELETE ON ledger_journals FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_journals_never_emptied BEFORE TRUNCATE ON ledger_journals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON ledger_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_entries_never_emptied BEFORE TRUNCATE ON ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Addresses that wallets watches already and no payment carries yet. A replica leases a block of them and hands it out
-- from memory; an address of a dead lease comes back only if no payment carries it.
CREATE TABLE address_stock (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    mode        text NOT NULL,
    family      text NOT NULL,
    address     text NOT NULL,
    wallet_id   text NOT NULL,
    lease_owner text,
    lease_until timestamptz,
    UNIQUE (mode, family, address)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX address_stock_free ON address_stock (mode, family, id) WHERE lease_owner IS NULL;
CREATE INDEX address_stock_leased ON address_stock (lease_until) WHERE lease_owner IS NOT NULL;

-- The one outstanding request for addresses per world and family. parts counts the answers that have come.
CREATE TABLE address_requests (
    mode         text        NOT NULL,
    family       text        NOT NULL,
    request_id   text        NOT NULL,
    count        integer     NOT NULL,
    parts        integer     NOT NULL DEFAULT 0,
    requested_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (mode, family)
);
-- How many addresses were leased in each minute; the peak of the last hour sets the target of the stock.
CREATE TABLE address_usage (
    mode   text        NOT NULL,
    family text        NOT NULL,
    minute timestamptz NOT NULL,
    leased integer     NOT NULL,
    PRIMARY KEY (mode, family, minute)
);

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

