-- +goose NO TRANSACTION

-- The newest payouts of a rail and currency, and those that have no end yet; what the lists of sanctions hit.
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS payouts_by_end;
CREATE INDEX CONCURRENTLY payouts_by_end ON payouts (mode, rail, currency, done_at DESC);
DROP INDEX CONCURRENTLY IF EXISTS screenings_hits;
CREATE INDEX CONCURRENTLY screenings_hits ON screenings (id) WHERE verdict = 'hit';
