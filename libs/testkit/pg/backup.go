//go:build integration

package pg

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

const (
	// A table that inherits has rows of its own, which its parent's are not; those of partitions are their parent's.
	backupSQL = `DO $$ DECLARE t text; alone text; BEGIN
	CREATE SCHEMA backup;
	FOR t, alone IN SELECT relname, CASE relkind WHEN 'r' THEN 'ONLY' ELSE '' END FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname NOT LIKE 'goose%' LOOP
		EXECUTE format('CREATE TABLE backup.%I AS TABLE %s public.%I', t, alone, t);
	END LOOP; END $$`
	restoreSQL = `DO $$ DECLARE t text; alone text; BEGIN
	SET LOCAL session_replication_role = replica; -- no trigger refuses
	FOR t, alone IN SELECT b.relname, CASE p.relkind WHEN 'r' THEN 'ONLY' ELSE '' END FROM pg_class b
		JOIN pg_class p ON p.relnamespace = 'public'::regnamespace AND p.relname = b.relname WHERE b.relnamespace = 'backup'::regnamespace LOOP
		EXECUTE format('DELETE FROM %s public.%I', alone, t);
		EXECUTE format('INSERT INTO public.%I OVERRIDING SYSTEM VALUE TABLE backup.%I', t, t);
	END LOOP; END $$`
)

// Backup keeps a consistent copy of the database's tables beside them, while others work on it, as pg_dump does.
func Backup(t testing.TB, url string) {
	t.Helper()
	within(t, url, backupSQL)
}

// Restore sets every table back to its state at Backup, except those in keep, which are another system's. No connected
// process may remember the time between.
func Restore(t testing.TB, url string, keep ...string) {
	t.Helper()
	statements := make([]string, 0, len(keep)+1)
	for _, table := range keep {
		statements = append(statements, "DROP TABLE "+pgx.Identifier{"backup", table}.Sanitize())
	}
	within(t, url, append(statements, restoreSQL)...)
}

// within runs statements in one transaction on one view of the database.
func within(t testing.TB, url string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), setupTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		for _, s := range statements {
			if _, err := tx.Exec(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("set a database aside or back: %v", err)
	}
}
