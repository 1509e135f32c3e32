-- +goose NO TRANSACTION
-- +goose Up
-- The withdrawal of a transaction. One that was not sent has no entry.
--
-- Withdrawals are written while the index is built. An interrupted build leaves an invalid index, which is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS draws_transaction;
CREATE INDEX CONCURRENTLY draws_transaction ON draws (tx_hash) WHERE tx_hash <> '';
