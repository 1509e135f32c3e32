-- +goose Up

-- Passkeys by which operators approve what they change through their console. Each service verifies approvals with these
-- keys, so a console adds none: a row takes an operator's token, and two operators where acts take two. name is the person;
-- two passkeys of one person are one operator. Rows are kept, so that a revoked passkey never comes back.
CREATE TABLE operator_passkeys (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          text        NOT NULL CHECK (name ~ '^[a-z][a-z0-9._-]{1,62}$'),
    label         text        NOT NULL DEFAULT '' CHECK (char_length(label) <= 100),
    credential_id bytea       NOT NULL UNIQUE CHECK (octet_length(credential_id) BETWEEN 1 AND 1023),
    public_key    bytea       NOT NULL CHECK (octet_length(public_key) <= 1024),
    created_by    text        NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    revoked_at    timestamptz
);
CREATE INDEX operator_passkeys_name ON operator_passkeys (name) WHERE revoked_at IS NULL;

-- +goose Down
DROP TABLE operator_passkeys;
