-- Sweeps that an operator has given up, because a foreign transaction has taken their money.

-- +goose Up

-- The state of such a sweep is 'released', and the deposits whose money is gone stay with it. height and block_hash are
-- those of the foreign transaction: a rewind below it frees the deposits.
CREATE TABLE lost_sweeps (
    sweep      text        PRIMARY KEY REFERENCES sweeps (id),
    network    text        NOT NULL,
    tx_hash    text        NOT NULL,
    height     bigint      NOT NULL,
    block_hash text        NOT NULL,
    ended_at   timestamptz NOT NULL DEFAULT now()
);
