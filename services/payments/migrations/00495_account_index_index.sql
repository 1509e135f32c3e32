-- +goose NO TRANSACTION
-- +goose Up
-- Without payments that no money reached: a create has no entry in this index.
DROP INDEX CONCURRENTLY IF EXISTS payments_account;
CREATE INDEX CONCURRENTLY payments_account ON payments (account_index, id COLLATE "C" DESC)
    WHERE account_index IS NOT NULL AND status IN ('confirming', 'confirmed', 'settling', 'settled', 'needs_review', 'refunded');
