-- The leader sleeps while no payout is due and no address is used, and a row wakes it.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION work_wake() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NOTIFY work; RETURN NULL; END $$;
CREATE TRIGGER payouts_wake AFTER INSERT OR UPDATE OF next_at ON payouts FOR EACH STATEMENT
    WHEN (NOT pg_try_advisory_xact_lock_shared(hashtextextended('work asleep', 0))) EXECUTE FUNCTION work_wake();
CREATE TRIGGER address_usage_wake AFTER INSERT OR UPDATE ON address_usage FOR EACH STATEMENT
    WHEN (NOT pg_try_advisory_xact_lock_shared(hashtextextended('work asleep', 0))) EXECUTE FUNCTION work_wake();
-- +goose StatementEnd
