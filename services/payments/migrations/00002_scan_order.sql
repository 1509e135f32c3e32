-- +goose Up

-- How far a network is scanned is told in a message that may overtake the deposits of the scanned blocks. The deposits of
-- a chain are numbered, and progress names the last number before it: block_time, on which expiry waits, advances only
-- once every deposit up to there has been taken in (docs/decisions/0006-scan-order.md). settled is that number; below zero
-- it is not known, as after a restore, and the next progress is believed.
ALTER TABLE scan_progress ADD COLUMN settled bigint NOT NULL DEFAULT 0;

-- Numbers above settled that have been taken in.
CREATE TABLE scan_taken (
    mode    text   NOT NULL,
    network text   NOT NULL,
    number  bigint NOT NULL,
    PRIMARY KEY (mode, network, number)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Progress that waits for deposits before it.
CREATE TABLE scan_waiting (
    mode       text        NOT NULL,
    network    text        NOT NULL,
    deposits   bigint      NOT NULL,
    block_time timestamptz NOT NULL,
    told_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (mode, network, deposits)
);
