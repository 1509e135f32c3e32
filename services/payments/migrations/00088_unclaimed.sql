-- Money that two operators booked as unclaimed, because nobody had asked for it for UNCLAIMED_AFTER. One row for each payment
-- or stray deposit, asset and booking; it can be returned once, after which the money is owed again. parts are the accounts
-- that the money came from.

-- +goose Up
CREATE TABLE unclaimed (
    id            text        PRIMARY KEY,
    mode          text        NOT NULL CHECK (mode IN ('live', 'test')),
    payment_id    text        NOT NULL,
    merchant_id   text        NOT NULL,
    deposit       text        NOT NULL CHECK ((deposit = '') <> (payment_id = '')),
    asset         text        NOT NULL,
    amount        numeric     NOT NULL CHECK (amount > 0),
    parts         jsonb       NOT NULL CHECK (jsonb_typeof(parts) = 'array' AND parts <> '[]'),
    owed_since    timestamptz NOT NULL,
    booked_at     timestamptz NOT NULL,
    booked_by     text        NOT NULL,
    reason        text        NOT NULL,
    returned_at   timestamptz,
    returned_by   text        NOT NULL DEFAULT '',
    return_reason text        NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX unclaimed_open ON unclaimed (mode, payment_id, deposit, asset) WHERE returned_at IS NULL;

-- The number of open rows of a payment. While there is one, nobody can dispose of the payment's money.
ALTER TABLE payments ADD COLUMN unclaimed integer NOT NULL DEFAULT 0;
