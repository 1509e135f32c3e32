-- A daily settlement that failed is due again at retry_at, and later each time that it fails again.

-- +goose Up
ALTER TABLE settlement_schedules ADD COLUMN retry_at timestamptz, ADD COLUMN failures integer NOT NULL DEFAULT 0;
