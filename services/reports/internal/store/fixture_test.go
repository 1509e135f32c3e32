//go:build integration

package store_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/wire"
	"causeway.internal/services/reports/internal/app"
	"causeway.internal/services/reports/internal/limit"
	"causeway.internal/services/reports/internal/report"
	"causeway.internal/services/reports/internal/store"
	"causeway.internal/services/reports/migrations"
)

// fixture is the use cases on a database of their own.
type fixture struct {
	*app.App
	t     testing.TB
	pool  *pgxpool.Pool
	store *store.Store
	ring  keyring.Optional
	woken atomic.Int64
}

var acme = tenant.Owner{MerchantID: "acme", KeyID: 7, Mode: tenant.Test}

// master is the ring of a fixture that seals.
var master = must(keyring.ParseOptional("k1:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, 32))))

// forEvents seals the bodies of events for the dispatcher.
var forEvents = must(keyring.ParseOptional("reports:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{3}, 32))))

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{t: t, pool: pg.Open(t, store.Session(pg.Config(t, migrations.FS)), migrations.FS)}
	w.use(master, true)
	return w
}

// use replaces the processes by ones with another ring, which seal or do not.
func (w *fixture) use(ring keyring.Optional, seals bool) {
	w.store = store.New(w.pool, slog.New(slog.DiscardHandler), ring, seals, func() { w.woken.Add(1) })
	w.store.SealEvents(forEvents)
	w.ring = ring
	w.App = app.New(app.Deps{
		Filing: w.store, Reading: w.store, Changing: w.store, Oversight: w.store, Backlog: never{}, PublicModes: tenant.Modes(),
		Lookups: limit.New(0, 0, 0, time.Now), Guesses: limit.New(0, 0, 0, time.Now), NewReference: id.ReportReference,
		Refused: func(string) {}, Log: slog.New(slog.DiscardHandler),
	})
}

type never struct{}

func (never) Full(context.Context) error { return nil }

// seen is a report as answers show it.
type seen struct {
	ID                     int64
	ReportID               string
	APIKeyID               int64
	MerchantID             string
	SessionReference       *string
	ComplaintType          string
	Name                   string
	PhoneNumber            *string
	WalletAddress          *string
	FraudsterWalletAddress *string
	Description            *string
	Status                 string
	Confirmer              *string
	AdminNotes             *string
	CreatedAt, UpdatedAt   string
	Sequence               int64
}

type answered struct {
	Success bool
	Data    struct {
		Report     seen
		Reports    []seen
		Total      int64
		Limit      int
		Offset     int
		NextCursor *string
		HasMore    *bool
		Pagination struct {
			NextCursor *string
			HasMore    bool
		}
	}
}

func parse(t testing.TB, body []byte) answered {
	t.Helper()
	var a answered
	if err := json.Unmarshal(body, &a); err != nil || !a.Success {
		t.Fatalf("read the answer %s: %v", body, err)
	}
	return a
}

func (w *fixture) try(ctx context.Context, o tenant.Owner, f report.Filing, k idempotency.Key) (idempotency.Answer, error) {
	return w.File(ctx, o, f, &fault.Problems{}, nil, k)
}

func (w *fixture) file(o tenant.Owner, f report.Filing) seen {
	w.t.Helper()
	if f.Kind == "" {
		f.Kind = "fraud"
	}
	if f.Name == "" {
		f.Name = "Ada Obi"
	}
	a, err := w.try(w.t.Context(), o, f, idempotency.Key{})
	if err != nil {
		w.t.Fatal(err)
	}
	return parse(w.t, a.Body).Data.Report
}

func (w *fixture) look(a report.Asked) answered {
	w.t.Helper()
	if a.Limit == 0 {
		a.Limit = 50
	}
	body, err := w.Lookup(w.t.Context(), tenant.Owner{}, a)
	if err != nil {
		w.t.Fatal(err)
	}
	return parse(w.t, body)
}

func (w *fixture) move(o tenant.Owner, reference string, to report.Status) error {
	_, err := w.Change(w.t.Context(), o, "req_1", reference, report.Change{To: to})
	return err
}

// ask reads one value.
func ask[T any](w *fixture, sql string, args ...any) T {
	w.t.Helper()
	var v T
	if err := w.pool.QueryRow(w.t.Context(), sql, args...).Scan(&v); err != nil {
		w.t.Fatalf("query %s: %v", sql, err)
	}
	return v
}

// events lists the webhook events in the outbox.
func (w *fixture) events() []wire.StatusChanged {
	w.t.Helper()
	events := messages[wire.StatusChanged](w, wire.ReportStatusChangedV1)
	for i, e := range events {
		body, err := forEvents.Open(e.Body, wire.BodyPlace(e.EventID))
		if err != nil || bytes.Equal(body, e.Body) {
			w.t.Errorf("the body of %s is in the clear or does not open: %v", e.EventID, err)
		}
		events[i].Body = body
	}
	return events
}

func messages[T any](w *fixture, name wire.Name) []T {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(), `SELECT body FROM outbox WHERE name = $1 ORDER BY id`, string(name))
	if err != nil {
		w.t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v T, err error) {
		var body []byte
		if err = row.Scan(&body); err == nil {
			err = json.Unmarshal(body, &v)
		}
		return v, err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// checkCounts compares every counter with the rows that it counts.
func (w *fixture) checkCounts() {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(), `SELECT mode, coalesce(phone, ''), coalesce(wallet, ''), coalesce(fraudster, ''), kind, status, created_at, merchant_id, id, person, phone_index FROM reports`)
	if err != nil {
		w.t.Fatal(err)
	}
	want, against := map[string]report.Counts{}, map[string]report.Counts{}
	var r report.Report
	var person, index []byte
	_, err = pgx.ForEachRow(rows, []any{&r.Mode, &r.Phone, &r.Wallet, &r.Fraudster, &r.Kind, &r.Status, &r.CreatedAt, &r.MerchantID, &r.ID, &person, &index}, func() error {
		hash, err := w.opened(&r, person, index)
		if err != nil {
			return err
		}
		for _, s := range r.Subjects(hash) {
			for _, day := range []string{"-infinity", r.CreatedAt.UTC().Format(time.DateOnly)} {
				add(want, fmt.Sprintf("%x %s", s, day), r)
			}
		}
		if r.Fraudster != "" {
			add(against, string(r.Mode)+" "+report.AddressKey(r.Fraudster), r)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.compare("counts", `SELECT encode(subject, 'hex') || ' ' || day::text, n FROM report_counts`, want)
	w.compare("accused", `SELECT mode || ' ' || address, n FROM accused`, against)
}

// opened gives a report its phone, and what that is counted by.
func (w *fixture) opened(r *report.Report, person, index []byte) (report.Hash, error) {
	if person == nil {
		return report.Plain, nil
	}
	plain, err := w.ring.Open(person, fmt.Sprint("report/", r.ID))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(plain, r); err != nil { // the field Phone is among them
		return nil, err
	}
	for i, blind := range w.ring.Ring().Blinds(r.Phone, "phone/"+string(r.Mode)) {
		if bytes.Equal(blind, index) {
			return func(text string) []byte { return w.ring.Ring().Blinds(text, "reports")[i] }, nil
		}
	}
	return report.Plain, nil
}

func add(to map[string]report.Counts, key string, r report.Report) {
	c := to[key]
	c[report.Cell(r.Status, r.Kind)]++
	to[key] = c
}

func (w *fixture) compare(what, sql string, want map[string]report.Counts) {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(), sql)
	if err != nil {
		w.t.Fatal(err)
	}
	var key string
	var n []int32
	found := 0
	_, err = pgx.ForEachRow(rows, []any{&key, &n}, func() error {
		found++
		if got := report.Counts(n); got != want[key] {
			return fmt.Errorf("%s of %s are %v, want %v", what, key, got, want[key])
		}
		return nil
	})
	if err != nil || found != len(want) {
		w.t.Errorf("%s: %d rows, want %d: %v", what, found, len(want), err)
	}
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func isCode(err error, code string) bool { return fault.Is(err, code) }

func joined[T any](all []T, f func(T) string) string {
	parts := make([]string, len(all))
	for i, one := range all {
		parts[i] = f(one)
	}
	return strings.Join(parts, " ")
}
