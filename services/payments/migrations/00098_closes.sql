-- The daily close of the ledger. A close of a day names the last journal of that day, and keeps the sums of every account up
-- to it. A journal that is booked later belongs to a later day, so no row here is ever changed.

-- +goose Up
CREATE TABLE ledger_closes (
    day          date        PRIMARY KEY,
    last_journal bigint      NOT NULL,
    closed_at    timestamptz NOT NULL DEFAULT now()
);
CREATE TRIGGER ledger_closes_append_only BEFORE UPDATE OR DELETE ON ledger_closes FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_closes_never_emptied BEFORE TRUNCATE ON ledger_closes FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The sums since the first journal. The accounts of all payments of one kind and asset are one row: customer:USDT. by_hand is
-- the part of debit - credit that operators booked and wallets did not report.
CREATE TABLE ledger_close_sums (
    day     date    NOT NULL REFERENCES ledger_closes (day),
    account text    NOT NULL,
    asset   text    NOT NULL,
    debit   numeric NOT NULL,
    credit  numeric NOT NULL,
    by_hand numeric NOT NULL,
    PRIMARY KEY (day, account, asset)
);
CREATE TRIGGER ledger_close_sums_append_only BEFORE UPDATE OR DELETE ON ledger_close_sums FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_close_sums_never_emptied BEFORE TRUNCATE ON ledger_close_sums FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The fees that the payments of each merchant brought since the first journal.
CREATE TABLE ledger_close_fees (
    day         date    NOT NULL REFERENCES ledger_closes (day),
    mode        text    NOT NULL,
    merchant_id text    NOT NULL,
    currency    text    NOT NULL,
    amount      numeric NOT NULL,
    PRIMARY KEY (day, mode, merchant_id, currency)
);
CREATE TRIGGER ledger_close_fees_append_only BEFORE UPDATE OR DELETE ON ledger_close_fees FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_close_fees_never_emptied BEFORE TRUNCATE ON ledger_close_fees FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The treasury's report of a closed day. A close is complete once it has one for each mode.
CREATE TABLE treasury_closes (
    day     date        NOT NULL REFERENCES ledger_closes (day),
    mode    text        NOT NULL CHECK (mode IN ('live', 'test')),
    report  json        NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (day, mode)
);
CREATE TRIGGER treasury_closes_append_only BEFORE UPDATE OR DELETE ON treasury_closes FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER treasury_closes_never_emptied BEFORE TRUNCATE ON treasury_closes FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The treasury's report as the leader made it last, one row for each mode.
CREATE TABLE treasury_reports (
    mode    text        PRIMARY KEY CHECK (mode IN ('live', 'test')),
    report  json        NOT NULL,
    made_at timestamptz NOT NULL
);

-- The balances that wallets read last from the chain of a network, of every asset at once.
CREATE TABLE treasury_readings (
    mode     text        NOT NULL,
    network  text        NOT NULL,
    read_at  timestamptz NOT NULL,
    holdings json        NOT NULL,
    PRIMARY KEY (mode, network)
);
