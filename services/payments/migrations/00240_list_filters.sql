-- +goose NO TRANSACTION
-- +goose Up
-- Lists by payer and by exception read a page from an index of their own. A payment without a payer, or without an
-- exception, has no entry in it. An index of a payer is that of one merchant and mode.
--
-- Payments are written while an index is built. An interrupted build leaves an invalid index, which is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS payments_payer;
CREATE INDEX CONCURRENTLY payments_payer ON payments (payer_index, id COLLATE "C" DESC) WHERE payer_index IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS payments_exception;
CREATE INDEX CONCURRENTLY payments_exception ON payments (exception, id COLLATE "C" DESC) WHERE exception <> '';
