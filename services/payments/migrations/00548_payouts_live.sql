-- +goose NO TRANSACTION

-- When live payouts are due. The index of all payouts leads through those of test mode, which a merchant's test may
-- make in any number.
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS payouts_next_live;
CREATE INDEX CONCURRENTLY payouts_next_live ON payouts (next_at) WHERE next_at IS NOT NULL AND mode = 'live';
