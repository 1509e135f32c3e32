-- +goose NO TRANSACTION
-- +goose Up
-- A transaction that an operator names as a refund must be no deposit. Nothing here holds up writes, and what an attempt
-- that was cut short has left is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS deposits_transaction;
CREATE INDEX CONCURRENTLY deposits_transaction ON deposits (tx_hash);
