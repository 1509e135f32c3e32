-- +goose NO TRANSACTION
-- +goose Up
-- The relay reads past the messages of a name that the broker refuses.
--
-- Messages are written while the index is built. An interrupted build leaves an invalid index, which is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS outbox_names;
CREATE INDEX CONCURRENTLY outbox_names ON outbox (name, id) WHERE sent_at IS NULL;
