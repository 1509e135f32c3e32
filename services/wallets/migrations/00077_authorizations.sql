-- Sweeps that the gas station sends with an authorization (EIP-3009) of the deposit address.

-- +goose Up
ALTER TABLE outgoing_tx ADD COLUMN authorized boolean NOT NULL DEFAULT false;

-- Two processes that both sweep plan one funding of a sweep.
CREATE UNIQUE INDEX outgoing_tx_one_funding ON outgoing_tx (sweep)
WHERE kind = 'fund' AND state IN ('planned', 'signed', 'broadcast', 'mined');
