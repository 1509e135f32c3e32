//go:build integration

package archive_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"causeway.internal/libs/id"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/payments/internal/archive"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/migrations"
)

// Late money is booked after later releases have changed the tables, and a payment is read then. Columns that were
// added have the table's defaults, or what the migration has kept.
func TestArchive_laterSchema(t *testing.T) {
	t.Parallel()
	w := live(t)
	p := w.over[0]
	migrate := func(sql string) {
		t.Helper()
		w.SQL(sql)
		w.Pool.Reset()
	}
	migrate(`ALTER TABLE deposits ADD COLUMN old text NOT NULL DEFAULT 'x', ADD COLUMN beside text;
		ALTER TABLE deposits ALTER COLUMN beside SET DEFAULT 'x'`)
	w.archive()
	migrate(`ALTER TABLE deposits DROP COLUMN old,
			ADD COLUMN empty text,
			ADD COLUMN preset text DEFAULT 'x',
			ADD COLUMN filled text NOT NULL DEFAULT 'x',
			ADD COLUMN noted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
			ADD COLUMN computed text GENERATED ALWAYS AS (asset || '!') STORED,
			ADD COLUMN moved text NOT NULL DEFAULT 'x';
		ALTER TABLE payments ADD COLUMN kind text NOT NULL DEFAULT 'x';
		ALTER TABLE payouts ALTER COLUMN attempt TYPE bigint;
		ALTER TABLE archived_payments DISABLE TRIGGER archived_payments_kept;
		UPDATE archived_payments SET kept = jsonb_set(kept, '{deposits}', (SELECT jsonb_agg(d || '{"moved": "kept"}') FROM jsonb_array_elements(kept -> 'deposits') d))
			WHERE kept -> 'deposits' <> '[]';
		ALTER TABLE archived_payments ENABLE TRIGGER archived_payments_kept`)
	if v := w.Find(p.Reference); len(v.Rows) != 1 || v.Payout == nil {
		t.Errorf("the payment has %d deposits and the payout %v, want one each", len(v.Rows), v.Payout)
	}
	w.See(p, fixture.Coin{Key: "late", Amount: "5", Version: 1, Depth: fixture.Enough})
	if !w.hotRow(p) {
		t.Fatal("late money does not attach the payment")
	}
	for column, want := range map[string]string{
		"beside": "null", "empty": "null", "preset": "x", "filled": "x", "noted_at IS NOT NULL": "true", "computed": "USDT!", "moved": "kept",
		"(SELECT kind FROM payments p WHERE p.id = payment_id)": "x", "(SELECT attempt FROM payouts o WHERE o.payment_id = d.payment_id)": "1",
	} {
		got := fixture.Ask[string](w.Payments, `SELECT coalesce((`+column+`)::text, 'null') FROM deposits d WHERE payment_id = $1 AND tx_hash <> 'late'`, p.ID)
		if got != want {
			t.Errorf("%s of the attached rows is %q, want %q", column, got, want)
		}
	}
	w.whole()
}

// Every column of the tables is in the files, unless it is personal.
func TestArchive_columns(t *testing.T) {
	t.Parallel()
	w := live(t)
	w.archive()
	raw, err := os.ReadFile(filepath.Join(w.folder, archive.Name(w.month(), 1), "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Tables []struct {
			Name    string
			Columns []string
		}
	}
	if err := json.Unmarshal(raw, &manifest); err != nil || len(manifest.Tables) != 8 {
		t.Fatalf("the manifest has %d tables, %v; want 8", len(manifest.Tables), err)
	}
	personal := []string{"payer", "payer_index", "receiver", "account_index", "metadata", "description", "token_hash"}
	for _, table := range manifest.Tables {
		all := strings.Split(fixture.Ask[string](w.Payments, `SELECT string_agg(attname, ' ') FROM pg_attribute
			WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped`, table.Name), " ")
		for _, column := range all {
			if slices.Contains(table.Columns, column) == slices.Contains(personal, column) {
				t.Errorf("%s of %s must be either in the files or personal", column, table.Name)
			}
		}
		if n := len(slices.Compact(slices.Sorted(slices.Values(table.Columns)))); n != len(table.Columns) {
			t.Errorf("%s has a column twice: %q", table.Name, table.Columns)
		}
	}
}

// Deposits that a pod of an earlier release took in for archived payments keep late money out of none.
func TestArchive_rowsOfEarlierRelease(t *testing.T) {
	t.Parallel()
	w := live(t)
	w.archive()
	fresh, again := w.over[2], w.over[0]
	const insert = `INSERT INTO deposits (mode, key, version, payment_id, family, network, address, asset, contract, tx_hash, amount, reverted, block_height,
		block_hash, first_seen_at, depth, finalized, senders) VALUES ('test', $2, 1, $1, 'tron', 'tron', $3, 'USDT', '', 'late', 5, false, 1, 'h', now(), 1, false, '{}')`
	late := w.Message(fresh, fixture.Coin{Key: "late", Amount: "5", Version: 2, Depth: fixture.Enough})
	w.SQL(insert, fresh.ID, late.Key, fresh.Address)
	key := fixture.Ask[string](w.Payments, `SELECT kept -> 'deposits' -> 0 ->> 'key' FROM archived_payments WHERE id = $1`, again.ID)
	w.SQL(insert, again.ID, key, again.Address)
	if err := w.Deposits.DepositChanged(t.Context(), id.New(id.Message, time.Now()), late); err != nil {
		t.Errorf("DepositChanged() = %v, want no error", err)
	}
	w.See(again, fixture.Coin{Key: "other", Amount: "5", Version: 1, Depth: fixture.Enough})
	for name, n := range map[string]int{
		"late deposits of the one": fixture.Ask[int](w.Payments, `SELECT count(*) FROM deposits WHERE payment_id = $1 AND booked <> ''`, fresh.ID),
		"deposits of the other":    fixture.Ask[int](w.Payments, `SELECT count(*) FROM deposits WHERE payment_id = $1 AND booked <> '' AND key = $2`, again.ID, key),
	} {
		if n != 1 {
			t.Errorf("%d %s are booked, want 1", n, name)
		}
	}
	w.whole()
}

// The application archives and attaches in its own role, which writes what is archived in no other way: the rows of the
// books stay, whatever it inserts.
func TestArchive_application(t *testing.T) {
	t.Parallel()
	w := born(t, fixture.Over(t, pg.Application(t, migrations.FS)))
	w.age()
	w.closed()
	before, rows := w.answers(), w.hot()
	w.archive()
	if n := w.archived(); n != len(w.over) {
		t.Fatalf("%d payments archived, want %d: %q", n, len(w.over), w.lines)
	}
	same(t, before, w.answers())
	name, one, fresh := `'`+archive.Name(w.month(), 1)+`'`, `'`+w.over[0].ID+`'`, `'`+w.cancelled().ID+`'`
	all := func() string {
		return w.hot() + fixture.Ask[string](w.Payments, `SELECT string_agg(p::text, ' ' ORDER BY id) FROM archived_payments p`) +
			fixture.Ask[string](w.Payments, `SELECT string_agg(c::text, ' ' ORDER BY account) FROM ledger_carried c`) +
			fixture.Ask[string](w.Payments, `SELECT string_agg(a::text, ' ' ORDER BY id) FROM archives a`)
	}
	held := all()
	for _, sql := range []string{
		`INSERT INTO archives (id, month, manifest, payments) VALUES ('x', now(), '', 0)`, `UPDATE archives SET manifest = ''`, `DELETE FROM archives`,
		`INSERT INTO archived_payments SELECT p.*, ` + name + `, now(), '{}', '{}' FROM ONLY payments p WHERE id = ` + fresh,
		`UPDATE archived_payments SET archived_at = now()`, `UPDATE archived_payments SET kept = '{}'`, `DELETE FROM archived_payments`, `TRUNCATE archived_payments`,
		`UPDATE payments SET fiat_amount = 1 WHERE id = ` + one, `DELETE FROM payments WHERE id = ` + one,
		`INSERT INTO payments SELECT p.* FROM payments p WHERE id = ` + one + `; DELETE FROM payments WHERE id = ` + one,
		`UPDATE ledger_carried SET debit = 0`, `DELETE FROM ledger_carried`, `INSERT INTO ledger_carried VALUES ('x', 'x', 1, 1, now())`,
		`UPDATE archived_journals SET journals = 0`, `DELETE FROM archived_journals`, `SELECT carry(ARRAY[` + one + `], 1)`,
		`INSERT INTO archive_members SELECT ` + name + `, id, payment_digest(id) FROM ONLY payments WHERE id = ` + fresh + `;
			SELECT archive_payment(` + fresh + `, ` + name + `, now() + interval '1 year', 1000000)`,
		`ALTER TABLE archived_payments DISABLE TRIGGER archived_payments_kept`, `DELETE FROM ledger_journals`, `DELETE FROM screenings`,
	} {
		_, err := w.Pool.Exec(t.Context(), sql)
		refused, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || !slices.Contains([]string{"42501", "23514", "P0001"}, refused.Code) { // no right, or a trigger
			t.Errorf("%s ends with %v, want a refusal", sql, err)
		}
	}
	if all() != held {
		t.Error("the application has changed what is archived")
	}
	w.SQL(`DELETE FROM payments WHERE id = ` + fresh)
	for _, number := range []int{1, 2} {
		if err := w.archiver().AttachAll(t.Context(), archive.Name(w.month(), number)); err != nil {
			t.Fatalf("AttachAll() = %v, want no error", err)
		}
	}
	if now := w.hot(); now != rows {
		t.Errorf("attached rows are\n%s\nwant\n%s", now, rows)
	}
	w.whole()
	w.archive()
	both, _ := w.resealed()
	if n, err := both.Reseal(t.Context()); err != nil || n == 0 {
		t.Errorf("Reseal() = %d, %v; want some", n, err)
	}
}
