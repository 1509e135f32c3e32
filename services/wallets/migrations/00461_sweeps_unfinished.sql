-- +goose NO TRANSACTION

-- The sweeps under way, in the order of an operator's list.
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS sweeps_unfinished;
CREATE INDEX CONCURRENTLY sweeps_unfinished ON sweeps (created_at, id) WHERE state IN ('open', 'blocked');
