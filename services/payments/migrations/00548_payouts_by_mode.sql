-- +goose NO TRANSACTION

-- The payouts of each mode by the time at which they are due. In payouts_next, which has those of both modes, a look for
-- one mode passes the backlog of the other, and of test mode a merchant may make any number.
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS payouts_next_live;
CREATE INDEX CONCURRENTLY payouts_next_live ON payouts (next_at) WHERE next_at IS NOT NULL AND mode = 'live';
DROP INDEX CONCURRENTLY IF EXISTS payouts_next_test;
CREATE INDEX CONCURRENTLY payouts_next_test ON payouts (next_at) WHERE next_at IS NOT NULL AND mode = 'test';
