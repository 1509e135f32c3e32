//go:build integration

package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"causeway.internal/libs/discard"
	"causeway.internal/libs/erasure"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/inbox"
	"causeway.internal/libs/money"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/rate"
	"causeway.internal/services/payments/internal/stock"
	"causeway.internal/services/payments/internal/store"
	"causeway.internal/services/payments/migrations"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQueriesPrepare(t *testing.T) {
	t.Parallel()
	pg.Prepare(t, pg.New(t, migrations.FS), store.Statements())
}

func TestMigrations_holdTheLibrariesTables(t *testing.T) {
	t.Parallel()
	pg.Holds(t, migrations.FS, outbox.Schema)
	pg.Holds(t, migrations.FS, inbox.Schema)
	pg.Holds(t, migrations.FS, discard.Schema)
	pg.Holds(t, migrations.FS, idempotency.Schema)
	pg.Holds(t, migrations.FS, erasure.Schema)
}

func TestMigrations_closeFunctions(t *testing.T) {
	t.Parallel()
	pg.Closed(t, pg.New(t, migrations.FS), migrations.FS)
}

func TestMigrations_fewIndexesOnPayments(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if n := ask[int](w, `SELECT count(*) FROM pg_indexes WHERE tablename = 'payments'`); n > 6 {
		t.Errorf("%d indexes on payments; every create pays for each", n)
	}
}

var equalDecimals = cmp.Comparer(func(a, b decimal.Decimal) bool { return a.Equal(b) })

// Every field that is read equals the written one.
func TestInsert_roundTrip(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(10)
	var written payment.Payment
	catch := &spy{Store: w.store, seen: func(n change.Newborn) { written = n.Payment }}
	w.app.Intake.Store = catch
	a, err := w.create(command(), idempotency.Key{})
	if err != nil {
		t.Fatal(err)
	}
	read := w.find(reference(t, a.Body)).Payment
	written.Version = 1
	if diff := cmp.Diff(written, read, equalDecimals); diff != "" {
		t.Errorf("written and read differ:\n%s", diff)
	}
	if got := w.events(read); !slices.Equal(got, []string{"1 payment.pending"}) {
		t.Errorf("events %v", got)
	}
	if got := ask[string](w, `SELECT trigger || ' ' || from_state || ' ' || to_state FROM history WHERE payment_id = $1`, read.ID); got != "create none pending" {
		t.Errorf("history %q", got)
	}
}

type spy struct {
	*store.Store
	seen func(change.Newborn)
}

func (s *spy) Insert(ctx context.Context, n change.Newborn) error {
	s.seen(n)
	return s.Store.Insert(ctx, n)
}

// The answer has exactly the fields of docs/api-contract.md#answers for a transfer.
func TestCreate_answer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(1)
	a, err := w.create(command(), idempotency.Key{})
	if err != nil {
		t.Fatal(err)
	}
	if a.Status != 201 {
		t.Errorf("status %d", a.Status)
	}
	var got struct {
		Success bool
		Payment map[string]json.RawMessage
	}
	if err := json.Unmarshal(a.Body, &got); err != nil || !got.Success {
		t.Fatalf("%s: %v", a.Body, err)
	}
	var names []string
	for name := range got.Payment {
		names = append(names, name)
	}
	slices.Sort(names)
	want := strings.Fields("charge crypto cryptoAmount depositAddress expiresAt fiatAmount fiatCurrency network rate reference status transactionUsd type")
	if !slices.Equal(names, want) {
		t.Errorf("fields %v, want %v", names, want)
	}
	for name, want := range map[string]string{
		"type": `"transfer"`, "status": `"pending"`, "crypto": `"USDT"`, "network": `"trc20"`, "fiatAmount": "50000", "cryptoAmount": "31.25",
		"rate": "1600", "transactionUsd": "31.25", "charge": `{"fiat":500,"crypto":0.3125,"usd":0.31}`, "fiatCurrency": `"NGN"`,
	} {
		if string(got.Payment[name]) != want {
			t.Errorf("%s is %s, want %s", name, got.Payment[name], want)
		}
	}
}

func TestCreate_manyAtOnceHaveAddressesOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(400)
	const creates = 300
	addresses := make(chan string, creates)
	var all sync.WaitGroup
	for range creates {
		all.Go(func() {
			a, err := w.create(command(), idempotency.Key{})
			if err != nil {
				t.Error(err)
				return
			}
			var got struct {
				Payment struct{ DepositAddress string }
			}
			if err := json.Unmarshal(a.Body, &got); err != nil {
				t.Error(err)
			}
			addresses <- got.Payment.DepositAddress
		})
	}
	all.Wait()
	close(addresses)
	seen := map[string]bool{}
	for a := range addresses {
		seen[a] = true
	}
	if len(seen) != creates {
		t.Errorf("%d different addresses of %d", len(seen), creates)
	}
	if err := w.store.CleanStock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := ask[int](w, `SELECT count(*) FROM address_stock s JOIN payments p USING (mode, family, address)`); n != 0 {
		t.Errorf("%d used addresses are still in the stock", n)
	}
	if n := ask[int](w, `SELECT count(*) FROM address_stock`); n != 100 {
		t.Errorf("%d addresses left, want 100", n)
	}
}

func TestCreate_oneKeyOnePayment(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(64)
	k := idempotency.Key{Scope: idempotency.Scope("m1", "test", "POST /v1/payments"), Key: "k1", Hash: [32]byte{1}}
	bodies := make(chan []byte, 16)
	for range cap(bodies) {
		go func() {
			a, err := w.create(command(), k)
			if err != nil || a.Status != 201 {
				t.Errorf("%d %v", a.Status, err)
			}
			bodies <- a.Body
		}()
	}
	first := <-bodies
	for range cap(bodies) - 1 {
		if b := <-bodies; !bytes.Equal(b, first) {
			t.Errorf("two answers:\n%s\n%s", first, b)
		}
	}
	if n := ask[int](w, `SELECT count(*) FROM payments`); n != 1 {
		t.Errorf("%d payments", n)
	}
	if a, err := w.create(command(), k); err != nil || !a.Replayed || !bytes.Equal(a.Body, first) {
		t.Errorf("replay %v %v", a.Replayed, err)
	}
	k.Hash[0]++
	if _, err := w.create(command(), k); !fault.Is(err, "idempotency_key_reused") {
		t.Errorf("other body: %v", err)
	}
}

// noRates is an aggregator without a fresh quorum.
type noRates struct{ rate.Aggregator }

func (noRates) Quote(fiat money.Currency, asset string) (quote.Rate, error) {
	return quote.Rate{}, rate.Unavailable(fiat, asset)
}

// A key that has an answer replays it before any other check, and another body under the key is refused first. A
// refused create returns its reserved address.
func TestCreate_keyIsAnsweredWhateverElseIsWrong(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(2)
	k := idempotency.Key{Scope: idempotency.Scope("m1", "test", "POST /v1/payments"), Key: "k1", Hash: [32]byte{1}}
	first, err := w.create(command(), k)
	if err != nil {
		t.Fatal(err)
	}
	other := k
	other.Hash[0]++
	whole := w.app.Deps
	dark, closed := whole, whole
	dark.Worlds = map[tenant.Mode]provider.Set{tenant.Test: {Rates: noRates{}, Rail: w.bank}}
	closed.Worlds = nil
	wrong := command()
	wrong.Type = "loan"
	for name, test := range map[string]struct {
		deps    app.Deps
		command payment.Command
	}{
		"nothing is wrong": {whole, command()}, "the body": {whole, wrong}, "no rate": {dark, command()}, "no mode": {closed, command()},
	} {
		w.with(func(d *app.Deps) { *d = test.deps })
		for range 3 { // more often than there are addresses
			a, err := w.create(test.command, k)
			if err != nil || !a.Replayed || !bytes.Equal(a.Body, first.Body) {
				t.Errorf("%s: %v %v %s", name, err, a.Replayed, a.Body)
			}
			if _, err := w.create(test.command, other); !fault.Is(err, "idempotency_key_reused") {
				t.Errorf("%s, another body: %v", name, err)
			}
		}
	}
	w.with(func(d *app.Deps) { *d = whole })
	if _, err := w.create(wrong, idempotency.Key{Scope: k.Scope, Key: "k2"}); fault.As(err).Kind != fault.Invalid {
		t.Errorf("a fresh key with a wrong body: %v", err)
	}
	if _, err := w.create(command(), idempotency.Key{Scope: k.Scope, Key: "k2"}); err != nil {
		t.Errorf("the last address: %v", err)
	}
	if n := ask[int](w, `SELECT count(*) FROM payments`); n != 2 {
		t.Errorf("%d payments, want 2", n)
	}
}

// A key of two days ago is in another partition than a key of today.
func TestCreate_keyOfAnOlderPartition(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(8)
	k := idempotency.Key{Scope: idempotency.Scope("m1", "test", "POST /v1/payments"), Key: "k1", Hash: [32]byte{1}}
	first, err := w.create(command(), k)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		w.sql(`WITH old AS (DELETE FROM idempotency RETURNING *)
			INSERT INTO idempotency SELECT DISTINCT (SELECT (slot + 1) % 5 FROM idempotency LIMIT 1), id, hash, status, body, secret, secret_until FROM old`)
		if a, err := w.create(command(), k); err != nil || !a.Replayed || !bytes.Equal(a.Body, first.Body) {
			t.Errorf("slot %d: %v %v", ask[int](w, `SELECT min(slot) FROM idempotency`), a.Replayed, err)
		}
	}
	if n := ask[int](w, `SELECT count(*) FROM payments`); n != 1 {
		t.Errorf("%d payments", n)
	}
}

func TestCreate_dryStock(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	start := time.Now()
	_, err := w.create(command(), idempotency.Key{})
	if !errors.Is(err, stock.ErrNoAddress) {
		t.Fatalf("no stock: %v", err)
	}
	if waited := time.Since(start); waited < 2*time.Second || waited > 5*time.Second {
		t.Errorf("waited %v, want about 3 s", waited)
	}
	if n := ask[int](w, `SELECT count(*) FROM payments`); n != 0 {
		t.Error("a payment was written")
	}
	done := make(chan error, 1)
	go func() {
		_, err := w.create(command(), idempotency.Key{})
		done <- err
	}()
	w.fill(1) // the waiting create finds it
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// An address that received money before a payment had it is given to no payment.
func TestCreate_passesOverASpoiltAddress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(3)
	first := w.made(command()) // leases all three
	stray := first
	stray.Address = ask[string](w, `SELECT address FROM address_stock WHERE address <> $1 ORDER BY id LIMIT 1`, first.Address)
	w.see(stray, coin{key: "t1", amount: "5", version: 1, depth: 30})
	next := w.made(command())
	if next.Address == stray.Address {
		t.Error("a spoilt address was handed out")
	}
	if got := ask[string](w, `SELECT string_agg(account || ' ' || side || ' ' || amount, ', ' ORDER BY line) FROM ledger_entries`); got !=
		"test:crypto:deposit:tron:USDT debit 5, test:suspense:USDT credit 5" {
		t.Errorf("booked %s", got)
	}
	w.see(stray, coin{key: "t1", amount: "5", version: 2, depth: 0, reverted: true})
	if n := ask[int](w, `SELECT count(*) FROM ledger_journals`); n != 2 {
		t.Errorf("%d journals after the reorg, want the booking and its reversal", n)
	}
	w.balanced()
	if w.alerts.Load() == 0 {
		t.Error("nobody was told")
	}
}

func TestFind_anotherOwnerSeesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(1)
	p := w.made(command())
	for _, o := range []tenant.Owner{{MerchantID: "m2", Mode: tenant.Test}, {MerchantID: "m1", Mode: tenant.Live}} {
		if _, err := w.app.Show(t.Context(), o, p.Reference); !errors.Is(err, change.ErrNotFound) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := w.app.Show(t.Context(), owner, "CW-nonsense"); !errors.Is(err, change.ErrNotFound) {
		t.Errorf("malformed: %v", err)
	}
}

func TestLedger_refusesWhatDoesNotBalance(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for name, text := range map[string]string{
		"unbalanced": `WITH j AS (INSERT INTO ledger_journals (key, event) VALUES ('a', 'e') RETURNING id)
			INSERT INTO ledger_entries SELECT id, n, 'x', 'NGN', s, a FROM j, (VALUES (1, 'debit', 2), (2, 'credit', 1)) v(n, s, a)`,
		"two assets": `WITH j AS (INSERT INTO ledger_journals (key, event) VALUES ('b', 'e') RETURNING id)
			INSERT INTO ledger_entries SELECT id, n, 'x', c, s, 1 FROM j, (VALUES (1, 'debit', 'NGN'), (2, 'credit', 'GHS')) v(n, s, c)`,
		"empty": `INSERT INTO ledger_journals (key, event) VALUES ('c', 'e')`,
	} {
		if _, err := w.pool.Exec(t.Context(), text); err == nil || !strings.Contains(err.Error(), "does not balance") {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.sql(`WITH j AS (INSERT INTO ledger_journals (key, event) VALUES ('d', 'e') RETURNING id)
		INSERT INTO ledger_entries SELECT id, n, 'x', 'NGN', s, 1 FROM j, (VALUES (1, 'debit'), (2, 'credit')) v(n, s)`)
	for _, text := range []string{
		`UPDATE ledger_entries SET amount = 2`, `DELETE FROM ledger_entries`, `TRUNCATE ledger_entries`,
		`UPDATE ledger_journals SET key = 'x'`, `DELETE FROM ledger_journals`, `TRUNCATE ledger_journals`,
		`TRUNCATE history`,
	} {
		if _, err := w.pool.Exec(t.Context(), text); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A request on a payment that another change has locked is refused as busy and changes nothing.
func TestUpdate_ofAPaymentThatIsHeld(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(4)
	p := w.made(command())
	held, err := w.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := held.Exec(t.Context(), `SELECT FROM payments WHERE id = $1 FOR UPDATE`, p.ID); err != nil {
		t.Fatal(err)
	}
	_, err = w.app.Cancel(t.Context(), owner, p.Reference, idempotency.Key{})
	if f := fault.As(err); f.Code != "busy" || f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
		t.Errorf("cancelled beside another change: %v", err)
	}
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.status(p); got != "pending" {
		t.Errorf("status %s", got)
	}
}
