-- The daily settlement that a merchant has chosen for a currency: what is available of at least minimum is withdrawn to the
-- account, once each UTC day. A row of settlement_days says that a day has been settled; withdrawal_id is empty where there was
-- too little, or the account could not be paid.

-- +goose Up
CREATE TABLE settlement_schedules (
    merchant_id text    NOT NULL,
    mode        text    NOT NULL CHECK (mode IN ('live', 'test')),
    currency    text    NOT NULL,
    account_id  text    NOT NULL REFERENCES settlement_accounts,
    minimum     numeric NOT NULL CHECK (minimum >= 0 AND minimum <> 'NaN'),
    key_id      bigint  NOT NULL,
    PRIMARY KEY (merchant_id, mode, currency)
);
CREATE TABLE settlement_days (
    merchant_id   text NOT NULL,
    mode          text NOT NULL,
    currency      text NOT NULL,
    day           date NOT NULL,
    withdrawal_id text NOT NULL DEFAULT '',
    PRIMARY KEY (merchant_id, mode, currency, day)
);
