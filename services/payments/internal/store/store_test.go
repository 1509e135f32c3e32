//go:build integration

package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"causeway.internal/libs/discard"
	"causeway.internal/libs/erasure"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/inbox"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/placed"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/store"
	"causeway.internal/services/payments/migrations"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQueriesPrepare(t *testing.T) {
	t.Parallel()
	pg.Listed(t, "Statements")
	pg.Prepare(t, pg.New(t, migrations.FS), store.Statements())
}

func TestMigrations_holdTheLibrariesTables(t *testing.T) {
	t.Parallel()
	pg.Holds(t, migrations.FS, outbox.Schema)
	pg.Holds(t, migrations.FS, outbox.WakeSchema)
	pg.Holds(t, migrations.FS, outbox.StoredSchema)
	pg.Holds(t, migrations.FS, "CREATE INDEX CONCURRENTLY "+outbox.NamesIndex)
	pg.Holds(t, migrations.FS, outbox.NewestSchema)
	pg.Holds(t, migrations.FS, outbox.InlineSchema)
	pg.Holds(t, migrations.FS, postgres.WorkSchema)
	pg.Holds(t, migrations.FS, inbox.Schema)
	pg.Holds(t, migrations.FS, discard.Schema)
	pg.Holds(t, migrations.FS, idempotency.Schema)
	pg.Holds(t, migrations.FS, presence.Schema)
	pg.Holds(t, migrations.FS, placed.Schema)
	pg.Holds(t, migrations.FS, erasure.Schema)
}

func TestMigrations_closeFunctions(t *testing.T) {
	t.Parallel()
	pg.Closed(t, pg.New(t, migrations.FS), migrations.FS)
}

func TestMigrations_fewIndexesOnPayments(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	// A create has no entry in the indexes of settled payments, of exceptions and of accounts, and one in that of
	// merchants' references only if it carries one.
	const all, most = `SELECT count(*) FROM pg_indexes WHERE tablename = 'payments'
AND indexname NOT IN ('payments_settled', 'payments_exception', 'payments_account', 'payments_merchant_reference')`, 7
	if n := fixture.Ask[int](w, all); n > most {
		t.Errorf("%d indexes on payments have an entry of each create, want at most %d", n, most)
	}
}

var equalDecimals = cmp.Comparer(func(a, b decimal.Decimal) bool { return a.Equal(b) })

// Every field that is read equals the written one.
func TestInsert_roundTrip(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(10)
	var written payment.Payment
	catch := &spy{Store: w.Store, seen: func(n change.Newborn) { written = n.Payment }}
	w.Intake.Store = catch
	a, err := w.Create(fixture.Command(), idempotency.Key{})
	if err != nil {
		t.Fatal(err)
	}
	read := w.Find(fixture.Reference(t, a.Body)).Payment
	written.Version = 1
	if diff := cmp.Diff(written, read, equalDecimals); diff != "" {
		t.Errorf("written and read differ:\n%s", diff)
	}
	if got := w.Events(read); !slices.Equal(got, []string{"1 payment.pending"}) {
		t.Errorf("events %v", got)
	}
	if got := fixture.Ask[string](w, `SELECT trigger || ' ' || from_state || ' ' || to_state FROM history WHERE payment_id = $1`, read.ID); got != "create none pending" {
		t.Errorf("history %q", got)
	}
}

// Look-ups that come together share a statement, and each owner finds its own payments of its mode alone.
func TestFind_together(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	quiet, paid := w.Make(fixture.Command()), w.Make(fixture.Command())
	w.See(paid, fixture.Coin{Key: "t", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	live, other := fixture.Owner, fixture.Owner
	live.Mode, other.MerchantID = tenant.Live, "m2"
	asks := []struct {
		name      string
		owner     tenant.Owner
		reference string
		found     bool
		transfers int
	}{
		{"an owner's", fixture.Owner, quiet.Reference, true, 0},
		{"one with money", fixture.Owner, paid.Reference, true, 1},
		{"another merchant's", other, quiet.Reference, false, 0},
		{"one of the other mode", live, paid.Reference, false, 0},
		{"an unknown one", fixture.Owner, "CW-000000000000", false, 0},
		{"the same again", fixture.Owner, quiet.Reference, true, 0},
	}
	held, waiting, release := w.Store.Reads()
	var callers sync.WaitGroup
	callers.Go(func() { w.Find(quiet.Reference) })
	<-held
	for _, a := range asks {
		callers.Go(func() {
			v, err := w.Store.Find(t.Context(), a.owner, a.reference)
			if !a.found {
				if !errors.Is(err, change.ErrNotFound) || v.Payment.Reference != "" {
					t.Errorf("find %s among others = %s, %v; want not found", a.name, v.Payment.Reference, err)
				}
				return
			}
			if err != nil || v.Payment.Reference != a.reference || len(v.Rows) != a.transfers {
				t.Errorf("find %s among others = %s with %d transfers, %v; want %s with %d", a.name, v.Payment.Reference, len(v.Rows), err, a.reference, a.transfers)
			}
		})
	}
	until(w, func() bool { return waiting() == len(asks) })
	release()
	callers.Wait()
}

type spy struct {
	*store.Store
	seen func(change.Newborn)
}

func (s *spy) Insert(ctx context.Context, n change.Newborn) error {
	s.seen(n)
	return s.Store.Insert(ctx, n)
}

func TestLedger_refusesWhatDoesNotBalance(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	for name, text := range map[string]string{
		"unbalanced": `WITH j AS (INSERT INTO ledger_journals (key, event) VALUES ('a', 'e') RETURNING id)
			INSERT INTO ledger_entries SELECT id, n, 'x', 'NGN', s, a FROM j, (VALUES (1, 'debit', 2), (2, 'credit', 1)) v(n, s, a)`,
		"two assets": `WITH j AS (INSERT INTO ledger_journals (key, event) VALUES ('b', 'e') RETURNING id)
			INSERT INTO ledger_entries SELECT id, n, 'x', c, s, 1 FROM j, (VALUES (1, 'debit', 'NGN'), (2, 'credit', 'GHS')) v(n, s, c)`,
		"empty": `INSERT INTO ledger_journals (key, event) VALUES ('c', 'e')`,
		"unbalanced beside one that balances": `WITH j AS (INSERT INTO ledger_journals (key, event) VALUES ('f', 'e'), ('g', 'e') RETURNING id, key)
			INSERT INTO ledger_entries SELECT id, n, 'x', 'NGN', s, a FROM j, (VALUES ('f', 1, 'debit', 1), ('f', 2, 'credit', 1), ('g', 1, 'debit', 1)) v(k, n, s, a) WHERE k = key`,
		"empty beside one that is not": `WITH j AS (INSERT INTO ledger_journals (key, event) VALUES ('h', 'e'), ('i', 'e') RETURNING id, key)
			INSERT INTO ledger_entries SELECT id, n, 'x', 'NGN', s, 1 FROM j, (VALUES (1, 'debit'), (2, 'credit')) v(n, s) WHERE key = 'h'`,
		"unbalanced in its row": `INSERT INTO ledger_journals (key, event, accounts, assets, amounts) VALUES
			('k', 'e', '{x,y}', '{NGN,NGN}', '{2,-2}'), ('l', 'e', '{x,y}', '{NGN,NGN}', '{2,-1}')`,
		"of two assets in its row": `INSERT INTO ledger_journals (key, event, accounts, assets, amounts) VALUES ('m', 'e', '{x,y}', '{NGN,GHS}', '{1,-1}')`,
		"of a merchant in its row": `INSERT INTO ledger_journals (key, event, accounts, assets, amounts)
			VALUES ('o', 'e', '{x,test:merchant:m:NGN}', '{NGN,NGN}', '{1,-1}')`,
	} {
		if _, err := w.Pool.Exec(t.Context(), text); err == nil || !strings.Contains(err.Error(), "does not balance") {
			t.Errorf("insert a journal that is %s = %v, want it refused because it does not balance", name, err)
		}
	}
	for name, values := range map[string]string{
		"an amount of zero": `'{x,y,z}', '{NGN,NGN,NGN}', '{1,-1,0}'`, "no number": `'{x,y}', '{NGN,NGN}', '{NaN,-1}'`, "no account": `'{x,NULL}', '{NGN,NGN}', '{1,-1}'`,
		"one entry": `'{x}', '{NGN}', '{1}'`, "fewer amounts": `'{x,y}', '{NGN,NGN}', '{1}'`, "amounts alone": `NULL, NULL, '{1,-1}'`, "no assets": `'{x,y}', NULL, '{1,-1}'`,
	} {
		if _, err := w.Pool.Exec(t.Context(), `INSERT INTO ledger_journals (key, event, accounts, assets, amounts) VALUES ('p', 'e', `+values+`)`); err == nil ||
			!strings.Contains(err.Error(), "ledger_journals_entries") {
			t.Errorf("insert a journal with %s in its row = %v, want it refused", name, err)
		}
	}
	w.SQL(`WITH j AS (INSERT INTO ledger_journals (key, event) VALUES ('d', 'e') RETURNING id)
		INSERT INTO ledger_entries SELECT id, n, 'x', 'NGN', s, 1 FROM j, (VALUES (1, 'debit'), (2, 'credit')) v(n, s)`)
	if _, err := w.Pool.Exec(t.Context(), `INSERT INTO ledger_entries SELECT id, 3, 'x', 'NGN', 'debit', 1 FROM ledger_journals`); err == nil ||
		!strings.Contains(err.Error(), "does not balance") {
		t.Errorf("add one entry to a journal that balances = %v, want it refused because it does not balance", err)
	}
	for _, text := range []string{
		`UPDATE ledger_lines SET amount = 2`, `DELETE FROM ledger_lines`, `TRUNCATE ledger_lines`,
		`UPDATE ledger_journals SET key = 'x'`, `DELETE FROM ledger_journals`, `TRUNCATE ledger_journals`,
		`TRUNCATE history_rows`,
	} {
		if _, err := w.Pool.Exec(t.Context(), text); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s = %v, want it refused because the table is append-only", text, err)
		}
	}
}

// A request on a payment that another change has locked is refused as busy and changes nothing.
func TestUpdate_ofAPaymentThatIsHeld(t *testing.T) {
	t.Parallel()
	w := fixture.Over(t, pg.Config(t, migrations.FS).With("lock_timeout", "2s"))
	w.Fill(4)
	p := w.Make(fixture.Command())
	held, err := w.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := held.Exec(t.Context(), `SELECT FROM payments WHERE id = $1 FOR UPDATE`, p.ID); err != nil {
		t.Fatal(err)
	}
	_, err = w.Merchants.Cancel(t.Context(), fixture.Owner, p.Reference, idempotency.Key{})
	if f := fault.As(err); f.Code != "busy" || f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
		t.Errorf("cancelled beside another change: %v", err)
	}
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.Status(p); got != "pending" {
		t.Errorf("status %s", got)
	}
}

// The body of an event lies in its row, and in no table of long values beside it.
func TestOutbox_bodyInItsRow(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.SQL(`INSERT INTO outbox (name, message_id, headers, body) SELECT 'n', 'm' || n, '{}', (SELECT string_agg(sha256(n::text::bytea || i::text::bytea), '') FROM generate_series(1, 190) i)
		FROM generate_series(1, 3) n`)
	if got := fixture.Ask[string](w, `SELECT string_agg(length(body)::text, ' ') FROM outbox`); got != "6080 6080 6080" {
		t.Errorf("bodies of %s bytes, want three of 6080", got)
	}
	if n := fixture.Ask[int](w, `SELECT pg_relation_size(reltoastrelid)::int FROM pg_class WHERE oid = 'outbox'::regclass`); n != 0 {
		t.Errorf("%d bytes lie beside the rows, want none", n)
	}
}
