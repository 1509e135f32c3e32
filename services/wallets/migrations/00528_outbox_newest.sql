-- +goose Up

-- The newest message of each name that a consumer has answered: earlier ones that it has not answered are lost.
CREATE TABLE outbox_stored (
    name text   PRIMARY KEY,
    id   bigint NOT NULL
);
