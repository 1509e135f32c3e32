-- +goose Up

-- The addresses to which a merchant lets crypto of its standalone wallets be withdrawn. A row is never deleted, so that a
-- withdrawal keeps the entry that it was made to. No live withdrawal goes to an address before usable_at.
CREATE TABLE address_book (
    id          text        PRIMARY KEY,
    mode        text        NOT NULL CHECK (mode IN ('live', 'test')),
    merchant_id text        NOT NULL,
    network     text        NOT NULL,
    address     text        NOT NULL CHECK (address <> ''),
    label       text        NOT NULL,
    created_by  text        NOT NULL,
    created_at  timestamptz NOT NULL,
    usable_at   timestamptz NOT NULL,
    removed_at  timestamptz,
    removed_by  text        NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX address_book_once ON address_book (mode, merchant_id, network, address) WHERE removed_at IS NULL;
CREATE INDEX address_book_list ON address_book (mode, merchant_id, id) WHERE removed_at IS NULL;

-- Withdrawals from standalone wallets ("draws"). Their money is in the books of wallets, which reserves it when it takes the
-- order; this table approves it. charge is the fee that the merchant pays besides the amount, usd the worth of both at the
-- request, told the version of the last report of wallets, sequence the number of events.
CREATE TABLE draws (
    id           text        PRIMARY KEY,
    mode         text        NOT NULL CHECK (mode IN ('live', 'test')),
    merchant_id  text        NOT NULL,
    network      text        NOT NULL,
    asset        text        NOT NULL,
    contract     text        NOT NULL,
    amount       numeric     NOT NULL CHECK (amount > 0 AND amount <> 'NaN'),
    charge       numeric     NOT NULL CHECK (charge >= 0 AND charge <> 'NaN'),
    usd          numeric     NOT NULL CHECK (usd >= 0 AND usd <> 'NaN'),
    entry_id     text        NOT NULL REFERENCES address_book (id),
    address      text        NOT NULL CHECK (address <> ''),
    requested_by text        NOT NULL,
    state        text        NOT NULL CHECK (state IN ('requested', 'approved', 'signing', 'sent', 'confirmed', 'failed')),
    approval     text        NOT NULL DEFAULT '' CHECK (approval IN ('', 'automatic', 'operator')),
    failure      text        NOT NULL DEFAULT '',
    cancelled    text        NOT NULL DEFAULT '' CHECK (cancelled IN ('', 'requested', 'too_late')),
    tx_hash      text        NOT NULL DEFAULT '',
    fee          numeric     NOT NULL DEFAULT 0 CHECK (fee >= 0 AND fee <> 'NaN'),
    finals       integer     NOT NULL DEFAULT 0,
    version      bigint      NOT NULL,
    told         bigint      NOT NULL DEFAULT 0,
    sequence     bigint      NOT NULL,
    created_at   timestamptz NOT NULL,
    approved_at  timestamptz,
    confirmed_at timestamptz,
    ended_at     timestamptz,
    CONSTRAINT draws_approved CHECK (approval <> '' OR state IN ('requested', 'failed'))
);
CREATE INDEX draws_list ON draws (mode, merchant_id, id);
CREATE INDEX draws_recent ON draws (mode, merchant_id, created_at);
CREATE INDEX draws_open ON draws (state, id) WHERE state NOT IN ('confirmed', 'failed');
