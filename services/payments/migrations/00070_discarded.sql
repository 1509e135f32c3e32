-- Dead messages that an operator has discarded: the message for thirty days, who did it and why for ever (libs/discard).

-- +goose Up
CREATE TABLE discarded (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue      text        NOT NULL,
    message_id text        NOT NULL,
    name       text        NOT NULL,
    died_at    timestamptz NOT NULL,
    died_of    text        NOT NULL,
    body       bytea,
    digest     bytea       NOT NULL,
    operator   text        NOT NULL,
    reason     text        NOT NULL,
    at         timestamptz NOT NULL DEFAULT now(),
    UNIQUE (queue, message_id, died_at, digest)
);
CREATE INDEX discarded_bodies ON discarded (died_at) WHERE body IS NOT NULL;
