-- +goose Up

-- Deposits on the chain that are not deep enough to be booked: few at any time, whoever they belong to.
CREATE INDEX deposits_pending ON deposits (mode, wallet_id) WHERE state <> 'reverted' AND NOT (state = 'confirmed' AND due_height = 0);
DROP INDEX wallets_pending;
