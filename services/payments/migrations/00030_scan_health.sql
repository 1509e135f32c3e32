-- +goose Up
-- How the scan of a network fares, as wallets last told it: no new payments are taken, and nothing is paid out, on a network
-- whose scan does not follow its chain. updated_at is when the last message came; '' is a version of wallets that does not
-- tell its state, and a network of which it still hears is open then.
ALTER TABLE scan_progress ADD COLUMN state text NOT NULL DEFAULT '';
ALTER TABLE scan_progress ADD COLUMN head bigint NOT NULL DEFAULT 0;
ALTER TABLE scan_progress ADD COLUMN head_time timestamptz;
ALTER TABLE scan_progress ADD COLUMN told_at timestamptz NOT NULL DEFAULT 'epoch';
