-- Finds what a merchant withdrew of a currency in the last 24 hours, which decides whether a withdrawal waits for operators.

-- +goose Up
CREATE INDEX withdrawals_recent ON withdrawals (merchant_id, mode, currency, greatest(created_at, approved_at));
