package postgres

// rights are the grants that an owner makes before it migrates: only the application may enter the database, and it
// reads and writes the rows of every table, those of later migrations too, unless a migration says otherwise. It can
// neither create nor alter nor truncate. The owner of a database may grant all this, so the administrator who creates
// databases grants nothing. The two roles have matching names: payments_owner and payments_app. An owner with another
// name has no application beside it.
//
// The loop handles the tables of earlier migrations. It skips those that the application may read, because two sessions
// that change the same row of the catalogue fail, and because a migration may have taken rights to write away.
const rights = `
DO $$
DECLARE
    app     text := regexp_replace(current_user, '_owner$', '_app');
    db      text := current_database();
    missing text;
BEGIN
    IF app = current_user THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('causeway rights'));
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', db);
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', db, app);
    REVOKE ALL ON SCHEMA public FROM PUBLIC;
    EXECUTE format('GRANT USAGE ON SCHEMA public TO %I', app);
    EXECUTE format('ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %I', app);
    EXECUTE format('ALTER DEFAULT PRIVILEGES GRANT USAGE, SELECT ON SEQUENCES TO %I', app);
    EXECUTE format('ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO %I', app);
    ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
    FOR missing IN
        SELECT format('SELECT, INSERT, UPDATE, DELETE ON TABLE %s', oid::regclass) FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relowner = current_user::regrole AND relkind IN ('r', 'p', 'v', 'm')
            AND NOT has_table_privilege(app, oid, 'SELECT')
        UNION ALL
        SELECT format('USAGE, SELECT ON SEQUENCE %s', oid::regclass) FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relowner = current_user::regrole AND relkind = 'S'
            AND NOT (has_sequence_privilege(app, oid, 'USAGE') AND has_sequence_privilege(app, oid, 'SELECT'))
        UNION ALL
        SELECT format('EXECUTE ON FUNCTION %s', oid::regprocedure) FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND proowner = current_user::regrole
            AND NOT has_function_privilege(app, oid, 'EXECUTE')
    LOOP
        EXECUTE format('GRANT %s TO %I', missing, app);
    END LOOP;
END
$$`
