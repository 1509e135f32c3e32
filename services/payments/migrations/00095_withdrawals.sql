-- Money of a merchant's balance on its way to one of its settlement accounts. Its payouts are rows of payouts, whose payment_id is
-- then the id of the withdrawal; an earlier release that takes such a row finds no payment and leaves it alone. rail, attempt and
-- holds are those of the current payout.

-- +goose Up
CREATE TABLE withdrawals (
    id           text        PRIMARY KEY,
    merchant_id  text        NOT NULL,
    mode         text        NOT NULL CHECK (mode IN ('live', 'test')),
    key_id       bigint      NOT NULL,
    currency     text        NOT NULL,
    amount       numeric     NOT NULL CHECK (amount > 0 AND amount <> 'NaN'),
    account_id   text        NOT NULL REFERENCES settlement_accounts,
    rail         text        NOT NULL,
    state        text        NOT NULL CHECK (state IN ('requested', 'approved', 'sending', 'paid', 'failed', 'returned')),
    failure      text        NOT NULL DEFAULT '',
    attempt      integer     NOT NULL,
    holds        integer     NOT NULL,
    takes        integer     NOT NULL,
    version      bigint      NOT NULL,
    sequence     bigint      NOT NULL,
    created_at   timestamptz NOT NULL,
    approved_at  timestamptz,
    ended_at     timestamptz
);
CREATE INDEX withdrawals_merchant ON withdrawals (merchant_id, mode, id);
CREATE INDEX withdrawals_waiting ON withdrawals (id) WHERE state = 'requested';
