-- The balances that wallets reads from the chains for the report of the treasury.

-- +goose Up

-- The newest balance of an address that holds money of payers or merchants, with the one that the books expected then.
CREATE TABLE holdings (
    network  text           NOT NULL,
    address  text           NOT NULL,
    asset    text           NOT NULL,
    balance  numeric(78, 0) NOT NULL,
    expected numeric        NOT NULL,
    height   bigint         NOT NULL,
    read_at  timestamptz    NOT NULL,
    PRIMARY KEY (network, address, asset)
);
