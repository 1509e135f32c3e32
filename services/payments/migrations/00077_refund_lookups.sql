-- +goose Up

-- Questions to wallets about transactions that operators name as refunds, with the answers. A new question about the same
-- transaction replaces the row; a row goes away a week after its question.
CREATE TABLE refund_lookups (
    mode       text        NOT NULL,
    network    text        NOT NULL,
    tx_hash    text        NOT NULL,
    address    text        NOT NULL,
    request_id text        NOT NULL UNIQUE,
    asked_at   timestamptz NOT NULL DEFAULT now(),
    state      text        NOT NULL DEFAULT '',
    sums       jsonb       NOT NULL DEFAULT '{}',
    block_time timestamptz,
    PRIMARY KEY (mode, network, tx_hash, address)
);
CREATE INDEX refund_lookups_age ON refund_lookups (asked_at);

-- An operator names a transaction that must be none of the system's own refunds.
CREATE INDEX refunds_transaction ON refunds (tx_hash) WHERE tx_hash <> '';

-- Transactions that refunded a payment: each refunds one payment only. Rows stay.
CREATE TABLE refund_transactions (
    mode       text        NOT NULL,
    network    text        NOT NULL,
    tx_hash    text        NOT NULL,
    payment_id text        NOT NULL,
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (mode, network, tx_hash)
);
