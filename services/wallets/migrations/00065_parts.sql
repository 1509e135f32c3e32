-- Transactions with the sweeps that they carry, in a file of its own: the one before locks their tables.

-- +goose Up

-- The sweeps of every transaction, with one row each, whether it carries one or many.
CREATE OR REPLACE VIEW outgoing_parts AS
SELECT o.id AS outgoing, o.kind, o.state, c.sweep, c.amount, c.fee
FROM outgoing_sweeps c JOIN outgoing_tx o ON o.id = c.outgoing
UNION ALL
SELECT o.id, o.kind, o.state, o.sweep, o.amount, o.fee
FROM outgoing_tx o WHERE NOT EXISTS (SELECT FROM outgoing_sweeps c WHERE c.outgoing = o.id);
