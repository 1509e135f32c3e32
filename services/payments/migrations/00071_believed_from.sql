-- After an operator has skipped deposit messages that are gone (`payments expiry skip`), only progress that wallets published
-- from then on closes windows: older progress does not know of the deposits that wallets has published again.

-- +goose Up
ALTER TABLE scan_progress ADD COLUMN believed_from timestamptz NOT NULL DEFAULT 'epoch';
