-- +goose NO TRANSACTION
-- Whether something was ever withdrawn from a balance that is below zero.

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS refunds_of_balance;
CREATE INDEX CONCURRENTLY refunds_of_balance ON refunds (mode, merchant_id, network, asset) WHERE kind = 'withdrawal';
