-- The processes of this console, as they last reported, for operators.

-- +goose Up
CREATE TABLE processes (
    name       text        PRIMARY KEY,
    role       text        NOT NULL,
    version    text        NOT NULL,
    revision   text        NOT NULL,
    started_at timestamptz NOT NULL,
    ready      boolean     NOT NULL,
    checks     json        NOT NULL,
    queues     json        NOT NULL,
    told_at    timestamptz NOT NULL DEFAULT now()
);
