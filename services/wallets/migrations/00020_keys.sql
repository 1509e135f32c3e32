-- +goose Up

-- The account-level extended public keys, sealed under a master key (libs/keyring). The configuration or `import-key` gives
-- each once; from then on this database is where they are.
CREATE TABLE account_keys (
    mode       text        NOT NULL,
    family     text        NOT NULL,
    sealed     bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (mode, family),
    FOREIGN KEY (mode, family) REFERENCES counters (mode, family)
);

-- Addresses that the signer made in advance, for families that cannot be derived from a public key: the batches as they
-- were signed, and the stock. A row stays after its address was handed out, which the counter's next index tells.
CREATE TABLE address_batches (
    mode        text        NOT NULL,
    family      text        NOT NULL,
    first_idx   bigint      NOT NULL CHECK (first_idx >= 0),
    count       integer     NOT NULL CHECK (count > 0),
    public_key  bytea       NOT NULL,
    signature   bytea       NOT NULL,
    imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (mode, family, first_idx),
    FOREIGN KEY (mode, family) REFERENCES counters (mode, family)
);
CREATE TABLE address_pool (
    mode    text   NOT NULL,
    family  text   NOT NULL,
    idx     bigint NOT NULL,
    key     bytea  NOT NULL,
    address text   NOT NULL,
    PRIMARY KEY (mode, family, idx),
    CONSTRAINT address_pool_once UNIQUE (mode, family, address)
);
