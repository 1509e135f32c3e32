-- +goose Up

-- The body of an event is about as long as the size from which PostgreSQL tries to compress a row and moves parts of it
-- to another table. Bodies are sealed, so they do not compress, and a row lives for milliseconds.
ALTER TABLE outbox SET (toast_tuple_target = 8160);
