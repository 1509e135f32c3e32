-- One statement writes both rows of news of a changed payment.

-- +goose Up
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_payment() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before bigint := 0;
    after  bigint := 0;
BEGIN
    IF NEW.status = 'settled' THEN
        after := settling_ms(NEW.settled_at, NEW.confirmed_at, NEW.claimed_at);
    END IF;
    IF TG_OP = 'INSERT' THEN
        INSERT INTO statistics_news VALUES (NEW.merchant_id, NEW.mode, (NEW.created_at AT TIME ZONE 'UTC')::date, NEW.type, NEW.fiat_currency,
            NEW.network, NEW.status, CASE NEW.status WHEN 'settled' THEN settling_speed(after) ELSE 0 END, 1, NEW.fiat_amount, NEW.transaction_usd,
            NEW.credit_fee, NEW.credit_payout, after);
        RETURN NULL;
    END IF;
    IF OLD.status = 'settled' THEN
        before := settling_ms(OLD.settled_at, OLD.confirmed_at, OLD.claimed_at);
    END IF;
    INSERT INTO statistics_news VALUES
        (OLD.merchant_id, OLD.mode, (OLD.created_at AT TIME ZONE 'UTC')::date, OLD.type, OLD.fiat_currency, OLD.network, OLD.status,
            CASE OLD.status WHEN 'settled' THEN settling_speed(before) ELSE 0 END, -1, -OLD.fiat_amount, -OLD.transaction_usd, -OLD.credit_fee,
            -OLD.credit_payout, -before),
        (NEW.merchant_id, NEW.mode, (NEW.created_at AT TIME ZONE 'UTC')::date, NEW.type, NEW.fiat_currency, NEW.network, NEW.status,
            CASE NEW.status WHEN 'settled' THEN settling_speed(after) ELSE 0 END, 1, NEW.fiat_amount, NEW.transaction_usd, NEW.credit_fee,
            NEW.credit_payout, after);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
