//go:build integration

package store_test

import (
	"testing"
	"time"

	"causeway.internal/libs/erasure"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/reports/internal/report"
	"causeway.internal/services/reports/internal/store"
)

// years is the law's time; no other service holds copies.
var years = erasure.Retention{Laundering: 5 * 365 * 24 * time.Hour, Copies: time.Microsecond}

// A person who asks is forgotten: no table names it, look-ups by it find nothing, and the counts against the accused
// stay.
func TestErase(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.use(keyring.Optional{}, false)
	before := w.file(acme, report.Filing{Phone: people[1], Name: people[0], Fraudster: "0xBAD"}) // in the clear, as once
	w.use(master, true)
	reference, _, _ := w.accuse()
	open := w.file(acme, report.Filing{Phone: people[1], Wallet: "0xAA", Name: people[0], Fraudster: "0xBAD"})
	other := w.file(acme, report.Filing{Phone: "999999", Wallet: "0xAA", Name: "Somebody else", Fraudster: "0xBAD"})
	for _, r := range []string{reference, before.ReportID} {
		for _, to := range []report.Status{report.Processing, report.Resolved} {
			if err := w.move(acme, r, to); err != nil && !isCode(err, "transition_refused") {
				t.Fatal(err)
			}
		}
	}
	who := store.Person{Mode: tenant.Test, Phone: people[1]}
	for _, want := range []erasure.Done{{Erased: 2, Open: 1}, {Open: 1}} {
		if done, err := w.store.AskErasure(t.Context(), "cli:ada", who, years); err != nil || done != want {
			t.Fatalf("%+v, want %+v: %v", done, want, err)
		}
	}
	if got := w.look(report.Asked{Phone: people[1]}).Data; got.Total != 1 || len(got.Reports) != 1 || got.Reports[0].ReportID != open.ReportID {
		t.Errorf("by phone: %+v", got)
	}
	if err := w.move(acme, open.ReportID, report.Dismissed); err != nil {
		t.Fatal(err)
	}
	if err := w.store.EraseDue(t.Context(), years); err != nil { // nobody asks again
		t.Fatal(err)
	}
	body, err := w.Show(t.Context(), tenant.Owner{}, "", reference)
	if r := parse(t, body).Data.Report; err != nil || r.Name != "****" || r.PhoneNumber != nil || r.WalletAddress != nil || r.SessionReference != nil ||
		r.Description != nil || text(r.FraudsterWalletAddress) != "0xBAD" || r.Status != "resolved" {
		t.Errorf("show an erased report: got %s, %v, want nobody's name", body, err)
	}
	for _, a := range []report.Asked{{Phone: people[1]}, {Phone: people[1], Wallet: "nobody"}} {
		if got := w.look(a).Data; got.Total != 0 || len(got.Reports) != 0 {
			t.Errorf("look up %+v after the erasure: got %+v, want nothing", a, got)
		}
	}
	if got := w.look(report.Asked{Wallet: "0xaa"}).Data; got.Total != 1 || got.Reports[0].ReportID != other.ReportID {
		t.Errorf("somebody else's: %+v", got)
	}
	if s := w.subject(tenant.Test, "0xbad"); s.Counts.Total != 4 || s.DistinctReporters != 2 || s.ResolvedFraudMerchants != 1 {
		t.Errorf("the accused: %+v", s)
	}
	w.checkCounts()
	if _, err := w.pool.Exec(t.Context(), `TRUNCATE idempotency`); err != nil { // within five days
		t.Fatal(err)
	}
	for _, line := range w.dump() {
		t.Errorf("a row names an erased person: %s", line)
	}
	for _, blind := range master.Ring().Blinds(people[1], "phone/test") {
		if n := ask[int](w, `SELECT count(*) FROM reports WHERE phone_index = $1`, blind); n != 0 {
			t.Errorf("%d reports have the phone's index", n)
		}
	}
	// A report that was stamped before may still have been on its way: the erasure ends with a look a minute later.
	if done := ask[bool](w, `SELECT done_at IS NOT NULL FROM erasures`); done {
		t.Error("the erasure ended in its first minute")
	}
	if _, err := w.pool.Exec(t.Context(), `UPDATE erasures SET asked_at = asked_at - interval '1 minute'`); err != nil {
		t.Fatal(err)
	}
	if err := w.store.EraseDue(t.Context(), years); err != nil {
		t.Fatal(err)
	}
	if got := ask[string](w, `SELECT operator || ' ' || erased || ' ' || left_over || ' ' || (done_at IS NOT NULL) || ' ' || (person IS NULL) FROM erasures`); got != "cli:ada 3 0 true true" {
		t.Errorf("the erasure is %q", got)
	}
}

// A live report is kept for as long as the law wants it, and no longer.
func TestErase_waitsForTheLaw(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	live := tenant.Owner{MerchantID: "acme", KeyID: 8, Mode: tenant.Live}
	made := w.file(live, report.Filing{Wallet: "0xAA", Name: people[0]})
	if err := w.move(live, made.ReportID, report.Dismissed); err != nil {
		t.Fatal(err)
	}
	who := store.Person{Mode: tenant.Live, Wallet: "0xaa"}
	if done, err := w.store.AskErasure(t.Context(), "cli:ada", who, years); err != nil || done != (erasure.Done{Kept: 1}) {
		t.Fatalf("ask for an erasure within the legal time: got %+v, %v, want one kept", done, err)
	}
	later := w.file(live, report.Filing{Wallet: "0xAA", Name: "Once more"})
	if err := w.move(live, later.ReportID, report.Dismissed); err != nil {
		t.Fatal(err)
	}
	soon := erasure.Retention{Laundering: time.Microsecond, Copies: time.Microsecond}
	for _, keep := range []erasure.Retention{years, soon, soon} {
		if err := w.store.EraseDue(t.Context(), keep); err != nil {
			t.Fatal(err)
		}
		want := 1 // the one that was filed after the question
		if keep == years {
			want = 2
		}
		if got := ask[int](w, `SELECT count(*) FROM reports WHERE wallet IS NOT NULL`); got != want {
			t.Errorf("kept %+v: %d reports have their reporter, want %d", keep, got, want)
		}
	}
	for _, line := range w.dump() {
		t.Errorf("a row names an erased person: %s", line)
	}
}

// A report of test mode is no record of the law; it is kept until no other service has a copy of it, and then erased by
// itself.
func TestErase_waitsForCopies(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	made := w.file(acme, report.Filing{Wallet: "0xAA", Name: people[0]})
	if err := w.move(acme, made.ReportID, report.Dismissed); err != nil {
		t.Fatal(err)
	}
	keep, err := erasure.Keep(years.Laundering)
	if err != nil {
		t.Fatal(err)
	}
	who := store.Person{Mode: tenant.Test, Wallet: "0xaa"}
	if done, err := w.store.AskErasure(t.Context(), "cli:ada", who, keep); err != nil || done != (erasure.Done{Copied: 1}) {
		t.Fatalf("ask for an erasure within the time of copies: got %+v, %v, want one copied", done, err)
	}
	if err := w.store.EraseDue(t.Context(), years); err != nil {
		t.Fatal(err)
	}
	if got := ask[int](w, `SELECT count(*) FROM reports WHERE wallet IS NULL`); got != 1 {
		t.Errorf("%d reports are erased", got)
	}
}

// An erased report is one less of its own key on the reporter's address. Other keys' rows stay, and so does a row that
// tells of a flood; a row that tells nothing any more goes, with the address.
func TestErase_countsOneLessOfItsKey(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	key := func(id int64) tenant.Owner { return tenant.Owner{MerchantID: "acme", KeyID: id, Mode: tenant.Test} }
	filing := report.Filing{Wallet: "0xAA", Name: people[0]}
	var erased []string
	for _, by := range []int64{8, 8, 9, 10} {
		made := w.file(key(by), filing)
		if err := w.move(key(by), made.ReportID, report.Dismissed); err != nil {
			t.Fatal(err)
		}
		erased = append(erased, made.ReportID)
	}
	w.file(key(9), filing)
	if _, err := w.pool.Exec(t.Context(), `UPDATE sources SET refused = 2, refused_at = now() WHERE key_id = 10`); err != nil {
		t.Fatal(err)
	}
	const rows = `SELECT coalesce(string_agg(format('%s: %s filed, %s refused', key_id, reports, refused), '; ' ORDER BY key_id), '')
		FROM sources WHERE address = '0xaa' AND role = 'reporter'`
	for n, want := range []string{
		"8: 1 filed, 0 refused; 9: 2 filed, 0 refused; 10: 1 filed, 2 refused",
		"9: 2 filed, 0 refused; 10: 1 filed, 2 refused",
		"9: 1 filed, 0 refused; 10: 1 filed, 2 refused",
		"9: 1 filed, 0 refused; 10: 0 filed, 2 refused",
	} {
		who := store.Person{Mode: tenant.Test, Reference: erased[n]}
		if done, err := w.store.AskErasure(t.Context(), "cli:ada", who, years); err != nil || done.Erased != 1 {
			t.Fatalf("report %d: %+v, %v", n+1, done, err)
		}
		if got := ask[string](w, rows); got != want {
			t.Errorf("after report %d:\n%s, want\n%s", n+1, got, want)
		}
	}
}
