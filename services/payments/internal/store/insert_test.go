//go:build integration

package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/store"
)

// born is what a caller of a create got.
type born struct {
	idempotency.Answer
	err error
}

// atOnce makes creates wait until all are there, so that they share a statement.
func atOnce(w *fixture.Payments, creates ...func() (idempotency.Answer, error)) []born {
	w.T.Helper()
	return behind(w, w.Store.Births, creating(w, fixture.Command(), ""), creates...)
}

// behind makes creates wait behind a first one until all are there.
func behind(w *fixture.Payments, hold func() (<-chan struct{}, func() int, func()), first func() (idempotency.Answer, error), creates ...func() (idempotency.Answer, error)) []born {
	w.T.Helper()
	held, waiting, release := hold()
	out := make([]born, len(creates))
	var callers sync.WaitGroup
	var ended atomic.Int32 // those that are refused before they are written
	callers.Go(func() {
		if _, err := first(); err != nil {
			w.T.Errorf("the first create: %v, want no error", err)
		}
	})
	<-held
	for i, f := range creates {
		callers.Go(func() {
			out[i].Answer, out[i].err = f()
			ended.Add(1)
		})
	}
	until(w, func() bool { return waiting()+int(ended.Load()) == len(creates) })
	release()
	callers.Wait()
	return out
}

func keyed(key string) idempotency.Key {
	return idempotency.Key{Scope: idempotency.Scope("m1", "test", "POST /v1/payments"), Key: key, Hash: [32]byte{1}}
}

func creating(w *fixture.Payments, c payment.Command, key string) func() (idempotency.Answer, error) {
	return func() (idempotency.Answer, error) {
		if key == "" {
			return w.Create(c, idempotency.Key{})
		}
		return w.Create(c, keyed(key))
	}
}

// transactions is how many transactions wrote the payments of answers.
func transactions(w *fixture.Payments, answers []born) int {
	w.T.Helper()
	var references []string
	for _, a := range answers {
		references = append(references, fixture.Reference(w.T, a.Body))
	}
	return fixture.Ask[int](w, `SELECT count(DISTINCT xmin::text) FROM payments WHERE reference = ANY($1)`, references)
}

// Creates that come together are written together, with the same rows as alone.
func TestInsert_together(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(10)
	var mu sync.Mutex
	written := map[string]payment.Payment{}
	w.Intake.Store = &spy{Store: w.Store, seen: func(n change.Newborn) {
		mu.Lock()
		defer mu.Unlock()
		written[n.Payment.Reference] = n.Payment
	}}
	named := fixture.Command()
	named.Shop = payment.Shop{MerchantReference: "o-1", Description: "two \"words\", {a brace} and ẹ̀kọ́", Locale: "sw", ReturnURL: "https://shop.example/"}
	answers := atOnce(w, creating(w, fixture.Command(), "k1"), creating(w, named, "k2"), creating(w, fixture.Gift(), ""), creating(w, fixture.Request(), "k4"))
	for i, a := range answers {
		if a.err != nil {
			t.Fatalf("create %d of four that came together: %v, want no error", i, a.err)
		}
	}
	if n := transactions(w, answers); n != 1 {
		t.Errorf("four creates that came together were written in %d transactions, want 1", n)
	}
	for i, a := range answers {
		read := w.Find(fixture.Reference(t, a.Body)).Payment
		want := written[read.Reference]
		want.Version = 1
		if diff := cmp.Diff(want, read, equalDecimals); diff != "" {
			t.Errorf("written and read differ for create %d:\n%s", i, diff)
		}
		first := "pending"
		if read.Type == payment.Request {
			first = "created"
		}
		if got := w.Events(read); !slices.Equal(got, []string{"1 payment." + first}) {
			t.Errorf("events of create %d = %v, want one payment.%s", i, got, first)
		}
		if got := fixture.Ask[string](w, `SELECT version || ' ' || n || ' ' || trigger || ' ' || from_state || ' ' || to_state FROM history WHERE payment_id = $1`, read.ID); got != "1 1 create none "+first {
			t.Errorf("history of create %d = %q", i, got)
		}
	}
	for i, key := range map[int]string{0: "k1", 1: "k2", 3: "k4"} {
		if a, err := w.Create(fixture.Command(), keyed(key)); err != nil || !a.Replayed || string(a.Body) != string(answers[i].Body) {
			t.Errorf("create %d repeated with its key = replayed %t, %v, %s; want the answer %s", i, a.Replayed, err, a.Body, answers[i].Body)
		}
	}
	if _, err := w.Create(named, idempotency.Key{}); !fault.Is(err, "merchant_reference_used") {
		t.Errorf("create with the reference of a payment that came with others: %v, want merchant_reference_used", err)
	}
}

// Each of the creates that came together has its own answer, whatever is wrong with another.
func TestInsert_togetherWithOnesThatFail(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(20)
	named := func(reference string) payment.Command {
		c := fixture.Command()
		c.Shop.MerchantReference = reference
		return c
	}
	first, err := w.Create(fixture.Command(), keyed("used"))
	if err != nil {
		t.Fatal(err)
	}
	w.Make(named("taken"))
	good := []func() (idempotency.Answer, error){creating(w, fixture.Command(), "a"), creating(w, named("free"), "b"), creating(w, fixture.Command(), "")}
	for name, wrong := range map[string][]func() (idempotency.Answer, error){
		"a key that has an answer": {creating(w, fixture.Command(), "used")},
		"one key twice":            {creating(w, fixture.Command(), "twice"), creating(w, fixture.Command(), "twice")},
		"a taken reference":        {creating(w, named("taken"), "c")},
		"one reference twice":      {creating(w, named("twice"), "d"), creating(w, named("twice"), "e")},
	} {
		before := fixture.Ask[int](w, `SELECT count(*) FROM payments`)
		answers := atOnce(w, slices.Concat(good, wrong)...)
		for i, a := range answers[:len(good)] {
			if a.err != nil {
				t.Errorf("create %d beside %s: %v, want no error", i, name, a.err)
			}
		}
		if n := transactions(w, answers[:len(good)]); n != 1 {
			t.Errorf("creates beside %s were written in %d transactions, want 1", name, n)
		}
		made, refused := fixture.Ask[int](w, `SELECT count(*) FROM payments`)-before-1, 0 // without the one that held the others up
		bodies := map[string]int{}
		for _, a := range answers[len(good):] {
			bodies[string(a.Body)]++
			if fault.Is(a.err, "merchant_reference_used") {
				refused++
			} else if a.err != nil {
				t.Errorf("%s: got %v", name, a.err)
			}
		}
		switch want := made - len(good); {
		case name == "a key that has an answer" && (want != 0 || bodies[string(first.Body)] != 1):
			t.Errorf("%s: %d payments were made, and %d answers are the first one; want none and one", name, want, bodies[string(first.Body)])
		case name == "one key twice" && (want != 1 || len(bodies) != 1):
			t.Errorf("%s: %d payments and %d answers, want one", name, want, len(bodies))
		case name == "a taken reference" && (want != 0 || refused != 1):
			t.Errorf("%s: %d payments and %d refusals, want none and one", name, want, refused)
		case name == "one reference twice" && (want != 1 || refused != 1):
			t.Errorf("%s: %d payments and %d refusals, want one of each", name, want, refused)
		}
		good = []func() (idempotency.Answer, error){creating(w, fixture.Command(), name), creating(w, fixture.Gift(), ""), creating(w, fixture.Request(), "")}
	}
}

// An address that has received money is given to no payment. The create takes another one, and those beside it are
// written.
func TestInsert_togetherWithAUsedAddress(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	w.SQL(`INSERT INTO deposits (mode, key, version, family, network, address, asset, contract, tx_hash, amount, reverted, block_height, block_hash, first_seen_at, depth, finalized, senders)
		SELECT 'test', 'k' || id, 1, family, 'tron', address, 'USDT', '', 'h' || id, 1, false, 1, '', now(), 1, false, '{}' FROM address_stock WHERE id % 2 = 0`)
	for i, a := range atOnce(w, creating(w, fixture.Command(), "a"), creating(w, fixture.Command(), "b"), creating(w, fixture.Command(), "c")) {
		if a.err != nil {
			t.Errorf("create %d: %v, want no error", i, a.err)
		}
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments p JOIN deposits d USING (mode, family, address)`); n != 0 {
		t.Errorf("%d payments have an address that had received money, want none", n)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments`); n != 4 {
		t.Errorf("%d payments were made, want 4", n)
	}
}

// A create whose key or reference another transaction has in hand waits for it alone. Those beside it do not.
func TestInsert_togetherWithALockedOne(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	w.Store = store.New(pg.LockTimeout(t, w.Pool, "0"), w.Store.Options) // a statement that waits by itself waits for ever
	w.With(func(d *fixture.Deps) { d.Store = w.Store })
	tx, err := w.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if err := idempotency.Put(t.Context(), tx, keyed("held"), idempotency.Answer{Status: 201, Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	begun, waiting, release := w.Store.Births()
	var others, held sync.WaitGroup
	others.Go(func() { w.Make(fixture.Command()) })
	<-begun
	for _, key := range []string{"a", "b"} {
		others.Go(func() {
			if _, err := w.Create(fixture.Command(), keyed(key)); err != nil {
				t.Errorf("create beside one whose key is held: %v, want no error", err)
			}
		})
	}
	var got born
	held.Go(func() { got.Answer, got.err = w.Create(fixture.Command(), keyed("held")) })
	until(w, func() bool { return waiting() == 3 })
	release()
	others.Wait() // while the key is held
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	held.Wait()
	if !got.Replayed || string(got.Body) != "{}" {
		t.Errorf("create under the held key = %s, %v; want its stored answer", got.Body, got.err)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments`); n != 3 {
		t.Errorf("%d payments were made, want 3", n)
	}
}

// Creates of which nobody knows whether they are written are not written again.
func TestInsert_togetherAndLost(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	w.SQL(`CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF (SELECT count(*) FROM payments) > 2 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL;
END $$`)
	w.SQL(`CREATE CONSTRAINT TRIGGER lose AFTER INSERT ON payments DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION lose()`)
	for i, a := range atOnce(w, creating(w, fixture.Command(), "a"), creating(w, fixture.Command(), ""), creating(w, fixture.Command(), "c")) {
		if a.err == nil {
			t.Errorf("create %d whose connection was lost had no error", i)
		}
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments`); n != 1 {
		t.Errorf("%d payments are there, want only the one before: a create was written again", n)
	}
	w.SQL(`DROP TRIGGER lose ON payments`)
	for _, key := range []string{"a", "c"} {
		if a, err := w.Create(fixture.Command(), keyed(key)); err != nil || a.Replayed {
			t.Errorf("create with the key of a lost one: replayed %t, %v; want a new payment", a.Replayed, err)
		}
	}
}

// Creates that come together count against daily limits as they do one after another.
func TestInsert_togetherWithinALimit(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	limits := map[money.Currency]decimal.Decimal{money.NGN: decimal.NewFromInt(270_000)} // five creates of 50 000
	daily := admission.Daily{Settings: map[string]map[money.Currency]decimal.Decimal{admission.LimitKey: limits, admission.LimitReceiver: limits}, Terms: admission.NewTerms(w.Store.BindingTerms)}
	o := w.Store.Options
	o.Daily = daily
	w.Store = store.New(w.Pool, o)
	w.With(func(d *fixture.Deps) {
		d.Store, d.Daily, d.Terms, d.Pauses = w.Store, daily, daily.Terms, admission.NewPauses(w.Store.Pauses)
		d.Providers = map[tenant.Mode]provider.Set{tenant.Test: d.Providers[tenant.Test], tenant.Live: d.Providers[tenant.Test]}
	})
	w.Fill(30)
	w.SQL(`UPDATE address_stock SET mode = 'live' WHERE id % 2 = 0`)
	live := func(key int64, account string) func() (idempotency.Answer, error) {
		c := fixture.Command()
		c.Receiver.AccountNumber = account
		return func() (idempotency.Answer, error) {
			return w.Intake.Create(t.Context(), tenant.Owner{MerchantID: "m1", KeyID: key, Mode: tenant.Live}, c, &fault.Problems{}, idempotency.Key{})
		}
	}
	within := behind(w, w.Store.Limited, live(3, "9123456789"), live(1, "0123456789"), live(1, "1123456789"), live(2, "0123456789"), live(2, "2123456789"))
	for i, a := range within {
		if a.err != nil {
			t.Fatalf("create %d within the limits: %v, want no error", i, a.err)
		}
	}
	if n := transactions(w, within); n != 1 {
		t.Errorf("creates within the limits were written in %d transactions, want 1", n)
	}
	used := func() string {
		return fixture.Ask[string](w, `SELECT string_agg(kind || ' ' || used::int, ', ' ORDER BY kind, used) FROM limit_usage`)
	}
	if got, want := used(), "key 50000, key 100000, key 100000, receiver 50000, receiver 50000, receiver 50000, receiver 100000"; got != want {
		t.Errorf("used limits are %s, want %s", got, want)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM limit_reservations r JOIN payments p ON p.id = r.payment_id WHERE p.mode = 'live' AND r.amount = 50000`); n != 10 {
		t.Errorf("%d reservations of five payments are there, want 10", n)
	}
	refused := 0
	for i, a := range behind(w, w.Store.Limited, live(3, "8123456789"), live(1, "3123456789"), live(1, "4123456789"), live(1, "5123456789"), live(1, "6123456789"), live(2, "3123456789")) {
		switch over := fault.Is(a.err, "daily_limit_exceeded"); {
		case over && i < 4:
			refused++
		case a.err != nil:
			t.Errorf("create %d about the limit: %v", i, a.err)
		}
	}
	if got, want := used(), "key 100000, key 150000, key 250000"; refused != 1 || !strings.HasPrefix(got, want) {
		t.Errorf("%d of five creates were refused, and the used limits are %s; want one and %s", refused, got, want)
	}
	beside := behind(w, w.Store.Limited, live(3, "0223456789"), live(4, "0323456789"), live(1, "0423456789"), live(5, "0523456789"))
	if !fault.Is(beside[1].err, "daily_limit_exceeded") {
		t.Errorf("create above the limit of its key: %v, want daily_limit_exceeded", beside[1].err)
	}
	if n := transactions(w, []born{beside[0], beside[2]}); n != 1 {
		t.Errorf("creates beside one above a limit were written in %d transactions, want 1", n)
	}
}

// Creates of the first minutes of a day keep their answers in the partitions of both days.
func TestInsert_togetherAtMidnight(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	w.SQL(`CREATE OR REPLACE FUNCTION idempotency_slots() RETURNS SETOF smallint LANGUAGE sql STABLE AS 'VALUES (3::smallint), (2::smallint)'`)
	answers := atOnce(w, creating(w, fixture.Command(), "a"), creating(w, fixture.Command(), "b"))
	for i, key := range []string{"a", "b"} {
		if a, err := w.Create(fixture.Command(), keyed(key)); answers[i].err != nil || err != nil || string(a.Body) != string(answers[i].Body) {
			t.Errorf("create %d and again = %v, %v, %s; want the same answer", i, answers[i].err, err, a.Body)
		}
	}
	if got := fixture.Ask[string](w, `SELECT string_agg(slot::text, ' ' ORDER BY slot) FROM idempotency`); got != "2 2 3 3" {
		t.Errorf("answers of two creates are in the slots %s, want 2 2 3 3", got)
	}
}

// A create whose caller has left before it was sent is not written.
func TestInsert_togetherWithOneThatLeft(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	ctx, leave := context.WithCancel(t.Context())
	held, waiting, release := w.Store.Births()
	var callers sync.WaitGroup
	callers.Go(func() { w.Make(fixture.Command()) })
	<-held
	left := make(chan error, 1)
	go func() {
		_, err := w.Intake.Create(ctx, fixture.Owner, fixture.Command(), &fault.Problems{}, keyed("left"))
		left <- err
	}()
	callers.Go(func() { w.Make(fixture.Command()) })
	until(w, func() bool { return waiting() == 2 })
	leave()
	if err := <-left; err == nil {
		t.Error("create of a caller that left had no error")
	}
	release()
	callers.Wait()
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments`); n != 2 {
		t.Errorf("%d payments were made, want the 2 of those who stayed", n)
	}
}

// A lone create and one of many find their rows by indexes, in a young database as well.
func TestPlans_inserts(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.SQL(insertCrowd, 1, 3000)
	w.SQL(insertCrowdDeposits, 1, 3000)
	w.SQL(`INSERT INTO merchant_references (merchant_id, mode, reference, payment_id) SELECT 'm' || n % 50, 'test', 'o-' || n, 'pay_' || lpad(n::text, 26, '0') FROM generate_series(1, 3000) n`)
	w.SQL(`INSERT INTO idempotency (slot, id, hash, status, body) SELECT n % 5, decode(md5(n::text), 'hex'), '\x01', 201, '{}' FROM generate_series(1, 3000) n`)
	w.SQL(`ANALYZE payments, deposits, merchant_references, idempotency`)
	for _, name := range []string{"insertPayments", "insertPaymentsLimited"} {
		var raw []string
		err := pgx.BeginFunc(t.Context(), w.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), store.Statements()["briefly"]); err != nil {
				return err
			}
			if _, err := tx.Exec(t.Context(), "PREPARE "+name+" AS "+store.Statements()[name]); err != nil {
				return err
			}
			n := 0
			for strings.Contains(store.Statements()[name], fmt.Sprintf("$%d::", n+1)) {
				n++
			}
			rows, err := tx.Query(t.Context(), "EXPLAIN EXECUTE "+name+"("+strings.TrimSuffix(strings.Repeat("NULL, ", n), ", ")+")", pgx.QueryExecModeSimpleProtocol)
			if err != nil {
				return err
			}
			if raw, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
				return err
			}
			return errRollback
		})
		if !errors.Is(err, errRollback) {
			t.Fatalf("plan %s: %v", name, err)
		}
		for _, step := range raw {
			if strings.Contains(step, "Seq Scan") {
				t.Errorf("%s reads the whole of a table: %s", name, step)
			}
		}
	}
}

var errRollback = fmt.Errorf("undone by the test")
