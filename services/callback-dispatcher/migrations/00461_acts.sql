-- What operators had sent or taken in again, by whom and why.

-- +goose Up
CREATE TABLE acts (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operator text        NOT NULL,
    act      text        NOT NULL,
    object   text        NOT NULL,
    reason   text        NOT NULL,
    at       timestamptz NOT NULL DEFAULT now()
);
