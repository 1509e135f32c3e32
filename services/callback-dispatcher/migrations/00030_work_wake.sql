-- The leader sleeps while no delivery is due and no replay runs, and a row wakes it. A successful first attempt writes no
-- lane.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION work_wake() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NOTIFY work; RETURN NULL; END $$;
CREATE TRIGGER lane_wake AFTER INSERT OR UPDATE OF due_at, held, probe_at ON lane FOR EACH STATEMENT
    WHEN (NOT pg_try_advisory_xact_lock_shared(hashtextextended('work asleep', 0))) EXECUTE FUNCTION work_wake();
CREATE TRIGGER replay_wake AFTER INSERT OR UPDATE OF state ON replay FOR EACH STATEMENT
    WHEN (NOT pg_try_advisory_xact_lock_shared(hashtextextended('work asleep', 0))) EXECUTE FUNCTION work_wake();
-- +goose StatementEnd
