-- The URLs at which live endpoints were lately. The events that warn of money that may leave go there too, so that a
-- thief of a key cannot keep them from the merchant (libs/wire, IsGuarding). A URL counts if the endpoint had it for a
-- day, so that a merchant's endpoints leave three hundred of them at most. Those from before this column count at once.

-- +goose Up
ALTER TABLE endpoint ADD COLUMN url_since timestamptz NOT NULL DEFAULT '-infinity';
ALTER TABLE endpoint ALTER COLUMN url_since SET DEFAULT now();
CREATE TABLE earlier_url (
    endpoint_id text        NOT NULL,
    merchant_id text        NOT NULL,
    mode        text        NOT NULL,
    url         text        NOT NULL,
    until       timestamptz NOT NULL,
    PRIMARY KEY (endpoint_id, url)
);
CREATE INDEX earlier_url_owner ON earlier_url (merchant_id, mode);
CREATE INDEX earlier_url_until ON earlier_url (until);
