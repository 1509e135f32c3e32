package postgres

// CloseFunctions revokes every function of a schema's owner from PUBLIC, to which PostgreSQL grants each new one, also
// those that run with the owner's rights. Roles that read and write rows keep them. Every service runs it in a
// migration, word for word; a test of the service asserts it with testkit. It covers functions of later migrations.
const CloseFunctions = `-- +goose StatementBegin
DO $$
DECLARE
    reader text;
    func   regprocedure;
BEGIN
    FOR reader IN SELECT DISTINCT grantee FROM information_schema.role_table_grants
        WHERE table_schema = 'public' AND grantee NOT IN ('PUBLIC', current_user) LOOP
        FOR func IN SELECT oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proowner = current_user::regrole LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', func, reader);
        END LOOP;
        EXECUTE format('ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO %I', reader);
    END LOOP;
    FOR func IN SELECT oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proowner = current_user::regrole LOOP
        -- unused since: v0.1.0, whose roles have the right by name; PUBLIC needs it nowhere
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', func);
    END LOOP;
    -- unused since: v0.1.0
    ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
END
$$;
-- +goose StatementEnd`
