-- +goose NO TRANSACTION
-- +goose Up
-- The list of a merchant's own reports merges the runs of this index, one of each status and type, so that its cost grows
-- with neither. Reports are written while the index is
-- built. An interrupted build leaves an invalid index, which is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS reports_own;
CREATE INDEX CONCURRENTLY reports_own ON reports (merchant_id, mode, status, kind, created_at DESC, id DESC);
