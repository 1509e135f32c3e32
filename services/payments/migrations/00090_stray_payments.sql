-- A payment that an operator makes for money on an address without a payment has the type stray, and no price. Every row
-- before satisfied the narrower rule, so none is read.

-- +goose Up
ALTER TABLE payments DROP CONSTRAINT payments_fiat_amount_check,
    ADD CONSTRAINT payments_fiat_amount CHECK (fiat_amount <> 'NaN' AND (fiat_amount > 0 OR type = 'stray' AND fiat_amount = 0)) NOT VALID;
