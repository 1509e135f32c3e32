-- Finds what a merchant withdrew from its wallets in the last 24 hours, and which of it has not ended, without its history.

-- +goose Up
CREATE INDEX draws_counted ON draws (mode, merchant_id, greatest(created_at, approved_at));
CREATE INDEX draws_unended ON draws (mode, merchant_id) WHERE state NOT IN ('confirmed', 'failed');
