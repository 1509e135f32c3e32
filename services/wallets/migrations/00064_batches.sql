-- One transaction may carry the sweeps of many addresses.

-- +goose Up

-- The sweeps of a transaction that carries several, on networks where it may, and the share of each once it is final. A
-- transaction without rows carries the one sweep of its own row. live ends when the transaction can no longer move the
-- money: then the sweep may enter another.
CREATE TABLE outgoing_sweeps (
    outgoing text           NOT NULL REFERENCES outgoing_tx (id),
    sweep    text           NOT NULL REFERENCES sweeps (id),
    live     boolean        NOT NULL DEFAULT true,
    amount   numeric(78, 0) NOT NULL DEFAULT 0, -- of the sum that arrived
    fee      numeric(78, 0) NOT NULL DEFAULT 0, -- of the whole fee
    PRIMARY KEY (outgoing, sweep)
);
CREATE UNIQUE INDEX outgoing_sweeps_once ON outgoing_sweeps (sweep) WHERE live;

-- The outputs that a transaction spends, on networks with outputs. No two transactions that may still land, or have,
-- spend the same output.
CREATE TABLE outgoing_inputs (
    outgoing text           NOT NULL REFERENCES outgoing_tx (id),
    mode     text           NOT NULL,
    network  text           NOT NULL,
    tx_hash  text           NOT NULL,
    ordinal  integer        NOT NULL,
    sweep    text           NOT NULL REFERENCES sweeps (id),
    amount   numeric(78, 0) NOT NULL CHECK (amount > 0),
    idx      bigint         NOT NULL,
    block    text           NOT NULL, -- that holds the deposit
    live     boolean        NOT NULL DEFAULT true,
    PRIMARY KEY (outgoing, tx_hash, ordinal)
);
CREATE UNIQUE INDEX outgoing_inputs_once ON outgoing_inputs (mode, network, tx_hash, ordinal) WHERE live;

-- Height of the chain when the transaction was planned: no earlier block holds a form of it.
ALTER TABLE outgoing_tx ADD COLUMN from_height bigint NOT NULL DEFAULT 0;
