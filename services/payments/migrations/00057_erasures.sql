-- +goose Up
-- What operators asked to be forgotten, until it is (libs/erasure).
CREATE TABLE erasures (
    id        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operator  text        NOT NULL,
    person    bytea,
    asked_at  timestamptz NOT NULL DEFAULT now(),
    looked_at timestamptz,
    erased    bigint      NOT NULL DEFAULT 0,
    left_over bigint      NOT NULL DEFAULT 0,
    done_at   timestamptz
);
CREATE INDEX erasures_open ON erasures (id) WHERE done_at IS NULL;
