-- +goose Up

-- The figures of merchants: how many payments each day has of each kind, and their money. Every change of a payment
-- adds a row to statistics_news, which no other change waits for; the leader adds those rows up into statistics. An
-- answer is the sum of both, so that it is exact at any time. The database's trigger counts, and not the program, so
-- that changes made by the release before this one are counted too.
--
-- day is that of the create, in UTC. speed says how soon a settled payment was settled after its money was confirmed:
-- within 1 a minute, 2 five minutes, 3 an hour, 4 a day, 5 later, and 0 for others.
CREATE TABLE statistics (
    merchant_id   text     NOT NULL,
    mode          text     NOT NULL,
    day           date     NOT NULL,
    type          text     NOT NULL,
    fiat_currency text     NOT NULL,
    network       text     NOT NULL,
    status        text     NOT NULL,
    speed         smallint NOT NULL,
    payments      bigint   NOT NULL,
    fiat          numeric  NOT NULL,
    usd           numeric  NOT NULL,
    fee           numeric  NOT NULL,
    payout        numeric  NOT NULL,
    settling_ms   bigint   NOT NULL,
    PRIMARY KEY (merchant_id, mode, day, type, fiat_currency, network, status, speed)
) WITH (fillfactor = 70);
CREATE TABLE statistics_news (LIKE statistics) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000,
    autovacuum_vacuum_cost_delay = 0);

-- +goose StatementBegin
CREATE FUNCTION settling_ms(settled timestamptz, confirmed timestamptz, claimed timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT greatest(0, (1000 * extract(epoch FROM settled - coalesce(greatest(confirmed, claimed), settled)))::bigint)
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION settling_speed(ms bigint) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT (CASE WHEN ms <= 60000 THEN 1 WHEN ms <= 300000 THEN 2 WHEN ms <= 3600000 THEN 3 WHEN ms <= 86400000 THEN 4 ELSE 5 END)::smallint
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION count_payment() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    ms    bigint := 0;
    speed smallint := 0;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF OLD.status = 'settled' THEN
            ms := settling_ms(OLD.settled_at, OLD.confirmed_at, OLD.claimed_at);
            speed := settling_speed(ms);
        END IF;
        INSERT INTO statistics_news VALUES (OLD.merchant_id, OLD.mode, (OLD.created_at AT TIME ZONE 'UTC')::date, OLD.type, OLD.fiat_currency,
            OLD.network, OLD.status, speed, -1, -OLD.fiat_amount, -OLD.transaction_usd, -OLD.credit_fee, -OLD.credit_payout, -ms);
    END IF;
    ms := 0;
    speed := 0;
    IF NEW.status = 'settled' THEN
        ms := settling_ms(NEW.settled_at, NEW.confirmed_at, NEW.claimed_at);
        speed := settling_speed(ms);
    END IF;
    INSERT INTO statistics_news VALUES (NEW.merchant_id, NEW.mode, (NEW.created_at AT TIME ZONE 'UTC')::date, NEW.type, NEW.fiat_currency,
        NEW.network, NEW.status, speed, 1, NEW.fiat_amount, NEW.transaction_usd, NEW.credit_fee, NEW.credit_payout, ms);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER payments_counted AFTER INSERT ON payments FOR EACH ROW EXECUTE FUNCTION count_payment();
CREATE TRIGGER payments_counted_anew AFTER UPDATE ON payments FOR EACH ROW
    WHEN ((OLD.status, OLD.network, OLD.fiat_amount, OLD.transaction_usd, OLD.credit_fee, OLD.credit_payout, OLD.settled_at)
        IS DISTINCT FROM (NEW.status, NEW.network, NEW.fiat_amount, NEW.transaction_usd, NEW.credit_fee, NEW.credit_payout, NEW.settled_at))
    EXECUTE FUNCTION count_payment();
