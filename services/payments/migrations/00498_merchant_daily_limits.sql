-- +goose Up

-- The most of one day by currency, of live mode. counted stays true once there was one: payments may have reserved some
-- of it, and give it back when they end.
ALTER TABLE merchant_terms
    ADD COLUMN daily_limits jsonb   NOT NULL DEFAULT '{}',
    ADD COLUMN counted      boolean NOT NULL DEFAULT false;
DROP INDEX merchant_terms_binding;
CREATE INDEX merchant_terms_binding ON merchant_terms (merchant_id)
WHERE suspended OR currencies <> '{}' OR networks <> '{}' OR types <> '{}' OR limits <> '{}' OR counted;

-- Late money counts again, whether or not the limit has room for it. Then the payout waits for room.
ALTER TABLE limit_reservations ADD COLUMN restored boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE limit_reservations DROP COLUMN restored;
DROP INDEX merchant_terms_binding;
CREATE INDEX merchant_terms_binding ON merchant_terms (merchant_id)
WHERE suspended OR currencies <> '{}' OR networks <> '{}' OR types <> '{}' OR limits <> '{}';
ALTER TABLE merchant_terms DROP COLUMN daily_limits, DROP COLUMN counted;
