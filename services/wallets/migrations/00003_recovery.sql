-- +goose Up

-- Restores of this database: what was done about each, once. Deposits told after one carry versions above version_base,
-- which is a time, so that they win over whatever was told in the time that was lost.
CREATE TABLE recoveries (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    version_base bigint      NOT NULL,
    started_at   timestamptz NOT NULL DEFAULT now(),
    rescanned_at timestamptz,
    ended_at     timestamptz
);
CREATE UNIQUE INDEX recoveries_one_open ON recoveries ((true)) WHERE ended_at IS NULL;
CREATE TABLE recovery_targets (
    recovery bigint NOT NULL REFERENCES recoveries (id),
    mode     text   NOT NULL,
    family   text   NOT NULL,
    target   bigint NOT NULL,
    PRIMARY KEY (recovery, mode, family)
);
-- Where each chain stood when the restore was noticed: what lies below is scanned again.
CREATE TABLE recovery_cursors (
    recovery   bigint      NOT NULL REFERENCES recoveries (id),
    mode       text        NOT NULL,
    network    text        NOT NULL,
    height     bigint      NOT NULL,
    block_time timestamptz NOT NULL,
    done       boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (recovery, mode, network)
);
