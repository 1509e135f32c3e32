-- +goose Up
-- Daily limits in money. usage counts what a subject has reserved on a day: what is under way and what is settled. The check
-- is what refuses: two creates at once meet at the row, and the one that would exceed the limit fails as a whole. The rows of
-- days that are over are dropped. Nothing is written where no limit is configured.
CREATE TABLE limit_usage (
    day      date    NOT NULL,
    kind     text    NOT NULL,
    subject  bytea   NOT NULL,
    currency text    NOT NULL,
    used     numeric NOT NULL,
    most     numeric NOT NULL,
    PRIMARY KEY (day, kind, subject, currency),
    CONSTRAINT limit_usage_within CHECK (used <= most)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE TABLE limit_reservations (
    payment_id text    NOT NULL,
    kind       text    NOT NULL,
    day        date    NOT NULL,
    subject    bytea   NOT NULL,
    currency   text    NOT NULL,
    amount     numeric NOT NULL,
    released   boolean NOT NULL DEFAULT false,
    PRIMARY KEY (payment_id, kind)
);
CREATE INDEX limit_reservations_day ON limit_reservations (day);
