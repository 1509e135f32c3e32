-- +goose Up

-- Transactions that payers of a payment named, because coin that contracts send is not seen by itself on its network. Each is
-- told to wallets once.
CREATE TABLE payment_transactions (
    payment_id text        NOT NULL,
    tx_hash    text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (payment_id, tx_hash)
);

-- Whether wallets says that coin which contracts send on a network is not seen by itself.
ALTER TABLE scan_progress ADD COLUMN untraced boolean NOT NULL DEFAULT false;
