-- The balance of a merchant is kept with its account, so that a withdrawal locks one row and reads one number. A trigger keeps
-- it, because pods of an earlier release book on these accounts too and know no balance of theirs. Making the trigger waits for
-- the transactions that book, so that the sums below miss none.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION keep_merchant_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE ledger_accounts SET balance = coalesce(balance, 0) + CASE WHEN NEW.side = normal THEN NEW.amount ELSE -NEW.amount END
    WHERE code = NEW.account;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER ledger_entries_merchant_balance AFTER INSERT ON ledger_entries FOR EACH ROW
    WHEN (starts_with(NEW.account, 'merchant:') OR starts_with(NEW.account, 'test:merchant:'))
    EXECUTE FUNCTION keep_merchant_balance();
UPDATE ledger_accounts a SET balance = (
    SELECT sum(CASE WHEN e.side = a.normal THEN e.amount ELSE -e.amount END) FROM ledger_entries e WHERE e.account = a.code)
WHERE starts_with(a.code, 'merchant:') OR starts_with(a.code, 'test:merchant:');

-- The choices of a merchant about its own money, in one mode. A merchant without a row has none of them.
CREATE TABLE merchant_settings (
    merchant_id text        NOT NULL,
    mode        text        NOT NULL CHECK (mode IN ('live', 'test')),
    to_balance  boolean     NOT NULL DEFAULT false,
    changed_at  timestamptz NOT NULL,
    changed_by  bigint      NOT NULL,
    PRIMARY KEY (merchant_id, mode)
);

-- A payment whose money is credited to the merchant's balance; fixed when it is made.
ALTER TABLE payments ADD COLUMN to_balance boolean NOT NULL DEFAULT false;
