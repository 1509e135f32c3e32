-- +goose Up

-- The deposits that a node's mempool holds and no block. Such a deposit's own row says reverted at height 0: to every
-- statement that knows nothing of this table it is on no chain, which is true.
CREATE TABLE mempool (
    mode         text    NOT NULL,
    network      text    NOT NULL,
    tx_hash      text    NOT NULL,
    ordinal      integer NOT NULL,
    inputs       text[]  NOT NULL, -- what its transaction spends: another one that spends the same takes its place
    absent_since timestamptz,      -- when it was first missed; null while the mempool holds it
    PRIMARY KEY (mode, network, tx_hash, ordinal)
);
