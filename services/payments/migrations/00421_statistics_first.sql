-- +goose Up

-- The payments from before the trigger. One statement has one snapshot: it counts every payment as the snapshot shows
-- it, and removes the news that the snapshot shows, which are in those payments already. Payments are written
-- meanwhile, and their news stay.
WITH known AS (
    DELETE FROM statistics_news
)
INSERT INTO statistics SELECT merchant_id, mode, (created_at AT TIME ZONE 'UTC')::date, type, fiat_currency, network, status, speed,
    count(*), sum(fiat_amount), sum(transaction_usd), sum(credit_fee), sum(credit_payout), sum(ms)
FROM (SELECT p.*, CASE WHEN status = 'settled' THEN settling_ms(settled_at, confirmed_at, claimed_at) ELSE 0 END AS ms,
    CASE WHEN status = 'settled' THEN settling_speed(settling_ms(settled_at, confirmed_at, claimed_at)) ELSE 0 END AS speed FROM payments p) AS counted
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8;
