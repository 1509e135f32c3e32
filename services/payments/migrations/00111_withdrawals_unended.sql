-- +goose NO TRANSACTION
-- Counts what a merchant has withdrawn that has not ended, without its history.

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS withdrawals_unended;
CREATE INDEX CONCURRENTLY withdrawals_unended ON withdrawals (merchant_id, mode) WHERE state IN ('requested', 'approved', 'sending');
