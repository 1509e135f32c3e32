//go:build integration

package store_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/holdup"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/reports/internal/report"
)

// filed is the answer to a filing.
type filed struct {
	idempotency.Answer
	err error
}

func keyed(key string) idempotency.Key {
	return idempotency.Key{Scope: "acme test POST", Key: key, Hash: sha256.Sum256([]byte("body"))}
}

func filing(w *fixture, o tenant.Owner, f report.Filing, key string) func() (idempotency.Answer, error) {
	f.Kind, f.Name = "fraud", "Ada Obi"
	return func() (idempotency.Answer, error) {
		if key == "" {
			return w.try(w.t.Context(), o, f, idempotency.Key{})
		}
		return w.try(w.t.Context(), o, f, keyed(key))
	}
}

// atOnce makes filings wait behind a first one until all are there.
func atOnce(w *fixture, filings ...func() (idempotency.Answer, error)) []filed {
	w.t.Helper()
	held, waiting, release := w.store.Births()
	out := make([]filed, len(filings))
	var callers sync.WaitGroup
	var ended atomic.Int32 // those that are answered before they are written
	callers.Go(func() {
		if _, err := filing(w, acme, report.Filing{Phone: "999999"}, "")(); err != nil {
			w.t.Errorf("the first filing: %v, want no error", err)
		}
	})
	<-held
	for i, f := range filings {
		callers.Go(func() {
			out[i].Answer, out[i].err = f()
			ended.Add(1)
		})
	}
	holdup.Until(w.t, func() bool { return waiting()+int(ended.Load()) == len(filings) })
	release()
	callers.Wait()
	return out
}

// transactions is in how many transactions reports were written.
func transactions(w *fixture, all []filed) int {
	w.t.Helper()
	var references []string
	for _, f := range all {
		references = append(references, parse(w.t, f.Body).Data.Report.ReportID)
	}
	return ask[int](w, `SELECT count(DISTINCT xmin::text) FROM reports WHERE reference = ANY($1)`, references)
}

// Reports that come together are one transaction, and each is as if it had come alone.
func TestInsert_together(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.FloodPerHour = 3
	other := tenant.Owner{MerchantID: "other", KeyID: 8, Mode: tenant.Live}
	filings := []struct {
		owner tenant.Owner
		report.Filing
		key string
	}{
		{acme, report.Filing{Phone: "111111", Wallet: "0xAA", Fraudster: "0xBAD", Text: "two \"words\", {a brace} and ẹ̀kọ́"}, "k1"},
		{acme, report.Filing{Phone: "111111", Fraudster: "0xbad"}, "k2"},
		{acme, report.Filing{Wallet: "0xaa", Fraudster: "TX"}, ""},
		{other, report.Filing{Phone: "222222", Fraudster: "0xBAD"}, "k4"},
		{acme, report.Filing{Phone: "111111", Wallet: "0xAA", Fraudster: "0xBAD"}, ""},
	}
	var calls []func() (idempotency.Answer, error)
	for _, f := range filings {
		calls = append(calls, filing(w, f.owner, f.Filing, f.key))
	}
	answers := atOnce(w, calls...)
	for i, a := range answers {
		if a.err != nil {
			t.Fatalf("filing %d of five that came together: %v, want no error", i, a.err)
		}
		r := parse(t, a.Body).Data.Report
		if f := filings[i]; r.MerchantID != f.owner.MerchantID || r.APIKeyID != f.owner.KeyID || text(r.PhoneNumber) != f.Phone ||
			text(r.WalletAddress) != f.Wallet || text(r.FraudsterWalletAddress) != f.Fraudster || text(r.Description) != f.Text {
			t.Errorf("filing %d was answered with %+v, want its own report", i, r)
		}
		kept, err := w.store.Find(t.Context(), []tenant.Mode{filings[i].owner.Mode}, r.ReportID)
		if err != nil || kept.ID != r.ID || kept.Phone != filings[i].Phone || kept.Fraudster != filings[i].Fraudster || kept.Text != filings[i].Text {
			t.Errorf("report %d is kept as %+v, %v; want it as it was answered", i, kept, err)
		}
	}
	if n := transactions(w, answers); n != 1 {
		t.Errorf("five filings that came together were written in %d transactions, want 1", n)
	}
	w.checkCounts()
	if s := w.subject(tenant.Test, "0xbad"); s.DistinctReporters != 1 || s.DistinctMerchants != 1 || len(s.Sources) != 1 || s.Sources[0].Reports != 3 || s.Sources[0].ReportsThisHour != 3 {
		t.Errorf("the accused address has %+v, want three reports of one reporter and one merchant", s)
	}
	for i, f := range filings {
		if f.key == "" {
			continue
		}
		if a, err := calls[i](); err != nil || !a.Replayed || string(a.Body) != string(answers[i].Body) {
			t.Errorf("filing %d with its key again = replayed %t, %v, %s; want the answer %s", i, a.Replayed, err, a.Body, answers[i].Body)
		}
	}
	if _, err := filing(w, acme, report.Filing{Phone: "333333", Fraudster: "0xBAD"}, "")(); !isCode(err, "too_many_reports") {
		t.Errorf("a fourth report on an address in an hour: %v, want too_many_reports", err)
	}
	if n := len(w.events()); n != 6 {
		t.Errorf("%d events, want one of each report and of the first", n)
	}
}

// Each of the filings that came together has its own answer, whatever is wrong with another.
func TestInsert_togetherWithOnesThatFail(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.file(acme, report.Filing{Phone: "123456"}) // so that the taken reference exists
	taken := ask[string](w, `SELECT reference FROM reports`)
	good := func(n string) []func() (idempotency.Answer, error) {
		return []func() (idempotency.Answer, error){
			filing(w, acme, report.Filing{Phone: "111111", Fraudster: "0xBAD"}, "a"+n), filing(w, acme, report.Filing{Phone: "111111"}, ""),
		}
	}
	twins := atOnce(w, append(good("1"), filing(w, acme, report.Filing{Phone: "222222"}, "twice"), filing(w, acme, report.Filing{Phone: "222222"}, "twice"))...)
	for i, a := range twins {
		if a.err != nil {
			t.Fatalf("filing %d beside twins: %v, want no error", i, a.err)
		}
	}
	if n := transactions(w, twins[:2]); n != 1 {
		t.Errorf("filings beside twins were written in %d transactions, want 1", n)
	}
	if string(twins[2].Body) != string(twins[3].Body) || twins[2].Replayed == twins[3].Replayed {
		t.Errorf("twins were answered %s and %s, want one report", twins[2].Body, twins[3].Body)
	}
	free := w.NewReference
	var draws atomic.Int32
	w.NewReference = func() string {
		switch draws.Add(1) { // the first is that of the filing that is held up
		case 2:
			return taken
		case 3, 4:
			return "RPT-TWIN22"
		}
		return free()
	}
	references := map[string]bool{taken: true}
	for i, a := range atOnce(w, append(good("2"), filing(w, acme, report.Filing{Phone: "333333"}, ""))...) {
		if a.err != nil {
			t.Fatalf("filing %d beside ones that drew used references: %v, want no error", i, a.err)
		}
		references[parse(t, a.Body).Data.Report.ReportID] = true
	}
	if n := draws.Load(); n != 6 || len(references) != 4 {
		t.Errorf("%d references were drawn for %d reports, want four and two more for three", n, len(references)-1)
	}
	w.checkCounts()
	if n := ask[int](w, `SELECT count(*) FROM reports`); n != 9 {
		t.Errorf("%d reports are kept, want 9", n)
	}
}

// holdKey keeps a key busy until the transaction ends. The process waits so long for a lock.
func (w *fixture) holdKey(timeout string) pgx.Tx {
	w.t.Helper()
	own := w.pool
	w.pool = pg.LockTimeout(w.t, own, timeout)
	w.use(w.ring, true)
	w.pool = own
	tx, err := w.pool.Begin(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := tx.Rollback(context.WithoutCancel(w.t.Context())); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			w.t.Errorf("end the transaction that holds a key: %v", err)
		}
	})
	if err := idempotency.Put(w.t.Context(), tx, keyed("held"), idempotency.Answer{Status: 201, Body: []byte("{}")}); err != nil {
		w.t.Fatal(err)
	}
	return tx
}

// A filing whose key another request holds is refused once a lock times out, and not tried again.
func TestInsert_keyInProgress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.holdKey("1s")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // less than five tries take
	defer cancel()
	if _, err := w.try(ctx, acme, report.Filing{Kind: "fraud", Name: "A", Phone: "111111"}, keyed("held")); !isCode(err, "idempotency_in_progress") {
		t.Errorf("a filing whose key is held: %v, want idempotency_in_progress", err)
	}
}

// A filing whose key another transaction has in hand waits for it alone. Those beside it do not.
func TestInsert_togetherWithALockedOne(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	tx := w.holdKey("0") // a statement that waits by itself waits for ever
	held, waiting, release := w.store.Births()
	done := make(chan filed, 2)
	file := func(key string, to chan filed) {
		a, err := filing(w, acme, report.Filing{Phone: "111111"}, key)()
		to <- filed{a, err}
	}
	late := make(chan filed, 1)
	go file("", done)
	<-held
	go file("beside", done)
	go file("held", late)
	holdup.Until(t, func() bool { return waiting() == 2 })
	release()
	for range 2 {
		if f := <-done; f.err != nil {
			t.Errorf("filing beside one whose key is locked: %v, want no error", f.err)
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := <-late; f.err != nil || f.Replayed {
		t.Errorf("filing whose key became free = replayed %t, %v; want a new report", f.Replayed, f.err)
	}
	w.checkCounts()
}
