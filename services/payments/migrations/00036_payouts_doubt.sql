-- +goose NO TRANSACTION
-- +goose Up
-- Payouts that operators look at: of unknown outcome, frozen, given up, stopped, or contradicted after an operator concluded
-- them. Nothing here holds up writes, and what an attempt that was cut short has left is dropped first. A replica of the version
-- before this one still lists its payouts, if slowly, until it is replaced.
DROP INDEX CONCURRENTLY IF EXISTS payouts_attention;
CREATE INDEX CONCURRENTLY payouts_attention ON payouts (id)
    WHERE state = 'unknown' OR frozen OR contradicted OR (paged OR stopped) AND state IN ('sending', 'pending');
DROP INDEX CONCURRENTLY IF EXISTS payouts_doubt;
