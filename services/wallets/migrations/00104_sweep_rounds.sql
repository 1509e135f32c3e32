-- The newest final block at the beginning of a round of sweeping that has looked for every transaction under way. A
-- reading of balances waits for it: before that, a block of the reading may hold a transaction that nobody has seen.

-- +goose Up
CREATE TABLE sweep_rounds (
    network text    NOT NULL,
    refunds boolean NOT NULL, -- the transactions of refunds and withdrawals, not of sweeps
    height  bigint  NOT NULL,
    PRIMARY KEY (network, refunds)
);
