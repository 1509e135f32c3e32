-- +goose NO TRANSACTION
-- The sums of places name journals, which the index did not have: each of their rows was read from the table.

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS custody_entries_of_places_whole;
CREATE INDEX CONCURRENTLY custody_entries_of_places_whole ON custody_entries (network, account, asset) INCLUDE (debit, credit, merchant_id, journal)
WHERE mode = 'live' AND account IN ('custody', 'payments', 'treasury', 'gas_station', 'gas_float', 'refund_station');
DROP INDEX CONCURRENTLY IF EXISTS custody_entries_of_places;
