//go:build integration

package store_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"causeway.internal/libs/erasure"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/wire"
	"causeway.internal/services/reports/internal/app"
	"causeway.internal/services/reports/internal/report"
	"causeway.internal/services/reports/internal/store"
	"causeway.internal/services/reports/migrations"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQueriesPrepare(t *testing.T) {
	t.Parallel()
	pg.Listed(t, "Statements")
	pg.Prepare(t, pg.New(t, migrations.FS), store.Statements())
}

func TestMigrations_closeFunctions(t *testing.T) {
	t.Parallel()
	pg.Closed(t, pg.New(t, migrations.FS), migrations.FS)
}

func TestMigrations_holdTheLibrariesTables(t *testing.T) {
	t.Parallel()
	pg.Holds(t, migrations.FS, outbox.Schema)
	pg.Holds(t, migrations.FS, outbox.WakeSchema)
	pg.Holds(t, migrations.FS, outbox.StoredSchema)
	pg.Holds(t, migrations.FS, "CREATE INDEX CONCURRENTLY "+outbox.NamesIndex)
	pg.Holds(t, migrations.FS, outbox.NewestSchema)
	pg.Holds(t, migrations.FS, outbox.InlineSchema)
	pg.Holds(t, migrations.FS, idempotency.Schema)
	pg.Holds(t, migrations.FS, presence.Schema)
	pg.Holds(t, migrations.FS, erasure.Schema)
}

// A gift's reference is shown to the merchant whose key filed the report, in that key's mode, and to nobody else.
// Reports from before every gift was marked show no reference to others at all.
func TestRead_hidesGifts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const gift, other = "CW-G7KQ2M9XHTB4N", "CW-XE3DB8WQTUGW"
	shows := func(viewer tenant.Owner, made seen) string {
		t.Helper()
		one, err := w.Show(t.Context(), viewer, "203.0.113.7", made.ReportID)
		if err != nil {
			t.Fatal(err)
		}
		list, err := w.Lookup(t.Context(), viewer, report.Asked{Phone: *made.PhoneNumber, Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		a, b := parse(t, one).Data.Report, parse(t, list).Data.Reports[0]
		if text(a.SessionReference) != text(b.SessionReference) || text(a.Description) != text(b.Description) {
			t.Errorf("read %+v, looked up %+v", a, b)
		}
		return text(a.SessionReference) + " " + text(a.Description)
	}
	secret := w.file(acme, report.Filing{Phone: "111111", Session: gift, Text: gift})
	plain := w.file(acme, report.Filing{Phone: "222222", Session: other, Text: other})
	early := w.file(acme, report.Filing{Phone: "333333", Session: other, Text: other})
	if _, err := w.pool.Exec(t.Context(), `UPDATE reports SET earlier = true WHERE reference = $1`, early.ReportID); err != nil {
		t.Fatal(err)
	}
	marked := must(time.Parse(time.RFC3339, plain.CreatedAt))
	for name, tc := range map[string]struct {
		viewer tenant.Owner
		mine   bool
	}{
		"nobody":                      {tenant.Owner{}, false},
		"another merchant":            {tenant.Owner{MerchantID: "other", KeyID: 9, Mode: tenant.Test}, false},
		"the other mode":              {tenant.Owner{MerchantID: "acme", KeyID: 7, Mode: tenant.Live}, false},
		"the merchant's own key":      {acme, true},
		"another key of the merchant": {tenant.Owner{MerchantID: "acme", KeyID: 8, Mode: tenant.Test}, true},
	} {
		want := map[bool][4]string{
			true:  {gift + " " + gift, other + " " + other, other + " " + other, other + " " + other},
			false: {" CW-****", other + " " + other, " CW-****", " CW-****"},
		}[tc.mine]
		w.MarkedSince = marked
		got := [4]string{shows(tc.viewer, secret), shows(tc.viewer, plain), shows(tc.viewer, early)}
		w.MarkedSince = marked.Add(time.Millisecond)
		if got[3] = shows(tc.viewer, plain); got != want {
			t.Errorf("%s is shown %q, want %q", name, got, want)
		}
	}
	if text(secret.SessionReference) != gift || !strings.Contains(string(w.events()[0].Body), gift) {
		t.Error("the merchant's own answer and event do not show what was sent")
	}
}

// A merchant lists its own reports with their notes, newest first, page by page, by status and type. It sees nothing of
// another merchant or of the other mode.
func TestOwn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := tenant.Owner{MerchantID: "other", KeyID: 9, Mode: tenant.Test}
	live := tenant.Owner{MerchantID: acme.MerchantID, KeyID: 7, Mode: tenant.Live}
	w.file(other, report.Filing{Phone: "111111"})
	w.file(live, report.Filing{Phone: "111111"})
	var made []string
	for i := range 7 {
		made = append(made, w.file(acme, report.Filing{Phone: "111111", Kind: []string{"fraud", "stolen_funds"}[i%2], Session: "CW-GABCDEFGHJKMN"}).ReportID)
	}
	note := "the exchange has frozen it"
	for i, c := range []report.Change{{To: report.Processing, Notes: &note}, {To: report.Dismissed}} {
		if _, err := w.Change(t.Context(), acme, "req_1", made[i], c); err != nil {
			t.Fatalf("move report %s to %s: %v", made[i], c.To, err)
		}
	}
	slices.Reverse(made)
	list := func(o tenant.Owner, q report.Own) (ids []string, a answered) {
		t.Helper()
		if q.Statuses == nil {
			q.Statuses = report.Statuses()
		}
		if q.Kinds == nil {
			q.Kinds = report.Kinds()
		}
		body, err := w.Own(t.Context(), o, q)
		if err != nil {
			t.Fatalf("list the reports of %s: %v", o.MerchantID, err)
		}
		a = parse(t, body)
		for _, r := range a.Data.Reports {
			ids = append(ids, r.ReportID)
		}
		return ids, a
	}
	var got []string
	for q := (report.Own{Limit: 3}); ; {
		ids, a := list(acme, q)
		got = append(got, ids...)
		if !a.Data.Pagination.HasMore {
			break
		}
		after, ok := report.ParseCursor(*a.Data.Pagination.NextCursor)
		if !ok || len(ids) != 3 {
			t.Fatalf("read a page of three: got %v and the cursor %s", ids, *a.Data.Pagination.NextCursor)
		}
		q.After = &after
	}
	if !slices.Equal(got, made) {
		t.Errorf("list own reports page by page: got %v, want %v", got, made)
	}
	for want, q := range map[int]report.Own{
		5: {Statuses: []report.Status{report.Pending}}, 2: {Statuses: []report.Status{report.Processing, report.Dismissed}},
		4: {Kinds: []report.Kind{report.Fraud}}, 0: {Statuses: []report.Status{report.Resolved}},
	} {
		if q.Limit = 100; len(first(list(acme, q))) != want {
			t.Errorf("list own reports by %+v: got %d, want %d", q, len(first(list(acme, q))), want)
		}
	}
	_, a := list(acme, report.Own{Limit: 10, Statuses: []report.Status{report.Processing}})
	if r := a.Data.Reports[0]; text(r.AdminNotes) != note || text(r.SessionReference) != "CW-GABCDEFGHJKMN" {
		t.Errorf("list own reports: got notes %q and reference %q, want both as the merchant wrote them", text(r.AdminNotes), text(r.SessionReference))
	}
	if ids, _ := list(tenant.Owner{MerchantID: "nobody", Mode: tenant.Test}, report.Own{Limit: 10}); len(ids) != 0 {
		t.Errorf("list the reports of a merchant without any: got %v", ids)
	}
	if ids, _ := list(live, report.Own{Limit: 10}); len(ids) != 1 {
		t.Errorf("list the reports of live mode: got %v, want the one", ids)
	}
}

func first[T, U any](v T, _ U) T { return v }

// The answer at creation equals later reads, by id and by look-up, and the event.
func TestFile_roundTrip(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	made := w.file(acme, report.Filing{
		Phone: "+234 801-234", Wallet: " 0xAbC ", Session: "CW-1", Fraudster: "TXfraud", Text: "<b>50 % & more</b> 🙂", Name: "Ada \"Q\" Obi",
	})
	body, err := w.Show(t.Context(), tenant.Owner{}, "203.0.113.7", strings.ToLower(made.ReportID[4:])) // not even with the prefix left out
	if !isCode(err, "invalid_report_id") {
		t.Fatalf("show a report by half an id: got %s, %v, want invalid_report_id", body, err)
	}
	body, err = w.Show(t.Context(), tenant.Owner{}, "203.0.113.7", "RPT-"+strings.ToLower(made.ReportID[4:]))
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]seen{
		"by id": parse(t, body).Data.Report, "by phone": w.look(report.Asked{Phone: "234801234"}).Data.Reports[0],
		"by wallet": w.look(report.Asked{Wallet: "0XABC"}).Data.Reports[0],
	} {
		a, _ := json.Marshal(made)
		b, _ := json.Marshal(got)
		if string(a) != string(b) {
			t.Errorf("%s: %s, want %s", what, b, a)
		}
	}
	if made.APIKeyID != 7 || made.MerchantID != "acme" || made.Status != "pending" || text(made.WalletAddress) != "0xAbC" || text(made.PhoneNumber) != "234801234" {
		t.Errorf("file a report: got %+v", made)
	}
	bare := w.file(acme, report.Filing{Wallet: "T1"})
	if bare.PhoneNumber != nil || bare.SessionReference != nil || bare.FraudsterWalletAddress != nil || bare.Description != nil || bare.Confirmer != nil || bare.AdminNotes != nil {
		t.Errorf("unsupplied fields are not null: %+v", bare)
	}
	events := w.events()
	if len(events) != 2 || w.woken.Load() != 2 {
		t.Fatalf("%d events, woken %d times", len(events), w.woken.Load())
	}
	e := events[0]
	var shown struct {
		ID, Type, CreatedAt, Mode string
		Data                      struct{ Report seen }
	}
	if err := json.Unmarshal(e.Body, &shown); err != nil {
		t.Fatal(err)
	}
	if e.Type != "report.created" || e.EventID != shown.ID || shown.Type != e.Type || e.Sequence != 1 || e.ObjectID != made.ReportID || e.MerchantID != "acme" ||
		e.Mode != tenant.Test || shown.Mode != "test" || shown.Data.Report.Sequence != 1 || shown.Data.Report.Name != made.Name {
		t.Errorf("read the event of a report: got %+v %s", e, e.Body)
	}
	w.checkCounts()
}

// 200 at once, all on the same few phones and wallets, some of them crosswise: 200 reports with distinct ids.
func TestFile_parallel(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var mu sync.Mutex
	ids, numbers := map[string]bool{}, map[int64]bool{}
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			f := report.Filing{Kind: "fraud", Name: "A", Phone: fmt.Sprint(100000 + i%3), Wallet: fmt.Sprint("W", (i+1)%3), Fraudster: fmt.Sprint("W", i%3)}
			a, err := w.try(t.Context(), acme, f, idempotency.Key{})
			if err != nil {
				t.Error(err)
				return
			}
			r := parse(t, a.Body).Data.Report
			mu.Lock()
			defer mu.Unlock()
			ids[r.ReportID], numbers[r.ID] = true, true
		})
	}
	wg.Wait()
	if len(ids) != 200 || len(numbers) != 200 {
		t.Errorf("%d report ids and %d record ids, want 200", len(ids), len(numbers))
	}
	w.checkCounts()
}

// A report id that is taken is replaced, and the caller sees nothing of it.
func TestFile_referenceTaken(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	free := w.NewReference
	draws := 0
	w.NewReference = func() string {
		if draws++; draws <= 4 {
			return "RPT-AAAAAA"
		}
		return free()
	}
	k := idempotency.Key{Scope: "s", Key: "k", Hash: sha256.Sum256([]byte("x"))}
	first := w.file(acme, report.Filing{Phone: "123456"})
	a, err := w.try(t.Context(), acme, report.Filing{Kind: "fraud", Name: "A", Phone: "123456"}, k)
	if err != nil || parse(t, a.Body).Data.Report.ReportID == first.ReportID || draws != 5 {
		t.Errorf("%s %v after %d draws", a.Body, err, draws)
	}
	w.NewReference = func() string { return "RPT-AAAAAA" }
	if _, err := w.try(t.Context(), acme, report.Filing{Kind: "fraud", Name: "A", Phone: "123456"}, idempotency.Key{}); !errors.Is(err, app.ErrReferenceUsed) {
		t.Errorf("without any free id: %v", err)
	}
	w.checkCounts()
}

// Sixteen requests with one Idempotency-Key are one report and one answer; another body is refused.
func TestFile_idempotent(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	f := report.Filing{Kind: "fraud", Name: "A", Phone: "123456"}
	k := idempotency.Key{Scope: "acme test POST", Key: "k-1", Hash: sha256.Sum256([]byte("one"))}
	var mu sync.Mutex
	bodies, fresh := map[string]int{}, 0
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			a, err := w.try(t.Context(), acme, f, k)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			bodies[fmt.Sprint(a.Status, string(a.Body))]++
			if !a.Replayed {
				fresh++
			}
		})
	}
	wg.Wait()
	if len(bodies) != 1 || fresh != 1 || ask[int](w, `SELECT count(*) FROM reports`) != 1 {
		t.Errorf("%d answers, %d of them fresh: %v", len(bodies), fresh, bodies)
	}
	other := k
	other.Hash = sha256.Sum256([]byte("two"))
	for name, filing := range map[string]report.Filing{"good": f, "broken": {}} {
		if _, err := w.try(t.Context(), acme, filing, other); !isCode(err, "idempotency_key_reused") {
			t.Errorf("the key again with another body (%s): %v", name, err)
		}
	}
	if _, err := w.try(t.Context(), acme, report.Filing{}, idempotency.Key{Scope: k.Scope, Key: "k-2"}); !isCode(err, "validation_failed") {
		t.Errorf("file nothing: got %v, want validation_failed", err)
	}
	w.checkCounts()
}

// model is what look-ups are held to: the same question asked of a plain list.
type model []report.Report

func (m model) look(a report.Asked, modes []tenant.Mode) (total int64, page []string) {
	l := a.Clean()
	var hits []report.Report
	for _, r := range m {
		same := l.Phone != "" && r.Phone == l.Phone || l.Wallet != "" && report.AddressKey(r.Wallet) == l.Wallet
		if same && slices.Contains(modes, r.Mode) && slices.Contains(l.Statuses, r.Status) && slices.Contains(l.Kinds, r.Kind) {
			hits = append(hits, r)
		}
	}
	slices.SortFunc(hits, func(a, b report.Report) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	total = int64(len(hits))
	hits = hits[min(len(hits), l.Offset):]
	for _, r := range hits[:min(len(hits), l.Limit)] {
		page = append(page, r.Reference)
	}
	return total, page
}

// seed writes reports of a few subjects over some weeks, through the store's own insert, so that they are counted as
// always; times and statuses are the test's.
func (w *fixture) seed(n int, random *rand.Rand) model { return w.seedFrom(0, n, random) }

// seedFrom is seed with other ids.
func (w *fixture) seedFrom(first, n int, random *rand.Rand) model {
	w.t.Helper()
	var all model
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := first; i < first+n; i++ {
		r := report.Report{
			ID: int64(i + 1), Reference: fmt.Sprintf("RPT-%06d", i), KeyID: 7, MerchantID: "acme", Mode: tenant.Modes()[random.IntN(2)],
			Kind: report.Kinds()[random.IntN(3)], Name: "N", Status: report.Statuses()[random.IntN(4)], Version: 1, Sequence: 1,
			CreatedAt: start.Add(time.Duration(random.IntN(20*24*60)) * time.Minute),
		}
		r.UpdatedAt = r.CreatedAt
		if random.IntN(4) > 0 {
			r.Phone = fmt.Sprint(100000 + random.IntN(4)/3)
		}
		if r.Phone == "" || random.IntN(2) > 0 {
			r.Wallet = []string{"0xAA", "0xaa", "TT"}[random.IntN(3)]
		}
		all = append(all, r)
	}
	var wg sync.WaitGroup
	work := make(chan report.Report)
	for range 8 {
		wg.Go(func() {
			for r := range work {
				e := app.Event{ID: "evt_" + r.Reference, Type: "report.created", Report: r, OccurredAt: r.CreatedAt, Body: []byte("{}")}
				if err := w.store.Insert(w.t.Context(), app.Newborn{Report: r, Event: e}); err != nil {
					w.t.Error(err)
				}
			}
		})
	}
	for _, r := range all {
		work <- r
	}
	close(work)
	wg.Wait()
	return all
}

// Every kind of look-up, at every sort of offset, agrees with a plain list: rows, order and total. Offsets beyond what
// is walked row by row are among them.
func TestLookup_agreesWithAPlainList(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	random := rand.New(rand.NewPCG(8, 8))
	all := w.seed(3000, random)
	w.checkCounts()
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	deep := 0
	for range 400 {
		w.PublicModes = [][]tenant.Mode{{tenant.Live}, {tenant.Test}, tenant.Modes()}[random.IntN(3)]
		a := report.Asked{
			Phone: pick("100000", "100001", "1000-00", "100000", "", "nobody"), Wallet: pick("", "0xaa", "0XAA", "TT", "tt", ""),
			Status: pick("", "", "all", "pending", "resolved"), Kind: pick("", "", "fraud", "stolen_funds"),
			Limit: 1 + random.IntN(200), Offset: []int{0, random.IntN(50), random.IntN(1000), 900 + random.IntN(1500), 1001 + random.IntN(600), 1_000_000_000}[random.IntN(6)],
		}
		if a.Phone+a.Wallet == "" {
			continue
		}
		total, page := all.look(a, w.PublicModes)
		got := w.look(a)
		ids := make([]string, 0, len(page))
		for _, r := range got.Data.Reports {
			ids = append(ids, r.ReportID)
		}
		if got.Data.Total != total || !slices.Equal(ids, page) || got.Data.Limit != a.Limit || got.Data.Offset != a.Offset || got.Data.HasMore != nil {
			t.Fatalf("%+v in %v: total %d, want %d\n%v\nwant\n%v", a, w.PublicModes, got.Data.Total, total, ids, page)
		}
		if a.Offset > 1000 && len(page) > 0 {
			deep++
		}
	}
	if deep < 5 {
		t.Errorf("only %d pages lay deep", deep)
	}
}

// Walking by cursor gives every report once, in the order of the list, with the total on every page.
func TestLookup_cursorWalksTheList(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	all := w.seed(700, rand.New(rand.NewPCG(1, 2)))
	for _, a := range []report.Asked{
		{Phone: "100000", Limit: 17}, {Wallet: "0xaa", Phone: "100001", Limit: 40}, {Wallet: "TT", Status: "pending", Limit: 7}, {Phone: "100000", Kind: "fraud", Limit: 200},
	} {
		whole := a
		whole.Limit = 10_000
		total, want := all.look(whole, tenant.Modes())
		var got []string
		a.ByCursor = true
		for pages := 0; pages < 200; pages++ {
			page := w.look(a)
			if page.Data.Total != total || page.Data.HasMore == nil {
				t.Fatalf("walk the list of %+v: got %+v, want the total and hasMore", a, page.Data)
			}
			for _, r := range page.Data.Reports {
				got = append(got, r.ReportID)
			}
			if *page.Data.HasMore != (page.Data.NextCursor != nil) {
				t.Fatalf("hasMore %v with the cursor %v", *page.Data.HasMore, page.Data.NextCursor)
			}
			if !*page.Data.HasMore {
				break
			}
			after, ok := report.ParseCursor(*page.Data.NextCursor)
			if !ok {
				t.Fatal("the cursor cannot be read")
			}
			a.After = &after
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %d reports, want %d in the same order", a, len(got), len(want))
		}
	}
}

// The data of one mode is invisible in the other, and a report is its merchant's alone to change.
func TestTenants(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	live := tenant.Owner{MerchantID: "acme", KeyID: 8, Mode: tenant.Live}
	mine, theirs := w.file(acme, report.Filing{Phone: "123456"}), w.file(live, report.Filing{Phone: "123456"})
	for name, o := range map[string]tenant.Owner{"another merchant": {MerchantID: "other", KeyID: 7, Mode: tenant.Test}, "the other mode": live} {
		if err := w.move(o, mine.ReportID, report.Processing); !isCode(err, "report_not_found") {
			t.Errorf("%s changes it: %v", name, err)
		}
	}
	w.PublicModes = []tenant.Mode{tenant.Live}
	if _, err := w.Show(t.Context(), tenant.Owner{}, "", mine.ReportID); !isCode(err, "report_not_found") {
		t.Errorf("a test report is public where only live ones are: %v", err)
	}
	if got := w.look(report.Asked{Phone: "123456"}).Data; got.Total != 1 || len(got.Reports) != 1 || got.Reports[0].ReportID != theirs.ReportID {
		t.Errorf("look a phone up in live mode: got %+v, want the live report alone", got)
	}
	w.PublicModes = nil
	if got := w.look(report.Asked{Phone: "123456"}).Data; got.Total != 0 || len(got.Reports) != 0 {
		t.Errorf("without public modes: %+v", got)
	}
}

// A change writes row, history, event and counts, hides what is internal from the public and from events, and happens
// once however many ask at once.
func TestChange(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	made := w.file(acme, report.Filing{Phone: "123456", Wallet: "TT", Fraudster: "0xBAD"})
	who, why := "Ann", "called back"
	var moved sync.WaitGroup
	results := make(chan error, 16)
	for range cap(results) {
		moved.Go(func() {
			body, err := w.Change(t.Context(), acme, "req_9", "RPT-"+strings.ToLower(made.ReportID[4:]), report.Change{To: report.Processing, Confirmer: &who, Notes: &why})
			if err == nil {
				if r := parse(t, body).Data.Report; r.Status != "processing" || text(r.Confirmer) != who || text(r.AdminNotes) != why || r.UpdatedAt < r.CreatedAt {
					t.Errorf("show a changed report: got %s", body)
				}
			}
			results <- err
		})
	}
	moved.Wait()
	close(results)
	done := 0
	for err := range results {
		if err == nil {
			done++
		} else if !isCode(err, "transition_refused") {
			t.Error(err)
		}
	}
	if done != 1 {
		t.Errorf("%d changes went through, want one", done)
	}
	if err := w.move(acme, made.ReportID, report.Resolved); err != nil {
		t.Fatal(err)
	}
	if err := w.move(acme, made.ReportID, report.Pending); !isCode(err, "transition_refused") {
		t.Errorf("back to pending: %v", err)
	}
	if err := w.move(acme, "RPT-222222", report.Processing); !isCode(err, "report_not_found") {
		t.Errorf("unknown: %v", err)
	}
	body, err := w.Show(t.Context(), tenant.Owner{}, "", made.ReportID)
	if err != nil {
		t.Fatal(err)
	}
	public := []seen{parse(t, body).Data.Report, w.look(report.Asked{Phone: "123456"}).Data.Reports[0]}
	events := w.events()
	for _, e := range events {
		public = append(public, parse(t, slices.Concat([]byte(`{"success":true,`), e.Body[1:])).Data.Report)
	}
	for i, r := range public {
		if r.Confirmer != nil || r.AdminNotes != nil {
			t.Errorf("%d shows what is internal: %+v", i, r)
		}
	}
	got := joined(events, func(e wire.StatusChanged) string { return fmt.Sprint(e.Sequence, ":", e.Type) })
	if got != "1:report.created 2:report.updated 3:report.updated" {
		t.Errorf("events %s", got)
	}
	if got := ask[string](w, `SELECT string_agg(version || ' ' || from_status || '>' || to_status || ' by ' || merchant_id || ' ' || key_id || ' ' || request_id, ', ' ORDER BY version) FROM report_history`); got !=
		"2 pending>processing by acme 7 req_9, 3 processing>resolved by acme 7 req_1" {
		t.Errorf("history: %s", got)
	}
	w.checkCounts()
}

// Creates and changes of the same subjects at once: nothing deadlocks, and every counter is right in the end.
func TestStorm_countsStayRight(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	made := make(chan string, 1000)
	var wg sync.WaitGroup
	for worker := range 8 {
		random := rand.New(rand.NewPCG(uint64(worker), 3))
		wg.Go(func() {
			for range 40 {
				f := report.Filing{
					Kind: string(report.Kinds()[random.IntN(3)]), Name: "N", Phone: fmt.Sprint(100000 + random.IntN(3)),
					Wallet: fmt.Sprint("W", random.IntN(3)), Fraudster: fmt.Sprint("W", random.IntN(3)),
				}
				o := acme
				o.KeyID, o.Mode = int64(1+random.IntN(3)), tenant.Modes()[random.IntN(2)]
				a, err := w.try(t.Context(), o, f, idempotency.Key{})
				if err != nil {
					t.Error(err)
					return
				}
				made <- string(o.Mode) + parse(t, a.Body).Data.Report.ReportID
				for range 2 {
					one := <-made
					o.Mode = tenant.Mode(one[:4])
					err := w.move(o, one[4:], report.Statuses()[random.IntN(4)])
					if err != nil && !isCode(err, "transition_refused") {
						t.Error(err)
					}
					made <- one
				}
			}
		})
	}
	wg.Wait()
	if n := ask[int](w, `SELECT count(*) FROM reports`); n != 320 {
		t.Errorf("%d reports", n)
	}
	w.checkCounts()
	if n := ask[int](w, `SELECT count(*) FROM (SELECT r.id FROM reports r LEFT JOIN report_history h ON h.report_id = r.id
		GROUP BY r.id HAVING r.sequence <> 1 + count(h.version) OR r.version <> r.sequence) AS gaps`); n != 0 {
		t.Errorf("%d reports whose sequence is not that of their history", n)
	}
}
