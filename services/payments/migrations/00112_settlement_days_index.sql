-- +goose NO TRANSACTION
-- Finds the days that are forgotten, and the settled ones of today, without those between.

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS settlement_days_day;
CREATE INDEX CONCURRENTLY settlement_days_day ON settlement_days (day);
