-- +goose Up
-- What reports says of addresses that send us money: the newest signal of each (reports.fraud_signal.v1). Screening reads
-- this copy; no service asks another while a payment waits.
CREATE TABLE fraud_signals (
    mode      text        NOT NULL,
    address   text        NOT NULL,
    merchants bigint      NOT NULL,
    reports   bigint      NOT NULL,
    version   bigint      NOT NULL,
    at        timestamptz NOT NULL,
    PRIMARY KEY (mode, address)
);
