-- +goose NO TRANSACTION
-- The deposits that are deep enough and not booked, because nobody but one host has them. There are few, so the index is small.

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS deposits_unsure;
CREATE INDEX CONCURRENTLY deposits_unsure ON deposits (mode, wallet_id)
WHERE state = 'confirmed' AND due_height = 0 AND witness IN ('pending', 'contradicted');
