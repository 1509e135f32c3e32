-- +goose Up

-- When money that counts and is in no block yet stops counting; null while there is none.
ALTER TABLE payments ADD COLUMN waits_until timestamptz;
