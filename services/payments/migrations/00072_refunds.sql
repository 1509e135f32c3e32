-- +goose Up

-- Refunds on a chain: an amount of one asset on one network for one payment to one address. The row holds its money from
-- requested on (ledger: clearing:refund), and gives it back when it fails. parts are the deposits that the money comes from.
-- told is the version of the last report of wallets.
CREATE TABLE refunds (
    id           text        PRIMARY KEY,
    payment_id   text        NOT NULL,
    mode         text        NOT NULL CHECK (mode IN ('live', 'test')),
    network      text        NOT NULL,
    asset        text        NOT NULL,
    contract     text        NOT NULL,
    amount       numeric     NOT NULL CHECK (amount > 0 AND amount <> 'NaN'),
    address      text        NOT NULL CHECK (address <> ''),
    parts        jsonb       NOT NULL,
    reason       text        NOT NULL,
    requested_by text        NOT NULL,
    state        text        NOT NULL CHECK (state IN ('requested', 'approved', 'signing', 'sent', 'confirmed', 'failed')),
    approval     text        NOT NULL DEFAULT '' CHECK (approval IN ('', 'automatic', 'operator')),
    failure      text        NOT NULL DEFAULT '',
    tx_hash      text        NOT NULL DEFAULT '',
    fee          numeric     NOT NULL DEFAULT 0 CHECK (fee >= 0 AND fee <> 'NaN'),
    finals       integer     NOT NULL DEFAULT 0,
    version      bigint      NOT NULL,
    told         bigint      NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL,
    approved_at  timestamptz,
    confirmed_at timestamptz,
    ended_at     timestamptz,
    CONSTRAINT refunds_approved CHECK (approval <> '' OR state IN ('requested', 'failed'))
);
CREATE INDEX refunds_payment ON refunds (payment_id);
CREATE INDEX refunds_open ON refunds (state, id) WHERE state NOT IN ('confirmed', 'failed');

-- The number of refunds of a payment, so that a payment without one reads no second table.
ALTER TABLE payments ADD COLUMN refunds integer NOT NULL DEFAULT 0;

-- The amount of a transfer that refunds hold or have returned to the payer. Payments that an operator has marked as refunded have
-- returned all of it.
ALTER TABLE deposits ADD COLUMN refunded numeric NOT NULL DEFAULT 0;
UPDATE deposits d SET refunded = d.booked_amount FROM payments p
WHERE p.id = d.payment_id AND p.status = 'refunded' AND d.booked_amount > 0;

-- Operators can stop refunds too.
ALTER TABLE pauses DROP CONSTRAINT pauses_what_check;
ALTER TABLE pauses ADD CONSTRAINT pauses_what_check CHECK (what IN ('quotes', 'payouts', 'refunds'));
