//go:build integration

package archive_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/payments/internal/fixture"
)

// attachAll attaches every payment of every archive.
func (w *past) attachAll() (failed error) {
	w.T.Helper()
	all, err := w.Store.Archives(w.T.Context())
	if err != nil {
		w.T.Fatal(err)
	}
	for _, a := range all {
		failed = errors.Join(failed, w.archiver().AttachAll(w.T.Context(), a.ID))
	}
	return failed
}

// A backup from before an archive, and one from after it, restore what they had. The month is archived again beside the
// folders of the first time.
func TestArchive_restored(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"from before": true, "from after": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := live(t)
			before, rows := w.answers(), w.hot()
			database := w.Config.URL.Reveal()
			want := len(w.over)
			if early {
				pg.Backup(t, database)
				w.archive()
				want = 0
			} else {
				w.archive()
				pg.Backup(t, database)
				if err := w.attachAll(); err != nil {
					t.Fatal(err)
				}
			}
			pg.Restore(t, database)
			if n := w.archived(); n != want {
				t.Errorf("%d payments archived, want %d", n, want)
			}
			same(t, before, w.answers())
			w.whole()
			w.archive()
			if n := w.archived(); n != len(w.over) {
				t.Errorf("%d payments archived by the next run, want %d: %q", n, len(w.over), w.lines)
			}
			if err := w.archiver().Verify(t.Context()); err != nil {
				t.Errorf("Verify() = %v, want no error", err)
			}
			folders, err := os.ReadDir(w.folder)
			if err != nil {
				t.Fatal(err)
			}
			unknown := slices.ContainsFunc(folders, func(f os.DirEntry) bool { return strings.Contains(f.Name(), ".unknown") })
			if unknown != early {
				t.Errorf("folders %v in %s, want one set aside: %t", folders, filepath.Base(w.folder), early)
			}
			same(t, before, w.answers())
			w.whole()
			if err := w.attachAll(); err != nil {
				t.Fatal(err)
			}
			if now := w.hot(); now != rows {
				t.Errorf("attached rows are\n%s\nwant\n%s", now, rows)
			}
		})
	}
}

// twice loads the rows of a backup over the tables, as a dump of another schema does that was not loaded into an empty
// database: what was archived since is there twice.
func (w *past) twice(ids ...string) {
	w.T.Helper()
	w.SQL(`DO $$ DECLARE t text; BEGIN
		SET LOCAL session_replication_role = replica;
		FOREACH t IN ARRAY '{payments,deposits,payouts,screenings,history_rows,ledger_accounts,ledger_journals,ledger_lines}'::text[] LOOP
			EXECUTE format('INSERT INTO %1$I OVERRIDING SYSTEM VALUE SELECT * FROM backup.%1$I b WHERE %2$s = ANY (%3$L) ON CONFLICT DO NOTHING', t,
				CASE t WHEN 'payments' THEN 'id' WHEN 'ledger_lines' THEN '(SELECT j.payment_id FROM backup.ledger_journals j WHERE j.id = b.journal_id)' ELSE 'payment_id' END,
				'{` + strings.Join(ids, ",") + `}');
		END LOOP; END $$`)
}

// Payments that a restore has left in the hot tables and in an archive are found, and are not archived a second time.
// One whose rows are the same is attached, and the books have it once; one whose rows differ is refused.
func TestArchive_twice(t *testing.T) {
	t.Parallel()
	w := live(t)
	before, rows := w.answers(), w.hot()
	pg.Backup(t, w.Config.URL.Reveal())
	w.archive()
	var ids []string
	for _, p := range w.over {
		ids = append(ids, p.ID)
	}
	w.twice(ids...)
	if n := fixture.Ask[int](w.Payments, `SELECT count(*) FROM ONLY payments p JOIN archived_payments a ON a.id = p.id`); n != len(ids) {
		t.Fatalf("%d payments are there twice, want %d", n, len(ids))
	}
	w.lines = nil
	w.archive()
	if want := fmt.Sprintf("%d twice", len(ids)); !strings.Contains(strings.Join(w.lines, "\n"), want) {
		t.Errorf("the archiver says %q, want %s", w.lines, want)
	}
	if err := w.archiver().Verify(t.Context()); err == nil || !strings.Contains(err.Error(), "are in the hot tables too") {
		t.Errorf("Verify() = %v, want payments that are there twice", err)
	}

	changed := w.over[0].ID
	w.SQL(`UPDATE deposits SET depth = depth + 1 WHERE payment_id = $1`, changed)
	if err := w.attachAll(); err == nil || !strings.Contains(err.Error(), "payment "+changed+" is in the hot tables and in archive") {
		t.Errorf("AttachAll() = %v, want %s refused", err, changed)
	}
	if n := w.archived(); n != 1 {
		t.Errorf("%d payments archived, want the changed one alone", n)
	}
	w.SQL(`UPDATE deposits SET depth = depth - 1 WHERE payment_id = $1`, changed)
	if err := w.archiver().Attach(t.Context(), changed); err != nil {
		t.Errorf("Attach() = %v, want no error", err)
	}
	if now := w.hot(); now != rows {
		t.Errorf("attached rows are\n%s\nwant\n%s", now, rows)
	}
	same(t, before, w.answers())
	w.whole()
	if err := w.archiver().Verify(t.Context()); err != nil {
		t.Errorf("Verify() = %v, want no error", err)
	}
	w.archive()
	if n := w.archived(); n != len(ids) {
		t.Errorf("%d payments archived again, want %d", n, len(ids))
	}
	same(t, before, w.answers())
	w.whole()
}
