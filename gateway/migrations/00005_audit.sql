-- +goose Up

-- What an operator looks for: what somebody did, and what was done to something, newest first.
DROP INDEX audit_object;
CREATE INDEX audit_object ON audit (object, at DESC, id DESC);
CREATE INDEX audit_actor ON audit (actor, at DESC, id DESC);

-- The audit is kept for 24 months: audit_prepare also drops the months before.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_prepare() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    month timestamp; -- in UTC, so that no session's zone moves a border
    name  text;
BEGIN
    FOR ahead IN 0..2 LOOP
        month := date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => ahead);
        name := 'audit_' || to_char(month, 'YYYYMM');
        IF to_regclass('public.' || name) IS NULL THEN
            EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF audit FOR VALUES FROM (%L) TO (%L)',
                name, month AT TIME ZONE 'UTC', (month + interval '1 month') AT TIME ZONE 'UTC');
        END IF;
    END LOOP;
    FOR name IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'public.audit'::regclass AND c.relname ~ '^audit_[0-9]{6}$'
            AND c.relname < 'audit_' || to_char(date_trunc('month', now() AT TIME ZONE 'UTC') - interval '24 months', 'YYYYMM')
    LOOP
        EXECUTE format('DROP TABLE %I', name);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_prepare() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    month timestamp; -- in UTC, so that no session's zone moves a border
    name  text;
BEGIN
    FOR ahead IN 0..2 LOOP
        month := date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => ahead);
        name := 'audit_' || to_char(month, 'YYYYMM');
        IF to_regclass('public.' || name) IS NULL THEN
            EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF audit FOR VALUES FROM (%L) TO (%L)',
                name, month AT TIME ZONE 'UTC', (month + interval '1 month') AT TIME ZONE 'UTC');
        END IF;
    END LOOP;
END
$$;
-- +goose StatementEnd
DROP INDEX audit_actor;
DROP INDEX audit_object;
CREATE INDEX audit_object ON audit (object, at);
