-- +goose Up
-- The people who sign in. login is an e-mail address on the merchants' door and an operator's name on the operators'.
CREATE TABLE people (
    id          text        PRIMARY KEY,
    login       text        NOT NULL UNIQUE,
    name        text        NOT NULL DEFAULT '',
    handle      bytea       NOT NULL UNIQUE, -- by which a passkey names its owner
    password    text,                        -- argon2id in its usual text form
    totp        bytea,                       -- the secret, sealed under a master key
    totp_used   bigint      NOT NULL DEFAULT 0, -- the last step that was taken, so that no code works twice
    created_at  timestamptz NOT NULL DEFAULT now(),
    disabled_at timestamptz
);

-- Whose member a person is, and in which role. On the operators' door the merchant is ''.
CREATE TABLE memberships (
    person_id     text        NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    merchant_id   text        NOT NULL,
    merchant_name text        NOT NULL DEFAULT '',
    role          text        NOT NULL,
    created_by    text        NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (person_id, merchant_id)
);
CREATE INDEX memberships_merchant ON memberships (merchant_id, person_id);

CREATE TABLE passkeys (
    credential_id bytea       PRIMARY KEY,
    person_id     text        NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    name          text        NOT NULL,
    credential    jsonb       NOT NULL, -- the public key, its flags and its counter
    created_at    timestamptz NOT NULL DEFAULT now(),
    used_at       timestamptz
);
CREATE INDEX passkeys_person ON passkeys (person_id);

CREATE TABLE recovery_codes (
    person_id text  NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    hash      bytea NOT NULL,
    PRIMARY KEY (person_id, hash)
);

-- One-time links: sign_in signs its person in, join adds a membership.
CREATE TABLE links (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash          bytea       NOT NULL UNIQUE,
    purpose       text        NOT NULL CHECK (purpose IN ('sign_in', 'join', 'register')),
    login         text        NOT NULL,
    merchant_id   text        NOT NULL DEFAULT '',
    merchant_name text        NOT NULL DEFAULT '',
    role          text        NOT NULL DEFAULT '',
    created_by    text        NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL,
    used_at       timestamptz
);
CREATE INDEX links_open ON links (merchant_id, id) WHERE used_at IS NULL;
CREATE INDEX links_expiry ON links (expires_at);

-- Sessions by the hash of their token. A revoked one stays until it would have expired, so that a request that began
-- before cannot bring it back.
CREATE TABLE sessions (
    token      text        PRIMARY KEY,
    id         text        NOT NULL UNIQUE, -- by which a list names it
    person_id  text        REFERENCES people (id) ON DELETE CASCADE,
    data       bytea       NOT NULL,
    address    text        NOT NULL DEFAULT '',
    agent      text        NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz
);
CREATE INDEX sessions_person ON sessions (person_id, created_at DESC) WHERE person_id IS NOT NULL;
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- Failed attempts to sign in, by what they were against: an account or an address.
CREATE TABLE attempts (
    subject text        PRIMARY KEY,
    since   timestamptz NOT NULL DEFAULT now(),
    n       int         NOT NULL
);
CREATE INDEX attempts_since ON attempts (since);

-- Who did what to people and their ways to sign in; kept for ever.
CREATE TABLE acts (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person_id   text        NOT NULL,
    login       text        NOT NULL,
    merchant_id text        NOT NULL DEFAULT '',
    act         text        NOT NULL,
    about       text        NOT NULL DEFAULT '',
    address     text        NOT NULL DEFAULT '',
    at          timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX acts_merchant ON acts (merchant_id, id DESC);
CREATE INDEX acts_person ON acts (person_id, id DESC);
