-- +goose NO TRANSACTION
-- Money that no sweep has taken, and the transactions of the newest blocks.

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS deposits_held;
CREATE INDEX CONCURRENTLY deposits_held ON deposits (network, address, asset) WHERE sweep IS NULL AND state <> 'reverted' AND mode = 'live';
DROP INDEX CONCURRENTLY IF EXISTS outgoing_tx_ended;
CREATE INDEX CONCURRENTLY outgoing_tx_ended ON outgoing_tx (mode, network, height) WHERE state IN ('final', 'failed');
