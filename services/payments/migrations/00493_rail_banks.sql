-- +goose Up

-- The rails' own lists of banks, as they were last read and taken. A bank that a rail lists no more stays in its list as
-- gone, so that payments that were made with it are still sent. An operator's trust makes the next list taken however
-- short it is.
CREATE TABLE rail_banks (
    rail     text        NOT NULL,
    currency text        NOT NULL,
    banks    jsonb       NOT NULL,
    version  bigint      NOT NULL DEFAULT 1,
    read_at  timestamptz NOT NULL DEFAULT now(),
    trusted  boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (rail, currency)
);
