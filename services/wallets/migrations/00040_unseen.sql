-- +goose Up

-- Coin that contracts send stands in no transaction and no log. Where the endpoints of an EVM network tell no traces, a payer
-- may name the transaction, and it is looked at for its effect on the one address.
CREATE TABLE hints (
    mode       text           NOT NULL,
    network    text           NOT NULL,
    address    text           NOT NULL,
    tx_hash    text           NOT NULL,
    ordinal    integer        NOT NULL, -- of the deposit that it may become
    state      text           NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'credited', 'final', 'nothing', 'unclear')),
    reason     text           NOT NULL DEFAULT '',
    amount     numeric(78, 0) NOT NULL DEFAULT 0, -- what is left unexplained, of one that is unclear
    tries      integer        NOT NULL DEFAULT 0,
    since      timestamptz    NOT NULL DEFAULT now(), -- it waits
    due_at     timestamptz    NOT NULL DEFAULT now(),
    created_at timestamptz    NOT NULL DEFAULT now(),
    changed_at timestamptz    NOT NULL DEFAULT now(),
    PRIMARY KEY (mode, network, address, tx_hash)
);
CREATE INDEX hints_due ON hints (network, due_at) WHERE state IN ('waiting', 'credited');
CREATE INDEX hints_unclear ON hints (network, address) WHERE state = 'unclear';

-- What addresses have of the native coin and the books do not explain: more is coin that was not seen, less is coin that left
-- without us. expected is what the books say at that height.
CREATE TABLE unexplained_balances (
    mode        text           NOT NULL,
    network     text           NOT NULL,
    address     text           NOT NULL,
    wallet_id   text           NOT NULL,
    balance     numeric(78, 0) NOT NULL,
    expected    numeric(78, 0) NOT NULL,
    height      bigint         NOT NULL,
    since       timestamptz    NOT NULL DEFAULT now(),
    compared_at timestamptz    NOT NULL DEFAULT now(),
    PRIMARY KEY (mode, network, address)
);

-- How far the comparison of a network has come among its addresses.
CREATE TABLE balance_passes (
    mode     text        NOT NULL,
    network  text        NOT NULL,
    seq      bigint      NOT NULL DEFAULT 0,
    began_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz, -- of the pass that seq belongs to; null while it goes on
    whole_at timestamptz, -- when the last whole pass ended
    PRIMARY KEY (mode, network)
);

-- Few at any time: deposits of hints whose block left the chain, however final it was.
CREATE INDEX deposits_hinted_reverted ON deposits (mode, network, tx_hash, ordinal) WHERE ordinal >= 1000000000 AND state = 'reverted';

-- The comparison asks for the sweeps of an address.
CREATE INDEX sweeps_by_wallet ON sweeps (wallet_id);
