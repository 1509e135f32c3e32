-- +goose Up
-- What one operator has asked for and a second one has to confirm. It holds for the version of the payment that the first
-- one saw, and a newer request takes its place.
CREATE TABLE approvals (
    payment_id text        PRIMARY KEY,
    version    bigint      NOT NULL,
    action     text        NOT NULL,
    digest     bytea       NOT NULL,
    operator   text        NOT NULL,
    reason     text        NOT NULL,
    at         timestamptz NOT NULL DEFAULT now()
);

-- The operators' lists. Each index holds only what waits for a person, so a create pays for none of them.
CREATE INDEX deposits_stray ON deposits (created_at, key) WHERE payment_id IS NULL;
CREATE INDEX payouts_doubt ON payouts (id) WHERE state = 'unknown' OR frozen;

-- One row per day on which the books were compared with what stands outside of them.
CREATE TABLE reconciliations (
    day         date        PRIMARY KEY,
    started_at  timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    found       integer     NOT NULL DEFAULT 0
);
-- What was found to differ, with who has to look. A difference that is found again keeps its age; one that is not is over.
CREATE TABLE differences (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        text        NOT NULL,
    object      text        NOT NULL,
    asset       text        NOT NULL,
    owner       text        NOT NULL,
    expected    numeric     NOT NULL,
    found       numeric     NOT NULL,
    first_at    timestamptz NOT NULL DEFAULT now(),
    last_at     timestamptz NOT NULL DEFAULT now(),
    resolved_at timestamptz
);
CREATE UNIQUE INDEX differences_open ON differences (kind, object, asset) WHERE resolved_at IS NULL;

-- What a rail and the ledger said of a float when they were last compared.
CREATE TABLE float_marks (
    mode     text        NOT NULL,
    rail     text        NOT NULL,
    currency text        NOT NULL,
    provider numeric     NOT NULL,
    ledger   numeric     NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (mode, rail, currency)
);
