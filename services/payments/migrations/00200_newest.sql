-- +goose NO TRANSACTION
-- +goose Up
-- A list without a filter is one range of this index. Before, it was the newest of fifty ranges of payments_lanes, one
-- for each status and type: 0.50 ms instead of 0.33 ms for a page of fifty payments, and more for short pages. A create
-- pays less than 0.005 ms for the entry. The collation is that of payments_lanes.
--
-- Payments are written while the index is built. An interrupted build leaves an invalid index, which is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS payments_newest;
CREATE INDEX CONCURRENTLY payments_newest ON payments (merchant_id, mode, id COLLATE "C" DESC);
