-- The balance of each merchant in an asset, so that a withdrawal, a list of balances and the gauge of those below zero read one
-- number and not all entries ever made. A trigger keeps it, because pods of an earlier release book on these accounts too.
-- Making the trigger waits for the transactions that book, so that the sums below miss none.

-- +goose Up
CREATE TABLE merchant_balances (
    mode        text    NOT NULL,
    merchant_id text    NOT NULL,
    network     text    NOT NULL,
    asset       text    NOT NULL,
    amount      numeric NOT NULL,
    PRIMARY KEY (mode, merchant_id, network, asset)
);
CREATE INDEX merchant_balances_short ON merchant_balances (mode) WHERE amount < 0;
-- +goose StatementBegin
CREATE FUNCTION keep_merchant_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO merchant_balances AS b (mode, merchant_id, network, asset, amount)
    VALUES (NEW.mode, NEW.merchant_id, NEW.network, NEW.asset, NEW.credit - NEW.debit)
    ON CONFLICT (mode, merchant_id, network, asset) DO UPDATE SET amount = b.amount + excluded.amount;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER custody_entries_merchant_balance AFTER INSERT ON custody_entries FOR EACH ROW
    WHEN (NEW.account = 'merchant') EXECUTE FUNCTION keep_merchant_balance();
INSERT INTO merchant_balances (mode, merchant_id, network, asset, amount)
SELECT mode, merchant_id, network, asset, sum(credit - debit) FROM custody_entries WHERE account = 'merchant'
GROUP BY mode, merchant_id, network, asset;
