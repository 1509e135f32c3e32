//go:build integration

package store_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/payouts"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail/sim"
	"causeway.internal/services/payments/internal/rate/fixed"
	"causeway.internal/services/payments/internal/stock"
	"causeway.internal/services/payments/internal/store"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/migrations"
)

var owner = tenant.Owner{MerchantID: "m1", KeyID: 7, Mode: tenant.Test}

// fixture is payments without HTTP and broker: use cases over a real database, with the simulated bank.
type fixture struct {
	t      testing.TB
	cfg    postgres.Config
	pool   *pgxpool.Pool
	store  *store.Store
	app    *app.App
	worker *payouts.Worker
	crash  func(step string) bool // where the worker dies
	bank   *sim.Rail
	ring   *keyring.Ring
	alerts atomic.Int32
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	cfg := pg.Config(t, migrations.FS)
	w := &fixture{t: t, cfg: cfg, pool: pg.Open(t, cfg, migrations.FS)}
	tel := telemetrytest.ForTest(t)
	render := views.Renderer{PublicURL: "https://pay.example"}
	ring, err := keyring.Parse("k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	w.ring = ring
	w.store = store.New(w.pool, store.Options{
		Render: render, Keys: ring, TokenKeys: ring, TokenLife: 24 * time.Hour, Alert: func(string) { w.alerts.Add(1) }, Log: tel.Log,
	})
	statement, err := store.OpenSimStatement(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(statement.Close)
	w.bank = sim.New(statement, time.Now)
	stock := stock.New(w.store, id.New("replica_", time.Now()), 64, tel.Log)
	t.Cleanup(func() { stock.Close(context.Background()) })
	w.app = app.New(app.Deps{
		Keys:  ring,
		Store: w.store, Stock: stock, Full: outbox.NewBacklog(w.pool, outbox.MaxRows).Full, Policy: payment.Defaults(), Render: render,
		Worlds:   map[tenant.Mode]provider.Set{tenant.Test: {Rates: fixed.New(time.Now), Rail: w.bank, Timing: payout.TestTiming(), NameWait: time.Second}},
		Callback: func(tenant.Mode, string) error { return nil }, Now: time.Now, Log: tel.Log,
		Refusal: func(_ context.Context, f *fault.Error) idempotency.Answer {
			return idempotency.Answer{Status: 409, Body: []byte(f.Code)}
		},
	})
	w.worker = w.newWorker(false)
	return w
}

// with makes the use cases and the worker again with changed dependencies.
func (w *fixture) with(edit func(d *app.Deps)) {
	deps := w.app.Deps
	edit(&deps)
	w.app = app.New(deps)
	w.worker = w.newWorker(false)
}

// newWorker makes a worker of payouts, as another replica would have one.
func (w *fixture) newWorker(asksFirst bool) *payouts.Worker {
	o := w.app.Worker(w.store, 8)
	o.AskFirst, o.Crash = asksFirst, func(step string) bool { return w.crash != nil && w.crash(step) }
	return payouts.New(o)
}

// crashAt makes the worker crash at the steps that die chooses.
func (w *fixture) crashAt(die func(step string) bool) { w.crash = die }

// fill puts fresh tron addresses into the stock, as wallets does.
func (w *fixture) fill(n int) {
	w.t.Helper()
	for n > 0 {
		m := wire.AddressesAllocated{RequestID: id.New("req_", time.Now()), Mode: tenant.Test, Family: money.Tron, Part: 1, Parts: 1}
		for range min(n, wire.AddressesMax) {
			m.Addresses = append(m.Addresses, wire.Address{WalletID: id.New(id.Wallet, time.Now()), Address: id.New("T", time.Now())})
		}
		w.sql(`INSERT INTO address_requests (mode, family, request_id, count) VALUES ('test', 'tron', $1, $2)
			ON CONFLICT (mode, family) DO UPDATE SET request_id = excluded.request_id, parts = 0`, m.RequestID, n)
		if err := stock.Allocated(w.store.Fill)(w.t.Context(), id.New(id.Message, time.Now()), m); err != nil {
			w.t.Fatal(err)
		}
		n -= len(m.Addresses)
	}
}

func number(s string) *decimal.Decimal {
	d := decimal.RequireFromString(s)
	return &d
}

// command is a transfer of NGN 50 000 by USDT on tron, fee from fiat: the payer owes 31.25 USDT.
func command() payment.Command {
	return payment.Command{
		Type: "transfer", FiatAmount: number("50000"), FiatCurrency: "NGN", Crypto: "usdt", Network: "TRC20", ChargeFrom: "fiat",
		Payer: &payment.PayerInput{ChatID: "chat-1"}, Receiver: &payment.ReceiverInput{BankCode: "058", AccountNumber: "0123456789"},
		Metadata: []byte(`{"order":"<1>"}`), CallbackURL: "http://shop.example/hook",
	}
}

func (w *fixture) create(c payment.Command, k idempotency.Key) (idempotency.Answer, error) {
	return w.app.Create(w.t.Context(), owner, c, &fault.Problems{}, k)
}

// made creates a payment and returns it as stored.
func (w *fixture) made(c payment.Command) payment.Payment {
	w.t.Helper()
	a, err := w.create(c, idempotency.Key{})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.find(reference(w.t, a.Body)).Payment
}

func reference(t testing.TB, body []byte) string {
	t.Helper()
	var got struct{ Payment struct{ Reference string } }
	if err := json.Unmarshal(body, &got); err != nil || got.Payment.Reference == "" {
		t.Fatalf("answer %s: %v", body, err)
	}
	return got.Payment.Reference
}

// find reads a whole payment, and checks that a GET, which reads fewer columns, shows the same.
func (w *fixture) find(ref string) change.View {
	w.t.Helper()
	all, err := w.store.FindAny(w.t.Context(), ref)
	if err != nil {
		w.t.Fatal(err)
	}
	part, err := w.store.Find(w.t.Context(), owner, ref)
	if err != nil {
		w.t.Fatal(err)
	}
	if whole, shown := w.shown(all), w.shown(part); shown != whole {
		w.t.Errorf("a GET shows\n%s\nof\n%s", shown, whole)
	}
	return all
}

func (w *fixture) shown(v change.View) string {
	w.t.Helper()
	body, err := views.Renderer{PublicURL: "https://pay.example"}.Shown(v)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(body)
}

// coin is a transfer on the simulated chain.
type coin struct {
	key      string
	amount   string // in USDT
	version  int64
	depth    int64
	reverted bool
	unmined  bool
	at       time.Time
}

func (w *fixture) message(p payment.Payment, c coin) wire.DepositChanged {
	w.t.Helper()
	n, _ := money.NetworkOf("tron")
	a, _ := n.Asset("USDT")
	state := wire.Seen
	if c.depth > 0 {
		state = wire.Confirmed
	}
	if c.reverted {
		state = wire.Reverted
	}
	if c.at.IsZero() {
		c.at = time.Now()
	}
	m := wire.DepositChanged{
		Key: "tron:" + c.key + ":0", Version: c.version, Mode: tenant.Test, Family: money.Tron, Network: "tron", Address: p.Address, Asset: "USDT",
		TxHash: c.key, State: state, BlockHeight: 100, BlockHash: "h", BlockTime: c.at, Amount: a.ToUnits(decimal.RequireFromString(c.amount)).String(),
		Depth: c.depth, Head: 99 + c.depth, FirstSeenAt: c.at,
	}
	if c.unmined {
		m.BlockHeight, m.BlockHash, m.BlockTime = 0, "", time.Time{}
	}
	return m
}

// deliver delivers a snapshot in a new message.
func (w *fixture) deliver(m wire.DepositChanged) {
	w.t.Helper()
	if err := w.app.DepositChanged(w.t.Context(), id.New(id.Message, time.Now()), m); err != nil {
		w.t.Fatalf("DepositChanged(%s of %s USDT, depth %d) = %v, want no error", m.State, m.Amount, m.Depth, err)
	}
}

// see delivers a snapshot of a transfer to a payment.
func (w *fixture) see(p payment.Payment, c coin) {
	w.t.Helper()
	w.deliver(w.message(p, c))
}

// scanned reports that tron is scanned through a time.
func (w *fixture) scanned(height int64, at time.Time) {
	w.t.Helper()
	m := wire.ScannedThrough{Mode: tenant.Test, Network: "tron", Height: height, BlockTime: at}
	if err := admission.Scanned(w.store.Advance)(w.t.Context(), "scanned", m); err != nil {
		w.t.Fatal(err)
	}
}

// sql runs a statement of the test.
func (w *fixture) sql(text string, args ...any) {
	w.t.Helper()
	if _, err := w.pool.Exec(w.t.Context(), text, args...); err != nil {
		w.t.Fatal(err)
	}
}

// ask scans one value.
func ask[T any](w *fixture, text string, args ...any) (v T) {
	w.t.Helper()
	if err := w.pool.QueryRow(w.t.Context(), text, args...).Scan(&v); err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	return v
}

// work processes due payouts until the condition holds, for at most a minute.
func (w *fixture) work(until func() bool) {
	w.t.Helper()
	limit := time.Now().Add(time.Minute)
	for !until() {
		due, err := w.store.DuePayouts(w.t.Context(), 16)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, o := range due {
			if err := w.worker.Step(w.t.Context(), o); err != nil {
				w.t.Log("step:", err)
			}
		}
		if time.Now().After(limit) {
			w.t.Fatalf("not within a minute: %s", w.dump())
		}
	}
}

func (w *fixture) dump() string {
	return ask[string](w, `SELECT coalesce(json_agg(p)::text, '') || coalesce((SELECT json_agg(o)::text FROM (SELECT state, next_at, lease_until, sends, polls, misses, taken_until FROM payouts LIMIT 3) o), '') FROM (SELECT status, exception, funding, payout FROM payments LIMIT 3) p`)
}

// events are the types and sequences of the outbox for a payment, in order.
func (w *fixture) events(p payment.Payment) (out []string) {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(), `SELECT body FROM outbox WHERE name = $1 ORDER BY id`, string(wire.PaymentStatusChangedV1))
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var body []byte
		var m wire.StatusChanged
		if err := rows.Scan(&body); err != nil {
			w.t.Fatal(err)
		}
		if err := json.Unmarshal(body, &m); err != nil {
			w.t.Fatal(err)
		}
		if m.ObjectID == p.ID {
			out = append(out, fmt.Sprintf("%d %s", m.Sequence, m.Type))
		}
	}
	return out
}

// balanced fails the test unless debits and credits agree per asset, and every kept balance is that of its entries.
func (w *fixture) balanced() {
	w.t.Helper()
	if n := ask[int](w, `SELECT count(*) FROM (SELECT asset FROM ledger_entries GROUP BY asset HAVING sum(CASE side WHEN 'debit' THEN amount ELSE -amount END) <> 0) x`); n > 0 {
		w.t.Errorf("%d assets do not balance", n)
	}
	if n := ask[int](w, `SELECT count(*) FROM ledger_accounts a WHERE payment_id IS NOT NULL AND balance <> (
		SELECT sum(CASE WHEN e.side = a.normal THEN amount ELSE -amount END) FROM ledger_entries e WHERE e.account = a.code)`); n > 0 {
		w.t.Errorf("%d kept balances differ from their entries", n)
	}
}

func noProblems() *fault.Problems { return &fault.Problems{} }
