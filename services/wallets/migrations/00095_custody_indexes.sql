-- +goose NO TRANSACTION
-- The sums of the accounts that stand for places on the chain, and the order of an export of a month.

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS custody_entries_of_places;
CREATE INDEX CONCURRENTLY custody_entries_of_places ON custody_entries (network, account, asset) INCLUDE (debit, credit, merchant_id)
WHERE mode = 'live' AND account IN ('custody', 'payments', 'treasury', 'gas_station', 'gas_float', 'refund_station');
DROP INDEX CONCURRENTLY IF EXISTS custody_journals_by_time;
CREATE INDEX CONCURRENTLY custody_journals_by_time ON custody_journals (mode, at, key) WHERE merchant_id <> '';
