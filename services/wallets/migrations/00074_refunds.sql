-- Refunds that payments has approved, and their transactions.

-- +goose Up

-- A refund is carried out once for its id, for ever: its row stays. ordered is the order with its signature, as payments
-- sent it. version counts the messages about it.
CREATE TABLE refunds (
    id         text           PRIMARY KEY,
    mode       text           NOT NULL,
    network    text           NOT NULL,
    family     text           NOT NULL,
    asset      text           NOT NULL,
    contract   text           NOT NULL,
    amount     numeric(78, 0) NOT NULL CHECK (amount > 0),
    address    text           NOT NULL,
    ordered    text           NOT NULL,
    state      text           NOT NULL CHECK (state IN ('signing', 'sent', 'confirmed', 'failed')),
    blocked    boolean        NOT NULL DEFAULT false, -- until an operator has removed the cause
    reason     text           NOT NULL DEFAULT '',    -- why it waits, is blocked or has failed
    version    bigint         NOT NULL DEFAULT 1,
    tx_hash    text           NOT NULL DEFAULT '',
    fee        numeric(78, 0) NOT NULL DEFAULT 0,
    due_at     timestamptz    NOT NULL DEFAULT now(),
    created_at timestamptz    NOT NULL DEFAULT now(),
    changed_at timestamptz    NOT NULL DEFAULT now()
);
CREATE INDEX refunds_open ON refunds (mode, network, due_at) WHERE state IN ('signing', 'sent');

-- A transaction belongs to a sweep or to a refund. A refund never has a second one: the signer signs one use of a number
-- for each order.
ALTER TABLE outgoing_tx ALTER COLUMN sweep DROP NOT NULL;
ALTER TABLE outgoing_tx ADD COLUMN refund text;
ALTER TABLE outgoing_tx ADD CONSTRAINT outgoing_tx_for_one CHECK ((sweep IS NULL) <> (refund IS NULL));
ALTER TABLE outgoing_tx ADD CONSTRAINT outgoing_tx_of_refund FOREIGN KEY (refund) REFERENCES refunds (id);
CREATE UNIQUE INDEX outgoing_tx_one_refund ON outgoing_tx (refund) WHERE refund IS NOT NULL;
ALTER TABLE outgoing_tx DROP CONSTRAINT outgoing_tx_kind_check;
ALTER TABLE outgoing_tx ADD CONSTRAINT outgoing_tx_kind_check CHECK (kind IN ('sweep', 'fund', 'delegate', 'undelegate', 'refund'));

-- The health of a scan as it was last announced: nothing is refunded on a network whose scan does not follow the chain.
ALTER TABLE cursors ADD COLUMN scan_state text NOT NULL DEFAULT '';
ALTER TABLE cursors ADD COLUMN judged_at timestamptz NOT NULL DEFAULT '-infinity';

ALTER TABLE custody_journals DROP CONSTRAINT custody_journals_event_check;
ALTER TABLE custody_journals ADD CONSTRAINT custody_journals_event_check
CHECK (event IN ('deposit_confirmed', 'deposit_reverted', 'swept', 'sweep_failed', 'funded', 'refunded', 'refund_failed', 'refund_reversed'));
ALTER TABLE custody_entries DROP CONSTRAINT custody_entries_account_check;
ALTER TABLE custody_entries ADD CONSTRAINT custody_entries_account_check
CHECK (account IN ('custody', 'merchant', 'payments', 'treasury', 'gas_station', 'gas_float', 'fees', 'rent', 'refund_station'));
