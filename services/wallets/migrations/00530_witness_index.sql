-- +goose NO TRANSACTION
-- A hearing looks for deposits by what endpoints said. Where one host serves a network all of them stay alone, and the
-- index by height made each look read all of them.

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS deposits_by_witness;
CREATE INDEX CONCURRENTLY deposits_by_witness ON deposits (mode, network, witness)
WHERE state = 'confirmed' AND witness IN ('pending', 'contradicted', 'alone');
DROP INDEX CONCURRENTLY IF EXISTS deposits_to_witness;
