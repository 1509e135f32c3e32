-- +goose Up
-- Whether an operator has confirmed what reports says of an address. Merchants' own words block nobody (reports, decisions
-- of operators), so what came before there were confirmations is not confirmed.
ALTER TABLE fraud_signals ADD COLUMN confirmed boolean NOT NULL DEFAULT false;
