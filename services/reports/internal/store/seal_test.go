//go:build integration

package store_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/reports/internal/report"
)

// people is what a report says of a person.
var people = []string{"Adaeze Obiora", "2348055512345", "CW-GQWERTYUIOPAS", "met him at the market", "Officer Bello", "called her back"}

// dump is every text about people in the database, also in messages that wait for the broker.
func (w *fixture) dump() []string {
	w.t.Helper()
	found := pg.Search(w.t, w.pool, people...)
	for _, what := range []string{"test\x00phone\x00", "phone:"} { // what a thief would try all phones with
		sum := sha256.Sum256([]byte(what + people[1]))
		found = append(found, pg.Search(w.t, w.pool, fmt.Sprintf("%x", sum[:16]))...)
	}
	return found
}

// accuse files and examines a report that says all that a report can say of people.
func (w *fixture) accuse() (reference string, k idempotency.Key, answered []byte) {
	w.t.Helper()
	k = idempotency.Key{Scope: "acme test POST", Key: "k-1", Hash: sha256.Sum256([]byte("one"))}
	f := report.Filing{Kind: "fraud", Name: people[0], Phone: people[1], Session: people[2], Text: people[3], Wallet: "0xAA", Fraudster: "0xBAD"}
	a, err := w.try(w.t.Context(), acme, f, k)
	if err != nil {
		w.t.Fatal(err)
	}
	reference = parse(w.t, a.Body).Data.Report.ReportID
	if _, err := w.Change(w.t.Context(), acme, "req_1", reference, report.Change{To: report.Processing, Confirmer: &people[4], Notes: &people[5]}); err != nil {
		w.t.Fatal(err)
	}
	return reference, k, a.Body
}

// A dump of the database names nobody, and everything that is looked for is found all the same.
func TestSealed_aDumpNamesNobody(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reference, k, answer := w.accuse()
	for _, line := range w.dump() {
		t.Errorf("a row names a person: %s", line)
	}
	again, err := w.try(t.Context(), acme, report.Filing{Kind: "fraud", Name: people[0], Phone: people[1]}, k)
	if err != nil || !again.Replayed || !bytes.Equal(again.Body, answer) {
		t.Errorf("replayed: %s %v", again.Body, err)
	}
	if got := w.look(report.Asked{Phone: "+234 805-551-2345", Wallet: "0xaa"}).Data; got.Total != 1 || got.Reports[0].ReportID != reference || got.Reports[0].Name != people[0] {
		t.Errorf("look a sealed report up: got %+v, want it by its phone and wallet", got)
	}
	// The index of a phone is no phone: who has read it in a dump finds nothing by it.
	index := ask[[]byte](w, `SELECT phone_index FROM reports`)
	for _, text := range []string{string(index), fmt.Sprintf("%x", index), fmt.Sprintf(`\x%x`, index), base64.StdEncoding.EncodeToString(index)} {
		if got := w.look(report.Asked{Phone: text, Wallet: text}).Data; got.Total != 0 || len(got.Reports) != 0 {
			t.Errorf("by %q: %+v", text, got)
		}
	}
	if err := w.move(acme, reference, report.Resolved); err != nil {
		t.Fatal(err)
	}
	body, err := w.Show(t.Context(), tenant.Owner{}, "", reference)
	if r := parse(t, body).Data.Report; err != nil || r.Status != "resolved" || r.Name != people[0] || text(r.SessionReference) != people[2] {
		t.Errorf("show a sealed report: got %s, %v, want it resolved, with its names", body, err)
	}
	for _, line := range w.dump() {
		t.Errorf("after a change: %s", line)
	}
	w.checkCounts()
}

// The way from the clear to sealed, and from one key to the next, with processes of before and after side by side: at
// every step every report is found, counted and shown, and each reporter counts once.
func TestSealed_rolling(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	parseRing := func(text string) keyring.Optional {
		t.Helper()
		return must(keyring.ParseOptional(text))
	}
	key := func(id string, b byte) string {
		return id + ":" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32))
	}
	one, both, two := parseRing(key("k1", 1)), parseRing(key("k2", 2)+","+key("k1", 1)), parseRing(key("k2", 2))
	var first, last string
	filed := 0
	step := func(name string, ring keyring.Optional, seals bool, reseal int64) {
		t.Helper()
		w.use(ring, seals)
		if reseal >= 0 {
			if changed, err := w.store.Reseal(t.Context()); err != nil || changed != reseal {
				t.Errorf("%s: %d reports sealed, want %d: %v", name, changed, reseal, err)
			}
		} else {
			last = w.file(acme, report.Filing{Phone: people[1], Wallet: "0xAA", Fraudster: "0xBAD", Name: people[0]}).ReportID
			w.file(acme, report.Filing{Wallet: "0xAA", Name: people[0]})
			if filed++; filed == 1 {
				first = last
			}
		}
		if got := w.look(report.Asked{Phone: people[1]}).Data; got.Total != int64(filed) || len(got.Reports) != filed {
			t.Errorf("%s: by phone %d of %d, want %d", name, len(got.Reports), got.Total, filed)
		}
		if got := w.look(report.Asked{Phone: people[1], Wallet: "0xaa", Kind: "fraud"}).Data; got.Total != int64(2*filed) || len(got.Reports) != 2*filed || got.Reports[0].Name != people[0] {
			t.Errorf("%s: by both %d of %d, want %d", name, len(got.Reports), got.Total, 2*filed)
		}
		if s := w.subject(tenant.Test, "0xbad"); s.DistinctReporters != 1 || s.DistinctMerchants != 1 || s.Counts.Total != int64(filed) {
			t.Errorf("%s: count the reports on 0xbad: got %+v", name, s)
		}
		w.checkCounts()
	}
	step("the release before", keyring.Optional{}, false, -1)
	step("this release, with a key", one, false, -1)
	if len(w.dump()) < 4 { // name, phone, and the two hashes of it
		t.Errorf("in the clear a dump shows only %q", w.dump())
	}
	step("sealing", one, true, -1)
	if err := w.move(acme, first, report.Processing); err != nil { // one in the clear stays so until it is resealed
		t.Fatal(err)
	}
	step("rotate-master", one, true, 4)
	step("rotate-master again", one, true, 0)
	for _, line := range w.dump() {
		t.Errorf("a row names a person after rotate-master: %s", line)
	}
	step("a new key in the first place", both, true, -1)
	if err := w.move(acme, last, report.Processing); err != nil {
		t.Fatal(err)
	}
	if err := w.move(acme, first, report.Resolved); err != nil {
		t.Fatal(err)
	}
	step("rotate-master to the new key", both, true, 6)
	step("the old key is gone", two, true, -1)
	for _, line := range w.dump() {
		t.Errorf("a row names a person under the new key: %s", line)
	}
}

// Look-ups over reports in the clear and under two keys agree with a plain list, at shallow and deep offsets.
func TestSealed_lookupsOverEveryForm(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var all model
	random := rand.New(rand.NewPCG(3, 4))
	old := must(keyring.ParseOptional("k0:" + base64.StdEncoding.EncodeToString(make([]byte, 32))))
	mixed := must(keyring.ParseOptional("k1:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, 32)) + ",k0:" + base64.StdEncoding.EncodeToString(make([]byte, 32))))
	for i, form := range []struct {
		ring  keyring.Optional
		seals bool
	}{{keyring.Optional{}, false}, {old, true}, {mixed, true}} {
		w.use(form.ring, form.seals)
		all = append(all, w.seedFrom(1000*i, 1000, random)...)
	}
	w.checkCounts()
	for _, offset := range []int{0, 30, 990, 1001, 1300, 5000} {
		for _, a := range []report.Asked{{Phone: "100000"}, {Phone: "100000", Wallet: "0xaa"}, {Phone: "100001", Status: "pending"}} {
			a.Limit, a.Offset = 100, offset
			total, want := all.look(a, w.PublicModes)
			got := w.look(a)
			ids := make([]string, 0, len(want))
			for _, r := range got.Data.Reports {
				ids = append(ids, r.ReportID)
			}
			if got.Data.Total != total || !slices.Equal(ids, want) {
				t.Fatalf("%+v: %d of %d, want %d of %d", a, len(ids), got.Data.Total, len(want), total)
			}
		}
	}
}

// A row that names a key which is gone is an error and shows nothing; one in another row's place too.
func TestSealed_boundToItsReport(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	mine, other := w.file(acme, report.Filing{Phone: "111111"}), w.file(acme, report.Filing{Phone: "222222"})
	if _, err := w.pool.Exec(t.Context(), `UPDATE reports SET person = (SELECT person FROM reports WHERE id = $1) WHERE id = $2`, mine.ID, other.ID); err != nil {
		t.Fatal(err)
	}
	if body, err := w.Show(t.Context(), tenant.Owner{}, "", other.ReportID); err == nil {
		t.Errorf("another report's person is shown: %s", body)
	}
	w.use(keyring.Optional{}, false)
	if body, err := w.Show(t.Context(), tenant.Owner{}, "", mine.ReportID); err == nil {
		t.Errorf("opened without a key: %s", body)
	}
}
