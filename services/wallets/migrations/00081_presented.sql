-- Sweeps that another party's transaction has ended with their authorization (EIP-3009).

-- +goose Up

-- One transaction of another party may present the authorizations of several sweeps, each of which has a row of its own.
-- Only the product's own transactions use up a number of their sender.
ALTER TABLE outgoing_tx ADD COLUMN presented boolean NOT NULL DEFAULT false;
CREATE UNIQUE INDEX outgoing_tx_one_number ON outgoing_tx (mode, network, sender, nonce) WHERE NOT presented;
ALTER TABLE outgoing_tx DROP CONSTRAINT outgoing_tx_once;

-- Time on the chain until which the authorization of a sweep was certainly not used.
ALTER TABLE sweeps ADD COLUMN unused_until timestamptz NOT NULL DEFAULT '-infinity';
