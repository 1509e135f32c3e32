-- +goose Up
-- What one operator has asked for and a second one has to confirm: at most one open request about an address.
CREATE TABLE approvals (
    mode     text        NOT NULL CHECK (mode IN ('live', 'test')),
    address  text        NOT NULL,
    version  bigint      NOT NULL, -- accused.convicted_by as the operator saw it
    action   text        NOT NULL,
    operator text        NOT NULL,
    reason   text        NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (mode, address)
);
