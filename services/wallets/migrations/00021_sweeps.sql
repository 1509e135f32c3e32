-- +goose Up

-- A sweep moves what final deposits brought to one address, of one asset, to the treasury. A deposit belongs to one sweep
-- at most, and to none again once that is swept.
CREATE TABLE sweeps (
    id         text           PRIMARY KEY,
    mode       text           NOT NULL,
    network    text           NOT NULL,
    family     text           NOT NULL,
    account    bigint         NOT NULL,
    idx        bigint         NOT NULL,
    address    text           NOT NULL,
    wallet_id  text           NOT NULL,
    asset      text           NOT NULL,
    contract   text           NOT NULL,
    amount     numeric(78, 0) NOT NULL CHECK (amount > 0),
    treasury   text           NOT NULL,
    state      text           NOT NULL CHECK (state IN ('open', 'swept', 'blocked', 'released')),
    reason     text           NOT NULL DEFAULT '',
    due_at     timestamptz    NOT NULL DEFAULT now(),
    created_at timestamptz    NOT NULL DEFAULT now(),
    ended_at   timestamptz
);
CREATE UNIQUE INDEX sweeps_one_open ON sweeps (mode, network, address, asset) WHERE state IN ('open', 'blocked');
CREATE INDEX sweeps_due ON sweeps (mode, network, due_at) WHERE state = 'open';

ALTER TABLE deposits ADD COLUMN sweep text REFERENCES sweeps (id);
CREATE INDEX deposits_to_sweep ON deposits (mode, network, address, asset)
WHERE sweep IS NULL AND finalized AND state = 'confirmed' AND due_height = 0 AND mode = 'live';
CREATE INDEX deposits_of_sweep ON deposits (sweep) WHERE sweep IS NOT NULL;

-- Every transaction that leaves us, by the one number of its sender that it uses up (the nonce on EVM networks). It may be
-- signed several times with rising fees; only one of the signed forms can ever land.
CREATE TABLE outgoing_tx (
    id         text           PRIMARY KEY,
    sweep      text           NOT NULL REFERENCES sweeps (id),
    kind       text           NOT NULL CHECK (kind IN ('sweep', 'fund')),
    mode       text           NOT NULL,
    network    text           NOT NULL,
    sender     text           NOT NULL,
    nonce      bigint         NOT NULL CHECK (nonce >= 0),
    state      text           NOT NULL CHECK (state IN ('planned', 'signed', 'broadcast', 'mined', 'final', 'replaced', 'failed')),
    version    bigint         NOT NULL,
    attempt    integer        NOT NULL,
    tx_hash    text           NOT NULL DEFAULT '', -- of the form that was mined
    height     bigint         NOT NULL DEFAULT 0,
    block_hash text           NOT NULL DEFAULT '',
    amount     numeric(78, 0) NOT NULL DEFAULT 0, -- what arrived
    fee        numeric(78, 0) NOT NULL DEFAULT 0,
    created_at timestamptz    NOT NULL DEFAULT now(),
    changed_at timestamptz    NOT NULL DEFAULT now(),
    CONSTRAINT outgoing_tx_once UNIQUE (mode, network, sender, nonce)
);
CREATE INDEX outgoing_tx_open ON outgoing_tx (mode, network, created_at) WHERE state IN ('planned', 'signed', 'broadcast', 'mined');
CREATE INDEX outgoing_tx_of_sweep ON outgoing_tx (sweep);
CREATE UNIQUE INDEX outgoing_tx_one_sweep ON outgoing_tx (sweep) WHERE kind = 'sweep' AND state IN ('planned', 'signed', 'broadcast', 'mined', 'final');

-- The signed forms. The bytes are here before any node sees them.
CREATE TABLE outgoing_attempts (
    outgoing  text        NOT NULL REFERENCES outgoing_tx (id) ON DELETE CASCADE,
    number    integer     NOT NULL,
    request   text        NOT NULL, -- the intent, as the signer is asked
    tx_hash   text        NOT NULL DEFAULT '',
    raw       bytea,
    signed_at timestamptz,
    sent_at   timestamptz,
    PRIMARY KEY (outgoing, number)
);

-- Addresses of our own that pay for gas: what they send to a deposit address is no deposit.
CREATE TABLE house_addresses (
    mode    text NOT NULL,
    family  text NOT NULL,
    address text NOT NULL,
    PRIMARY KEY (mode, family, address)
);

-- The ledger of what moves: treasury holds what was swept, gas_station and gas_float are coins of ours that pay for it,
-- fees is what it cost. Money on addresses of payments, whose ledger is elsewhere, comes from the account payments.
ALTER TABLE custody_journals DROP CONSTRAINT custody_journals_event_check;
ALTER TABLE custody_journals ADD CONSTRAINT custody_journals_event_check
CHECK (event IN ('deposit_confirmed', 'deposit_reverted', 'swept', 'sweep_failed', 'funded'));
ALTER TABLE custody_entries DROP CONSTRAINT custody_entries_account_check;
ALTER TABLE custody_entries ADD CONSTRAINT custody_entries_account_check
CHECK (account IN ('custody', 'merchant', 'payments', 'treasury', 'gas_station', 'gas_float', 'fees'));
