-- A statement that changes many payments adds one row of news for each kind of payment, and not two for each payment.
-- Packs change payments of few kinds at a time. To replace a trigger, and not to drop it, lets readers and dumps go on.

-- +goose Up
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_payment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        -- An archived payment that comes back was counted when it was made: a create has the version 1, and what has ended
        -- a higher one.
        INSERT INTO statistics_news
        SELECT merchant_id, mode, day, type, fiat_currency, network, status, CASE status WHEN 'settled' THEN settling_speed(ms) ELSE 0 END AS speed,
            count(*), sum(fiat_amount), sum(transaction_usd), sum(credit_fee), sum(credit_payout), sum(ms)
        FROM (
            SELECT merchant_id, mode, (created_at AT TIME ZONE 'UTC')::date AS day, type, fiat_currency, network, status,
                CASE status WHEN 'settled' THEN settling_ms(settled_at, confirmed_at, claimed_at) ELSE 0 END AS ms,
                fiat_amount, transaction_usd, credit_fee, credit_payout
            FROM added WHERE version = 1
        ) AS counted
        GROUP BY merchant_id, mode, day, type, fiat_currency, network, status, speed;
        RETURN NULL;
    END IF;
    INSERT INTO statistics_news
    SELECT merchant_id, mode, day, type, fiat_currency, network, status, CASE status WHEN 'settled' THEN settling_speed(ms) ELSE 0 END AS speed,
        sum(n), sum(n * fiat_amount), sum(n * transaction_usd), sum(n * credit_fee), sum(n * credit_payout), sum(n * ms)
    FROM (
        SELECT -1 AS n, merchant_id, mode, (created_at AT TIME ZONE 'UTC')::date AS day, type, fiat_currency, network, status,
            CASE status WHEN 'settled' THEN settling_ms(settled_at, confirmed_at, claimed_at) ELSE 0 END AS ms,
            fiat_amount, transaction_usd, credit_fee, credit_payout
        FROM before
        UNION ALL
        SELECT 1, merchant_id, mode, (created_at AT TIME ZONE 'UTC')::date, type, fiat_currency, network, status,
            CASE status WHEN 'settled' THEN settling_ms(settled_at, confirmed_at, claimed_at) ELSE 0 END,
            fiat_amount, transaction_usd, credit_fee, credit_payout
        FROM after
    ) AS counted
    GROUP BY merchant_id, mode, day, type, fiat_currency, network, status, speed
    HAVING sum(n) <> 0 OR sum(n * fiat_amount) <> 0 OR sum(n * transaction_usd) <> 0 OR sum(n * credit_fee) <> 0
        OR sum(n * credit_payout) <> 0 OR sum(n * ms) <> 0;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE OR REPLACE TRIGGER payments_counted AFTER INSERT ON payments REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_payment();
CREATE OR REPLACE TRIGGER payments_counted_anew AFTER UPDATE ON payments REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION count_payment();
