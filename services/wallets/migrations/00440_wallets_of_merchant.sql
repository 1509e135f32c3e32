-- +goose NO TRANSACTION

-- The people of a merchant see the wallets of all its keys.
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS wallets_of_merchant;
CREATE INDEX CONCURRENTLY wallets_of_merchant ON wallets (merchant_id, mode, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS wallets_of_merchant_by_status;
CREATE INDEX CONCURRENTLY wallets_of_merchant_by_status ON wallets (merchant_id, mode, status, created_at DESC, id DESC);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS wallets_of_merchant_by_status;
DROP INDEX CONCURRENTLY IF EXISTS wallets_of_merchant;
