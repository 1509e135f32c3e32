-- +goose Up
-- What a conversion took and why: the fee at the rate that was applied, the rate of late money (zero: the locked one), and the
-- dust that counts for nothing. Rows from before keep the defaults: they show the quote's charge and the locked rate, as ever.
ALTER TABLE payments
    ADD COLUMN credit_fee_crypto numeric NOT NULL DEFAULT 0,
    ADD COLUMN credit_fee_usd    numeric NOT NULL DEFAULT 0,
    ADD COLUMN late_rate         numeric NOT NULL DEFAULT 0,
    ADD COLUMN ignored           numeric NOT NULL DEFAULT 0;
