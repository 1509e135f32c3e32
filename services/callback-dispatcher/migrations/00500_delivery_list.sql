-- +goose NO TRANSACTION
-- +goose Up
-- The index of a merchant's deliveries serves lists alone, which say so by the same condition. The table is a queue: it
-- was often empty when its rows were counted, and then the planner took this index, whole, to be as good as the primary
-- key to find rows by id. An interrupted build leaves an index, which is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS delivery_listed;
CREATE INDEX CONCURRENTLY delivery_listed ON delivery (merchant_id, mode, id) WHERE merchant_id <> '';
DROP INDEX CONCURRENTLY IF EXISTS delivery_list;
