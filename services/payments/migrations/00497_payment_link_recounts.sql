-- +goose Up
-- When the payments of a link that has reached its limit were last counted again.
ALTER TABLE payment_links ADD COLUMN recounted_at timestamptz;

-- +goose Down
ALTER TABLE payment_links DROP COLUMN recounted_at;
