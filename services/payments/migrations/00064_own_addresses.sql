-- +goose Up

-- Addresses of this system that payments has not handed out: those of standalone wallets, treasuries and gas stations, as wallets
-- names them (wallets.addresses_owned.v1), and a stock that was discarded after a restore. No refund goes there. Rows stay.
CREATE TABLE own_addresses (
    mode    text NOT NULL,
    family  text NOT NULL,
    address text NOT NULL,
    PRIMARY KEY (mode, family, address)
);
