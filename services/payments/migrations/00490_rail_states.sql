-- The state of each rail and currency as a worker sees it, which it writes every few seconds, for operators.

-- +goose Up
CREATE TABLE rail_states (
    worker     text        NOT NULL,
    rail       text        NOT NULL,
    currency   text        NOT NULL,
    unclear    integer     NOT NULL, -- sends in a row without a clear answer
    open_until timestamptz,          -- of the breaker; null while it is closed
    balance    numeric,
    read_at    timestamptz,          -- when the balance was read
    told_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (rail, currency, worker)
);
