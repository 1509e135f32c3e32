-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS payments_account;
CREATE INDEX CONCURRENTLY payments_account ON payments (account_index, id COLLATE "C" DESC) WHERE account_index IS NOT NULL;
