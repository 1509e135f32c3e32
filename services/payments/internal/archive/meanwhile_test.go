//go:build integration

package archive_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/erasure"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/version"
	"causeway.internal/services/payments/internal/archive"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/store"
)

var payer = store.Payer{MerchantID: "m1", Mode: tenant.Test, ChatID: "chat-1"}

// noted is a decision that attaches a payment and changes nothing of it.
func noted(change.View, time.Time) (change.Result, error) {
	return change.Result{Audit: &change.AuditNote{Operator: "ada", Action: "payment.noted"}}, nil
}

// readBack makes an archive whose files were read back. Nothing is moved.
func (w *past) readBack() (name string) {
	w.T.Helper()
	a := w.archiver()
	a.PartMost = 50
	a.Step = func(name string) error {
		if name == "confirmed" {
			return errKilled
		}
		return nil
	}
	if err := a.Run(w.T.Context(), w.month()); !errors.Is(err, errKilled) {
		w.T.Fatalf("Run() = %v, want %v", err, errKilled)
	}
	return archive.Name(w.month(), 1)
}

// moving begins a transaction that moves a payment.
func (w *past) moving(name string, p payment.Payment) pgx.Tx {
	w.T.Helper()
	tx, err := w.Pool.Begin(w.T.Context())
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(w.T.Context())) })
	var moved, why string
	err = tx.QueryRow(w.T.Context(), `SELECT payment, why FROM archive_payments($1,
		coalesce((SELECT max(payment_id) FROM archive_members WHERE archive = $1 AND payment_id < $2), ''), $3, 1000000, 1)`,
		name, p.ID, w.now.AddDate(0, 0, -90)).Scan(&moved, &why)
	if err != nil || moved != p.ID || why != "" {
		w.T.Fatalf("archive_payments() = %s %q, %v; want %s", moved, why, err, p.ID)
	}
	return tx
}

// waited returns once a session waits for a lock.
func (w *past) waited() {
	w.T.Helper()
	for deadline := time.Now().Add(10 * time.Second); !fixture.Ask[bool](w.Payments, `SELECT EXISTS (SELECT FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock')`); {
		if time.Now().After(deadline) {
			w.T.Fatal("nobody waits for a lock")
		}
	}
}

// during runs f while a transaction moves a payment, and commits that once f waits for it.
func (w *past) during(name string, p payment.Payment, f func()) {
	w.T.Helper()
	tx := w.moving(name, p)
	var all sync.WaitGroup
	all.Go(f)
	w.waited()
	if err := tx.Commit(w.T.Context()); err != nil {
		w.T.Fatal(err)
	}
	all.Wait()
}

// An erasure that waits for a payment which is being archived erases the account of its payout too. The payment has no
// metadata, so that a statement which erases nothing but persons is not refused.
func TestArchive_erasureMeanwhile(t *testing.T) {
	t.Parallel()
	w := young(t)
	bare := fixture.Command()
	bare.Metadata = nil
	p := w.paid(w.Make(bare))
	w.Pay(p)
	w.age()
	w.closed()
	before := fixture.Ask[string](w.Payments, `SELECT receiver::text FROM payouts WHERE payment_id = $1`, p.ID)
	w.during(w.readBack(), p, func() {
		if _, err := w.Store.AskErasure(t.Context(), "ada", payer, erasure.Retention{}); err != nil {
			t.Errorf("AskErasure() = %v, want no error", err)
		}
	})
	if !w.hotRow(p) || !fixture.Ask[bool](w.Payments, `SELECT payer IS NULL FROM payments WHERE id = $1`, p.ID) {
		t.Error("the payer is not erased")
	}
	if after := fixture.Ask[string](w.Payments, `SELECT receiver::text FROM payouts WHERE payment_id = $1`, p.ID); after == before {
		t.Error("the account of the payout is not erased")
	}
	w.whole()
}

// The law keeps the payer of a live payment that got money, also while the payment is archived.
func TestArchive_lawMeanwhile(t *testing.T) {
	t.Parallel()
	w := young(t)
	p := w.over[2]
	w.age()
	w.closed()
	if done, err := w.Store.AskErasure(t.Context(), "ada", payer, erasure.Retention{Laundering: time.Hour, Copies: time.Hour}); err != nil || done.Copied == 0 {
		t.Fatalf("AskErasure() = %+v, %v; want some that wait for copies", done, err)
	}
	w.SQL(`UPDATE payments SET mode = 'live' WHERE id = $1`, p.ID)
	w.SQL(`INSERT INTO deposits (mode, key, version, payment_id, family, network, address, asset, contract, tx_hash, amount, reverted, block_height, block_hash,
		first_seen_at, depth, finalized, senders, screening)
		VALUES ('live', 'k', 1, $1, 'tron', 'tron', 'T', 'USDT', '', 'h', 1, false, 1, '', now(), 1, true, '{}', 'clear')`, p.ID)
	w.during(w.readBack(), p, func() {
		if err := w.Store.EraseDue(t.Context(), erasure.Retention{Laundering: 5 * 365 * 24 * time.Hour, Copies: time.Microsecond}); err != nil {
			t.Errorf("EraseDue() = %v, want no error", err)
		}
	})
	if fixture.Ask[bool](w.Payments, `SELECT payer IS NULL FROM payments WHERE id = $1`, p.ID) {
		t.Error("the payer of a live payment with money is erased five years too early")
	}
	if wait := fixture.Ask[string](w.Payments, `SELECT wait FROM erasure_payments WHERE payment_id = $1`, p.ID); wait != "law" {
		t.Errorf("the payment waits for %q, want law", wait)
	}
}

// A run ends although somebody has locked a payment. The next run takes it.
func TestArchive_busy(t *testing.T) {
	t.Parallel()
	w := live(t)
	tx, err := w.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `SELECT FROM ONLY payments WHERE id = $1 FOR UPDATE`, w.over[0].ID); err != nil {
		t.Fatal(err)
	}
	w.archive()
	if n := w.archived(); n != len(w.over)-1 || !slices.ContainsFunc(w.lines, func(l string) bool { return strings.Contains(l, "1 busy") }) {
		t.Errorf("%d payments archived, %q; want all but one", n, w.lines)
	}
	if all, err := w.Store.Archives(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%d archives, %v; want 2", len(all), err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.archive()
	if n := w.archived(); n != len(w.over) {
		t.Errorf("%d payments archived, want %d", n, len(w.over))
	}
	w.whole()
}

// An export that has begun before an archive is whole, or fails.
func TestArchive_exportMeanwhile(t *testing.T) {
	t.Parallel()
	w := live(t)
	begun, err := w.Books.Journals(t.Context(), tenant.Test, w.month())
	if err != nil {
		t.Fatal(err)
	}
	w.archive()
	if err := begun(t.Context(), &bytes.Buffer{}); !errors.Is(err, books.ErrMonthArchived) {
		t.Errorf("an export whose journals were archived meanwhile ends with %v, want %v", err, books.ErrMonthArchived)
	}
}

// A journal belongs to the month of the close that has it. The export of that month is refused, and not the one of its
// time.
func TestArchive_exportOfNextMonth(t *testing.T) {
	t.Parallel()
	w := young(t)
	w.age()
	next := w.month().AddDate(0, 1, 0)
	for _, c := range []struct {
		day, last string
	}{{next.AddDate(0, 0, -1).Format(time.DateOnly), "min"}, {next.Format(time.DateOnly), "max"}} {
		w.SQL(`INSERT INTO ledger_closes (day, last_journal) SELECT $1::text::date, `+c.last+`(id) - CASE '`+c.last+`' WHEN 'min' THEN 1 ELSE 0 END FROM ledger_journals`, c.day)
		w.SQL(`INSERT INTO treasury_closes (day, mode, report) SELECT $1::text::date, m, '{}' FROM unnest('{live,test}'::text[]) m`, c.day)
	}
	export := func(month time.Time) (string, error) {
		report, err := w.Books.Journals(t.Context(), tenant.Test, month)
		if err != nil {
			return "", err
		}
		var b bytes.Buffer
		err = report(t.Context(), &b)
		return b.String(), err
	}
	if whole, err := export(next); err != nil || strings.Count(whole, "\n") < 20 {
		t.Fatalf("the export of the next month is %s, %v", whole, err)
	}
	w.archive()
	if _, err := export(next); !errors.Is(err, books.ErrMonthArchived) {
		t.Errorf("the export of the next month = %v, want %v", err, books.ErrMonthArchived)
	}
	if _, err := export(w.month()); err != nil {
		t.Errorf("the export of a month without journals = %v, want no error", err)
	}
}

// A payment that several change at once is found by each of them: one attaches it.
func TestArchive_attachedByAnother(t *testing.T) {
	t.Parallel()
	w := live(t)
	for range 3 {
		w.archive()
		for _, p := range w.over {
			var all sync.WaitGroup
			begin := make(chan struct{})
			for range 6 {
				all.Go(func() {
					<-begin
					if err := w.Store.UpdateOnce(t.Context(), p.ID, idempotency.Key{}, noted); err != nil {
						t.Errorf("UpdateOnce() = %v, want no error", err)
					}
				})
			}
			close(begin)
			all.Wait()
		}
	}
	w.whole()
}

// Late money of a payment whose refund marked no deposit is late money, archived or not.
func TestArchive_lateMoneyOfRefund(t *testing.T) {
	t.Parallel()
	end := func(archived bool) string {
		w := live(t)
		p := w.over[3] // refunded by an operator
		w.SQL(`UPDATE deposits SET refunded = 0 WHERE payment_id = $1`, p.ID)
		if archived {
			w.archive()
			if w.hotRow(p) {
				t.Fatal("the payment is not archived")
			}
		}
		w.See(p, fixture.Coin{Key: "late", Amount: "5", Version: 1, Depth: fixture.Enough})
		return fixture.Ask[string](w.Payments, `SELECT concat_ws(' ', booked, booked_amount, refunded) FROM deposits WHERE payment_id = $1 AND tx_hash = 'late'`, p.ID)
	}
	if never, late := end(false), end(true); never != late {
		t.Errorf("late money of an archived payment is %q, want %q", late, never)
	}
}

// A payment that is moved holds no carried balance until the end of its batch, so an attach does not wait for it.
func TestArchive_carriedMeanwhile(t *testing.T) {
	t.Parallel()
	w := young(t)
	w.age()
	var back, first, second payment.Payment
	for _, c := range []struct {
		p        *payment.Payment
		accounts string
	}{{&back, "{test:gas:A,test:gas:C}"}, {&first, "{test:gas:C,test:gas:D}"}, {&second, "{test:gas:A,test:gas:B}"}} {
		w.NextMillisecond()
		*c.p = w.cancelled()
		w.SQL(`INSERT INTO ledger_journals (key, event, payment_id, accounts, assets, amounts) VALUES ($1, 'x', $1, $2::text[], '{A,A}', '{1,-1}')`, c.p.ID, c.accounts)
	}
	w.SQL(`INSERT INTO deposits (mode, key, version, payment_id, family, network, address, asset, contract, tx_hash, amount, reverted, block_height, block_hash,
		first_seen_at, depth, finalized, senders) VALUES ('test', 'k', 1, $1, 'tron', 'tron', 'T', 'USDT', '', 'h', 1, true, 1, '', now(), 1, true, '{}')`, second.ID)
	w.closed()
	name := w.readBack()
	if err := w.moving(name, back).Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	held, err := w.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := held.Exec(t.Context(), `SELECT FROM deposits WHERE payment_id = $1 FOR UPDATE`, second.ID); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		if _, whys, err := w.Store.MoveArchived(t.Context(), name, "", w.now.AddDate(0, 0, -90), 50); err != nil {
			t.Errorf("MoveArchived() = %q, %v; want no error", whys, err)
		}
	})
	w.waited()
	if attached, err := w.Store.AttachPayment(t.Context(), "ada", back.ID); err != nil || !attached {
		t.Errorf("AttachPayment() = %v, %v; want true", attached, err)
	}
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	for account, want := range map[string]string{"test:gas:A": "1 0", "test:gas:B": "0 1", "test:gas:C": "1 0", "test:gas:D": "0 1"} {
		if got := fixture.Ask[string](w.Payments, `SELECT debit + 0 || ' ' || credit + 0 FROM ledger_carried WHERE account = $1`, account); got != want {
			t.Errorf("%s carries %s, want %s", account, got, want)
		}
	}
}

// Nothing is archived while a process of another release has reported within a minute.
func TestArchive_otherReleases(t *testing.T) {
	t.Parallel()
	w := live(t)
	report := func(name, number string, ago time.Duration) {
		w.SQL(`INSERT INTO processes (name, role, version, revision, started_at, ready, checks, queues, told_at)
			VALUES ($1, 'work', $2, $3, now(), true, '[]', '[]', now() - $4 * interval '1 second')`, name, number, version.Read().Revision, ago.Seconds())
	}
	report("this", version.Read().Version, 0)
	report("gone", "v0.1.0", 2*time.Minute)
	report("earlier", "v0.1.0", 0)
	err := w.archiver().Run(t.Context(), w.month())
	if !errors.Is(err, archive.ErrOtherReleases) || !strings.Contains(err.Error(), "earlier v0.1.0") || strings.Contains(err.Error(), "gone") || w.archived() != 0 {
		t.Errorf("Run() = %v, %d archived; want %v of one process, and none", err, w.archived(), archive.ErrOtherReleases)
	}
	w.SQL(`DELETE FROM processes WHERE name = 'earlier'`)
	w.archive()
	if n := w.archived(); n != len(w.over) {
		t.Errorf("%d payments archived, want %d", n, len(w.over))
	}
}

// resealed opens stores over the database: with a second master key before the first, and with the second alone.
func (w *past) resealed() (both, alone *store.Store) {
	w.T.Helper()
	encode := base64.StdEncoding.EncodeToString
	open := func(keys string) *store.Store {
		ring, err := keyring.Parse(keys)
		if err != nil {
			w.T.Fatal(err)
		}
		return store.New(w.Pool, store.Options{Keys: ring, Log: telemetrytest.ForTest(w.T).Log})
	}
	second := "k2:" + encode(bytes.Repeat([]byte("x"), 32))
	return open(second + ",k1:" + encode(make([]byte, 32))), open(second)
}

// Persons of archived payments are sealed again under another master key, archived or back.
func TestArchive_resealed(t *testing.T) {
	t.Parallel()
	w := live(t)
	w.archive()
	both, alone := w.resealed()
	if n, err := both.Reseal(t.Context()); err != nil || n == 0 {
		t.Fatalf("Reseal() = %d, %v; want some", n, err)
	}
	if n, err := both.Reseal(t.Context()); err != nil || n != 0 {
		t.Errorf("Reseal() = %d, %v; want 0", n, err)
	}
	for _, p := range w.over {
		if v, err := alone.FindAny(t.Context(), p.Reference); err != nil || v.Payout != nil && v.Payout.AccountNumber == "" {
			t.Errorf("the second key reads %+v, %v", v.Payout, err)
		}
		if attached, err := alone.AttachPayment(t.Context(), "ada", p.ID); err != nil || !attached {
			t.Errorf("AttachPayment() = %v, %v; want true", attached, err)
		}
		if _, err := alone.FindAny(t.Context(), p.Reference); err != nil {
			t.Errorf("the second key reads an attached payment: %v", err)
		}
	}
	w.whole()
}

// One run seals the persons of a payment that is attached meanwhile.
func TestArchive_resealedMeanwhile(t *testing.T) {
	t.Parallel()
	w := live(t)
	w.archive()
	both, alone := w.resealed()
	p := w.over[0]
	tx, err := w.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `SELECT attach_payment($1)`, p.ID); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := both.Reseal(t.Context()); err != nil {
			t.Errorf("Reseal() = %v, want no error", err)
		}
	})
	w.waited()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if _, err := alone.FindAny(t.Context(), p.Reference); err != nil {
		t.Errorf("the second key reads the payment: %v", err)
	}
}

// A change that attaches a payment is counted, and leaves a line in the log.
func TestArchive_logged(t *testing.T) {
	t.Parallel()
	w := live(t)
	w.archive()
	var out bytes.Buffer
	counted := 0
	s := store.New(w.Pool, store.Options{Keys: w.Deps.Keys, Attached: func() { counted++ }, Log: slog.New(slog.NewTextHandler(&out, nil))})
	for range 2 {
		if err := s.Update(t.Context(), w.over[0].ID, noted); err != nil {
			t.Fatal(err)
		}
	}
	if line := `msg="archived payment attached" payment_id=` + w.over[0].ID; counted != 1 || strings.Count(out.String(), line) != 1 {
		t.Errorf("%d attached, the log is %q; want one, and one line with %s", counted, out.String(), line)
	}
}
