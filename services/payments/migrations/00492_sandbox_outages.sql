-- +goose Up

-- What merchants took down in their own test mode: their prices, or a network. A row ends by itself.
CREATE TABLE sandbox_outages (
    merchant_id text        NOT NULL,
    what        text        NOT NULL CHECK (what IN ('rates', 'network')),
    network     text        NOT NULL CHECK ((network = '') = (what = 'rates')),
    until       timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, what, network)
);
