-- The bank accounts that a merchant's own money may go to. The receiver is sealed, as that of a payment, and never changes: another
-- account is another row. No money leaves to an account before it is confirmed and its hold has ended.

-- +goose Up
CREATE TABLE settlement_accounts (
    id           text        PRIMARY KEY,
    merchant_id  text        NOT NULL,
    mode         text        NOT NULL CHECK (mode IN ('live', 'test')),
    currency     text        NOT NULL,
    receiver     bytea       NOT NULL,
    created_at   timestamptz NOT NULL,
    created_by   bigint      NOT NULL,
    confirmed_at timestamptz,
    confirmed_by bigint      NOT NULL DEFAULT 0,
    held_until   timestamptz,
    deleted_at   timestamptz
);
CREATE INDEX settlement_accounts_merchant ON settlement_accounts (merchant_id, mode, id) WHERE deleted_at IS NULL;
