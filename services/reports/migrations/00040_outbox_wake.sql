-- The relay of the outbox sleeps while nobody writes, and a row wakes it.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION outbox_wake() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NOTIFY outbox; RETURN NULL; END $$;
CREATE TRIGGER outbox_wake AFTER INSERT ON outbox FOR EACH STATEMENT
    WHEN (NOT pg_try_advisory_xact_lock_shared(hashtextextended('outbox asleep', 0))) EXECUTE FUNCTION outbox_wake();
-- +goose StatementEnd
