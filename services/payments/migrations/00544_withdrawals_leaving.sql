-- +goose NO TRANSACTION
-- +goose Up
-- The withdrawals that operators may still refuse after their approval are among these.
--
-- Withdrawals are written while the index is built. An interrupted build leaves an invalid index, which is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS withdrawals_leaving;
CREATE INDEX CONCURRENTLY withdrawals_leaving ON withdrawals (id) WHERE state IN ('approved', 'sending');
