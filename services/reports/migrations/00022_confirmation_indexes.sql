-- +goose NO TRANSACTION
-- +goose Up
-- The lists of addresses that wait for an operator and of those that one has confirmed. Nothing here holds up look-ups or
-- filings. What an attempt that was cut short has left is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS accused_waiting;
CREATE INDEX CONCURRENTLY accused_waiting ON accused (convicted_by DESC, mode, address) WHERE NOT confirmed AND convicted_by > reviewed;
DROP INDEX CONCURRENTLY IF EXISTS accused_confirmed;
CREATE INDEX CONCURRENTLY accused_confirmed ON accused (convicted_by DESC, mode, address) WHERE confirmed;
