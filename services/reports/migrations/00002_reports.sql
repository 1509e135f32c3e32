-- +goose Up

-- Ids are drawn before the insert, because the answer and the event that are written with it show them.
CREATE SEQUENCE report_ids AS bigint;

CREATE TABLE reports (
    id          bigint      PRIMARY KEY,
    reference   text        NOT NULL,
    mode        text        NOT NULL CHECK (mode IN ('live', 'test')),
    merchant_id text        NOT NULL,
    key_id      bigint      NOT NULL,
    session     text,
    kind        text        NOT NULL CHECK (kind IN ('track_transaction', 'stolen_funds', 'fraud')),
    name        text        NOT NULL,
    phone       text,
    wallet      text,
    wallet_key  text,
    fraudster   text,
    description text,
    status      text        NOT NULL CHECK (status IN ('pending', 'processing', 'resolved', 'dismissed')),
    confirmer   text,
    notes       text,
    version     bigint      NOT NULL,
    sequence    bigint      NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    CONSTRAINT reports_phone_or_wallet CHECK (phone IS NOT NULL OR wallet IS NOT NULL),
    CONSTRAINT reports_wallet_key CHECK ((wallet IS NULL) = (wallet_key IS NULL))
);
CREATE UNIQUE INDEX reports_reference ON reports (reference);
-- A look-up without filters walks one of the first two, one with filters one of the others, always in the order of its list.
CREATE INDEX reports_phone ON reports (mode, phone, created_at DESC, id DESC) WHERE phone IS NOT NULL;
CREATE INDEX reports_wallet ON reports (mode, wallet_key, created_at DESC, id DESC) WHERE wallet_key IS NOT NULL;
CREATE INDEX reports_phone_filtered ON reports (mode, phone, status, kind, created_at DESC, id DESC) WHERE phone IS NOT NULL;
CREATE INDEX reports_wallet_filtered ON reports (mode, wallet_key, status, kind, created_at DESC, id DESC) WHERE wallet_key IS NOT NULL;

-- Who moved a report, and when; kept for ever.
CREATE TABLE report_history (
    report_id   bigint      NOT NULL,
    version     bigint      NOT NULL,
    from_status text        NOT NULL,
    to_status   text        NOT NULL,
    merchant_id text        NOT NULL,
    key_id      bigint      NOT NULL,
    request_id  text        NOT NULL,
    at          timestamptz NOT NULL,
    PRIMARY KEY (report_id, version)
);

-- How many reports a subject has (a phone, a wallet, or both together; hashed with the mode), per status and type: for
-- ever under -infinity, and per day, by which a deep offset is found (docs/decisions/0009-report-counts.md).
CREATE TABLE report_counts (
    subject bytea  NOT NULL,
    day     date   NOT NULL,
    n       int[]  NOT NULL,
    PRIMARY KEY (subject, day)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

-- Plain expressions, so that the planner puts them in place of the call: they run for every day of a subject.
CREATE FUNCTION counts_plus(a int[], b int[]) RETURNS int[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ARRAY[a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5], a[6] + b[6],
        a[7] + b[7], a[8] + b[8], a[9] + b[9], a[10] + b[10], a[11] + b[11], a[12] + b[12]]
$$;
CREATE FUNCTION counts_of(n int[], mask int[]) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT n[1] * mask[1] + n[2] * mask[2] + n[3] * mask[3] + n[4] * mask[4] + n[5] * mask[5] + n[6] * mask[6]
        + n[7] * mask[7] + n[8] * mask[8] + n[9] * mask[9] + n[10] * mask[10] + n[11] * mask[11] + n[12] * mask[12]
$$;

-- What is known of an address that reports accuse, for operators and for the fraud signal.
CREATE TABLE accused (
    mode           text        NOT NULL,
    address        text        NOT NULL,
    n              int[]       NOT NULL,
    reporters      int         NOT NULL DEFAULT 0,
    merchants      int         NOT NULL DEFAULT 0,
    convictions    int         NOT NULL DEFAULT 0,
    convicted_by   int         NOT NULL DEFAULT 0,
    signal_version bigint      NOT NULL DEFAULT 0,
    first_at       timestamptz NOT NULL,
    last_at        timestamptz NOT NULL,
    PRIMARY KEY (mode, address)
) WITH (fillfactor = 70);
-- Who has been counted once already: reporters, merchants, and merchants whose fraud report was resolved.
CREATE TABLE accused_marks (
    mode    text  NOT NULL,
    address text  NOT NULL,
    what    text  NOT NULL,
    mark    bytea NOT NULL,
    PRIMARY KEY (mode, address, what, mark)
);

-- How much one key files on one address, and how much of that was refused as a flood.
CREATE TABLE sources (
    mode        text        NOT NULL,
    address     text        NOT NULL,
    role        text        NOT NULL CHECK (role IN ('fraudster', 'reporter')),
    key_id      bigint      NOT NULL,
    merchant_id text        NOT NULL,
    reports     bigint      NOT NULL DEFAULT 0,
    window_at   timestamptz NOT NULL,
    window_n    int         NOT NULL DEFAULT 0,
    refused     bigint      NOT NULL DEFAULT 0,
    refused_at  timestamptz,
    first_at    timestamptz NOT NULL,
    last_at     timestamptz NOT NULL,
    PRIMARY KEY (mode, address, role, key_id)
) WITH (fillfactor = 70);
CREATE INDEX sources_refused ON sources (refused_at DESC, mode, address, role, key_id) WHERE refused_at IS NOT NULL;
