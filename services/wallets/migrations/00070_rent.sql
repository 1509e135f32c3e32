-- Closed token accounts of solana return their rent to the station.

-- +goose Up

ALTER TABLE outgoing_sweeps ADD COLUMN returned numeric(78, 0) NOT NULL DEFAULT 0; -- of the rent

CREATE OR REPLACE VIEW outgoing_parts AS
SELECT o.id AS outgoing, o.kind, o.state, c.sweep, c.amount, c.fee, c.returned
FROM outgoing_sweeps c JOIN outgoing_tx o ON o.id = c.outgoing
UNION ALL
SELECT o.id, o.kind, o.state, o.sweep, o.amount, o.fee, 0
FROM outgoing_tx o WHERE NOT EXISTS (SELECT FROM outgoing_sweeps c WHERE c.outgoing = o.id);

ALTER TABLE custody_entries DROP CONSTRAINT custody_entries_account_check;
ALTER TABLE custody_entries ADD CONSTRAINT custody_entries_account_check
CHECK (account IN ('custody', 'merchant', 'payments', 'treasury', 'gas_station', 'gas_float', 'fees', 'rent'));
