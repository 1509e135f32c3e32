-- Sweeps on tron: energy that the gas station lends to a deposit address and takes back.

-- +goose Up
ALTER TABLE outgoing_tx DROP CONSTRAINT outgoing_tx_kind_check;
ALTER TABLE outgoing_tx ADD CONSTRAINT outgoing_tx_kind_check CHECK (kind IN ('sweep', 'fund', 'delegate', 'undelegate'));

-- Whether lent energy is known to be back. On tron nonce is a number of wallets' own, since the chain has none.
ALTER TABLE outgoing_tx ADD COLUMN returned boolean NOT NULL DEFAULT false;
CREATE INDEX outgoing_tx_lent ON outgoing_tx (mode, network, sweep) WHERE kind = 'delegate' AND NOT returned;

-- Tron has no nonce that keeps two transactions of the gas station for one purpose apart.
CREATE UNIQUE INDEX outgoing_tx_one_for_purpose ON outgoing_tx (sweep, kind)
WHERE network = 'tron' AND kind <> 'sweep' AND state IN ('planned', 'signed', 'broadcast', 'mined');
