-- +goose Up
-- The most of one day by currency, of live mode.
ALTER TABLE merchants ADD COLUMN daily_limits jsonb NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE merchants DROP COLUMN daily_limits;
