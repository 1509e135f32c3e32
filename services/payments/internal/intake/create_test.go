//go:build integration

package intake_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/paystack"
	"causeway.internal/services/payments/internal/rail/sim"
	"causeway.internal/services/payments/internal/rate"
	"causeway.internal/services/payments/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A payment of a process with a wrong clock has its window by the database's clock.
func TestClock_windowOfAPayment(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(1)
	clock, err := store.OpenClock(t.Context(), w.Pool, func() time.Time { return time.Now().Add(-time.Hour) })
	if err != nil {
		t.Fatal(err)
	}
	w.With(func(d *fixture.Deps) { d.Now = clock.Now })
	a, err := w.Create(fixture.Command(), idempotency.Key{})
	if err != nil {
		t.Fatal(err)
	}
	p := w.Find(fixture.Reference(t, a.Body)).Payment
	if left := fixture.Ask[int](w, `SELECT extract(epoch FROM expires_at - now())::int FROM payments WHERE id = $1`, p.ID); left < 1780 || left > 1801 {
		t.Errorf("%d seconds are left of half an hour", left)
	}
}

// Every name of a payment's life carries the shard that made it. One from before codes lives on beside them under the
// names that it has.
func TestNames_ofAShard(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(9)
	for _, in := range []shard.Code{"", shard.First, "K2"} {
		w.With(func(d *fixture.Deps) { d.Shard = in })
		gift, request, transfer := w.Make(fixture.Gift()), w.Make(fixture.Request()), w.Make(fixture.Command())
		w.With(func(d *fixture.Deps) { d.Shard = shard.First }) // as a later release goes on with it
		if _, err := w.Fulfil(request.Reference, idempotency.Key{}); err != nil {
			t.Fatalf("fulfil %s: got %v, want no error", request.Reference, err)
		}
		for kind, p := range map[string]payment.Payment{"a gift": gift, "a request": w.Find(request.Reference).Payment, "a transfer": transfer} {
			w.See(p, fixture.Coin{Key: kind + string(in), Amount: p.Quote.CryptoAmount.String(), Version: 1, Depth: fixture.Enough})
			if kind == "a gift" {
				if _, err := w.Claim(p.Reference, "0123456789", idempotency.Key{}); err != nil {
					t.Fatalf("claim %s: got %v, want no error", p.Reference, err)
				}
			}
			w.Pay(p)
			w.Want(p, "settled")
			if _, err := w.Reader.Show(t.Context(), fixture.Owner, p.Reference); err != nil {
				t.Errorf("show %s of shard %q: got %v, want no error", kind, in, err)
			}
			names := fixture.Ask[[]string](w, `SELECT ARRAY[p.id, p.reference, o.id, o.reference] || (SELECT array_agg(convert_from(body, 'UTF8')::json->>'eventId')
				FROM outbox WHERE name = $2 AND convert_from(body, 'UTF8')::json->>'objectId' = p.id) FROM payments p JOIN payouts o ON o.payment_id = p.id WHERE p.id = $1`,
				p.ID, string(wire.PaymentStatusChangedV1))
			if paid := strings.ToLower(names[1]) + "-1"; names[3] != paid || len(names) < 8 {
				t.Errorf("name %s of shard %q at the rail: got %v, want %s and at least four events", kind, in, names, paid)
			}
			for _, name := range append(names[:3:3], names[4:]...) {
				got, ok := id.ShardOf(name)
				if coded := len(name) == len("pay_")+28 || len(strings.TrimPrefix(name, "CW-G")) == 14 || len(strings.TrimPrefix(name, "CW-")) == 14; !ok ||
					got != in.Home() || coded != (in != "") {
					t.Errorf("name %s of shard %q: got %s in %q, want it in %q", kind, in, name, got, in.Home())
				}
			}
			if marked := strings.HasPrefix(p.Reference, "CW-G"); marked != (p.Type == payment.Gift) {
				t.Errorf("name %s of shard %q: got %s", kind, in, p.Reference)
			}
		}
	}
	w.Balanced()
}

// A gift has its rail from the create on, and is paid out after its claim.
func TestGift_hasARail(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(1)
	c := fixture.Command()
	c.Type, c.Receiver = "gift", nil
	if p := w.Make(c); p.Rail != sim.Name {
		t.Errorf("rail %q", p.Rail)
	}
}

// Live mode refuses an unknown bank and one of another country. The sandbox accepts both
// (docs/api-contract.md#receivers).
func TestCreate_banksOfLiveMode(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Deps.Providers[tenant.Live] = w.Deps.Providers[tenant.Test]
	live := tenant.Owner{MerchantID: "m1", Mode: tenant.Live}
	for _, c := range []struct{ bank, currency string }{{"zz99", "NGN"}, {"058", "ZAR"}} {
		ask := fixture.Command()
		ask.Receiver.BankCode, ask.FiatCurrency, ask.FiatAmount = c.bank, c.currency, fixture.Number("1000")
		_, err := w.Intake.Create(t.Context(), live, ask, &fault.Problems{}, idempotency.Key{})
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Field != "receiver.bankCode" {
			t.Errorf("%s in %s: %v", c.bank, c.currency, err)
		}
		w.Fill(1)
		if _, err := w.Create(ask, idempotency.Key{}); err != nil {
			t.Errorf("%s in %s in the sandbox: %v", c.bank, c.currency, err)
		}
	}
}

// The answer has exactly the fields of docs/api-contract.md#answers for a transfer.
func TestCreate_answer(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(1)
	a, err := w.Create(fixture.Command(), idempotency.Key{})
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
		t.Fatalf("Create() = %s, %v; want a success", a.Body, err)
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

func TestCreate_oneKeyOnePayment(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(64)
	k := idempotency.Key{Scope: idempotency.Scope("m1", "test", "POST /v1/payments"), Key: "k1", Hash: [32]byte{1}}
	bodies := make(chan []byte, 16)
	for range cap(bodies) {
		go func() {
			a, err := w.Create(fixture.Command(), k)
			if err != nil || a.Status != 201 {
				t.Errorf("Create() under one key = %d, %v; want 201", a.Status, err)
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
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments`); n != 1 {
		t.Errorf("%d payments", n)
	}
	if a, err := w.Create(fixture.Command(), k); err != nil || !a.Replayed || !bytes.Equal(a.Body, first) {
		t.Errorf("replay %v %v", a.Replayed, err)
	}
	k.Hash[0]++
	if _, err := w.Create(fixture.Command(), k); !fault.Is(err, "idempotency_key_reused") {
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
	w := fixture.New(t)
	w.Fill(2)
	k := idempotency.Key{Scope: idempotency.Scope("m1", "test", "POST /v1/payments"), Key: "k1", Hash: [32]byte{1}}
	first, err := w.Create(fixture.Command(), k)
	if err != nil {
		t.Fatal(err)
	}
	other := k
	other.Hash[0]++
	whole := w.Deps
	dark, closed := whole, whole
	dark.Providers = map[tenant.Mode]provider.Set{tenant.Test: {Rates: noRates{}, Rail: w.Bank}}
	closed.Providers = nil
	wrong := fixture.Command()
	wrong.Type = "loan"
	for name, test := range map[string]struct {
		deps    fixture.Deps
		command payment.Command
	}{
		"nothing is wrong": {whole, fixture.Command()}, "the body": {whole, wrong}, "no rate": {dark, fixture.Command()}, "no mode": {closed, fixture.Command()},
	} {
		w.With(func(d *fixture.Deps) { *d = test.deps })
		for range 3 { // more often than there are addresses
			a, err := w.Create(test.command, k)
			if err != nil || !a.Replayed || !bytes.Equal(a.Body, first.Body) {
				t.Errorf("Create() under a used key, wrong is %s: %v, replayed %t, %s; want the first answer replayed", name, err, a.Replayed, a.Body)
			}
			if _, err := w.Create(test.command, other); !fault.Is(err, "idempotency_key_reused") {
				t.Errorf("%s, another body: %v", name, err)
			}
		}
	}
	w.With(func(d *fixture.Deps) { *d = whole })
	if _, err := w.Create(wrong, idempotency.Key{Scope: k.Scope, Key: "k2"}); fault.As(err).Kind != fault.Invalid {
		t.Errorf("a fresh key with a wrong body: %v", err)
	}
	if _, err := w.Create(fixture.Command(), idempotency.Key{Scope: k.Scope, Key: "k2"}); err != nil {
		t.Errorf("the last address: %v", err)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments`); n != 2 {
		t.Errorf("%d payments, want 2", n)
	}
}

// A key of two days ago is in another partition than a key of today.
func TestCreate_keyOfAnOlderPartition(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	k := idempotency.Key{Scope: idempotency.Scope("m1", "test", "POST /v1/payments"), Key: "k1", Hash: [32]byte{1}}
	first, err := w.Create(fixture.Command(), k)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		w.SQL(`WITH old AS (DELETE FROM idempotency RETURNING *)
			INSERT INTO idempotency SELECT DISTINCT (SELECT (slot + 1) % 5 FROM idempotency LIMIT 1), id, hash, status, body, secret, secret_until FROM old`)
		if a, err := w.Create(fixture.Command(), k); err != nil || !a.Replayed || !bytes.Equal(a.Body, first.Body) {
			t.Errorf("slot %d: %v %v", fixture.Ask[int](w, `SELECT min(slot) FROM idempotency`), a.Replayed, err)
		}
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments`); n != 1 {
		t.Errorf("%d payments", n)
	}
}

// A payment to a bank that only the second rail pays goes over that rail at once. A bank that no rail pays is refused
// at create.
func TestCreate_choosesTheRail(t *testing.T) {
	t.Parallel()
	w, _ := fixture.Railed(t)
	w.Fill(2)
	test := w.Deps.Providers[tenant.Test]
	test.Rail, test.Others = test.Others[0], []rail.Provider{test.Rail}
	w.Deps.Providers[tenant.Test] = test
	c := fixture.Command()
	c.FiatCurrency, c.FiatAmount, c.Receiver = "ZAR", fixture.Number("500"), &payment.ReceiverInput{BankCode: "FNB", AccountNumber: "62001234567"}
	if p := w.Make(c); p.Rail != paystack.Name || p.Receiver.NameVerified {
		t.Errorf("over %s, %+v", p.Rail, p.Receiver)
	}
	c.Receiver.BankCode = "XYZ"
	_, err := w.Create(c, idempotency.Key{})
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Invalid || f.Fields[0].Field != "receiver.bankCode" {
		t.Errorf("Create() for a bank that no rail pays = %v, want receiver.bankCode refused", err)
	}
}
