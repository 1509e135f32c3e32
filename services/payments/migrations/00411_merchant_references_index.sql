-- +goose NO TRANSACTION
-- +goose Up
-- Lists by the merchant's own reference. A payment without one has no entry.
--
-- Payments are written while the index is built. An interrupted build leaves an invalid index, which is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS payments_merchant_reference;
CREATE INDEX CONCURRENTLY payments_merchant_reference ON payments (merchant_reference, merchant_id, mode, id COLLATE "C" DESC) WHERE merchant_reference <> '';
