-- +goose NO TRANSACTION
-- +goose Up
-- The withdrawals that operators may still refuse after their approval.
--
-- Withdrawals are written while the index is built. An interrupted build leaves an invalid index, which is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS withdrawals_approved;
CREATE INDEX CONCURRENTLY withdrawals_approved ON withdrawals (id) WHERE state = 'approved';
