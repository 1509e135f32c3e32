-- The block of a deposit when it was booked. A snapshot with another block is a reorganisation, even when the message that
-- took the deposit out of the first block is overtaken. An empty hash is one that an earlier release booked.

-- +goose Up
ALTER TABLE deposits ADD COLUMN booked_block text NOT NULL DEFAULT '';
