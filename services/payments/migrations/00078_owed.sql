-- +goose Up

-- What is owed and to whom, as the leader listed it last: one row for each payer, receiver or merchant, payment or stray
-- deposit, and asset. The list is derived from the ledger and written anew as a whole.
CREATE TABLE owed (
    id          text        PRIMARY KEY,
    mode        text        NOT NULL,
    owed_to     text        NOT NULL CHECK (owed_to IN ('payer', 'receiver', 'merchant')),
    payment_id  text        NOT NULL,
    merchant_id text        NOT NULL,
    deposit     text        NOT NULL,
    asset       text        NOT NULL,
    amount      numeric     NOT NULL CHECK (amount > 0),
    since       timestamptz NOT NULL
);
CREATE INDEX owed_order ON owed (since, id);

-- When the list was made; one row.
CREATE TABLE owed_lists (
    one     boolean     PRIMARY KEY DEFAULT true CHECK (one),
    made_at timestamptz NOT NULL
);
