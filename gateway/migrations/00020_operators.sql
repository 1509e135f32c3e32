-- +goose Up

-- Tokens of the people who may call /v1/admin. name is the person: whoever has two tokens is one operator. The token itself
-- is nowhere: digest is HMAC-SHA-256(pepper, token), as with keys. Rows are kept, so that the audit's names stay explained.
CREATE TABLE operator_tokens (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text        NOT NULL CHECK (name ~ '^[a-z][a-z0-9._-]{1,62}$'),
    digest       bytea       NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
    pepper_id    text        NOT NULL,
    created_by   text        NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL CHECK (expires_at <= created_at + interval '90 days'),
    revoked_at   timestamptz,
    last_used_at timestamptz
);

-- What one operator has asked for and another one has to confirm (libs/approval).
CREATE TABLE approvals (
    object   text        PRIMARY KEY,
    version  bigint      NOT NULL,
    action   text        NOT NULL,
    digest   bytea       NOT NULL,
    operator text        NOT NULL,
    at       timestamptz NOT NULL DEFAULT now()
);

-- +goose Down
DROP TABLE approvals;
DROP TABLE operator_tokens;
