//go:build integration

package admission_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/store"
)

var living = tenant.Owner{MerchantID: "m1", KeyID: 7, Mode: tenant.Live}

// limited is a fixture whose live mode uses the simulated rail, with daily limits of NGN 120 000.
func limited(t *testing.T, kinds ...string) *fixture.Payments {
	w := fixture.New(t)
	daily := admission.Daily{Settings: map[string]map[money.Currency]decimal.Decimal{}, Terms: admission.NewTerms(w.Store.BindingTerms)}
	for _, kind := range kinds {
		if kind != admission.LimitMerchant {
			daily.Settings[kind] = inNGN(120_000)
		}
	}
	o := w.Store.Options
	o.Daily = daily
	w.Store = store.New(w.Pool, o)
	w.With(func(d *fixture.Deps) {
		d.Store, d.Daily, d.Terms, d.Pauses = w.Store, daily, daily.Terms, admission.NewPauses(w.Store.Pauses)
		d.Providers = map[tenant.Mode]provider.Set{tenant.Test: d.Providers[tenant.Test], tenant.Live: d.Providers[tenant.Test]}
	})
	if slices.Contains(kinds, admission.LimitMerchant) {
		keep(t, w, admission.Term{Version: 1, DailyLimits: inNGN(120_000)})
	}
	w.Fill(40)
	w.SQL(`UPDATE address_stock SET mode = 'live' WHERE id % 2 = 0`)
	return w
}

func inNGN(amount int64) map[money.Currency]decimal.Decimal {
	return map[money.Currency]decimal.Decimal{money.NGN: decimal.NewFromInt(amount)}
}

// everyKind are the kinds of subjects in the order of their locks.
var everyKind = []string{admission.LimitKey, admission.LimitMerchant, admission.LimitPayer, admission.LimitReceiver}

func createLive(w *fixture.Payments, c payment.Command) (string, error) {
	a, err := w.Intake.Create(w.T.Context(), living, c, &fault.Problems{}, idempotency.Key{})
	if err != nil {
		return "", err
	}
	return fixture.Reference(w.T, a.Body), nil
}

func usedLimit(w *fixture.Payments, kind string) string {
	return fixture.Ask[string](w, `SELECT coalesce(sum(used), 0)::text FROM limit_usage WHERE kind = $1`, kind)
}

func TestDailyLimits(t *testing.T) {
	t.Parallel()
	for _, kind := range everyKind {
		t.Run(kind, func(t *testing.T) {
			w := limited(t, kind)
			first, err := createLive(w, fixture.Command())
			if err != nil {
				t.Fatal(err)
			}
			if _, err = createLive(w, fixture.Command()); err != nil {
				t.Fatal(err)
			}
			if _, err = createLive(w, fixture.Command()); fault.As(err).Code != "daily_limit_exceeded" {
				t.Fatalf("150 000 of 120 000: %v", err)
			}
			if n := fixture.Ask[int](w, `SELECT count(*) FROM payments`); n != 2 || usedLimit(w, kind) != "100000" {
				t.Errorf("%d payments, %s used: a refused create leaves nothing", n, usedLimit(w, kind))
			}
			w.Make(fixture.Command()) // test mode has no limits
			if _, err := w.Merchants.Cancel(t.Context(), living, first, idempotency.Key{}); err != nil {
				t.Fatal(err)
			}
			if usedLimit(w, kind) != "50000" {
				t.Errorf("%s used after a cancellation", usedLimit(w, kind))
			}
			if _, err = createLive(w, fixture.Command()); err != nil {
				t.Errorf("what was released cannot be used again: %v", err)
			}
		})
	}
}

// Parallel creates reserve no more than the limit.
func TestDailyLimits_atOnce(t *testing.T) {
	t.Parallel()
	w := limited(t, everyKind...)
	var taken atomic.Int32
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			if _, err := createLive(w, fixture.Command()); err == nil {
				taken.Add(1)
			} else if fault.As(err).Code != "daily_limit_exceeded" {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, kind := range everyKind {
		if taken.Load() != 2 || usedLimit(w, kind) != "100000" {
			t.Errorf("%d were taken, %s used of the limit of the %s; want 2 and 100000", taken.Load(), usedLimit(w, kind), kind)
		}
	}
}

// A claim names the receiver, and a payout of a payment whose limit was lowered meanwhile waits.
func TestDailyLimits_claimAndPayout(t *testing.T) {
	t.Parallel()
	w := limited(t, admission.LimitReceiver)
	gift := fixture.Command()
	gift.Type, gift.Receiver = "gift", nil
	ref, err := createLive(w, gift)
	if err != nil {
		t.Fatal(err)
	}
	if usedLimit(w, admission.LimitReceiver) != "0" {
		t.Error("a gift without a receiver counts")
	}
	if _, err := w.Intake.Claim(t.Context(), ref, &payment.ReceiverInput{BankCode: "058", AccountNumber: "0123456789"}, &fault.Problems{}, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	if usedLimit(w, admission.LimitReceiver) != "50000" {
		t.Errorf("%s used after the claim", usedLimit(w, admission.LimitReceiver))
	}
	v, err := w.Store.Find(t.Context(), living, ref)
	if err != nil {
		t.Fatal(err)
	}
	p := v.Payment
	m := w.Message(p, fixture.Coin{Key: "t1", Amount: v.Payment.Quote.CryptoAmount.String(), Version: 1, Depth: fixture.Enough})
	m.Mode = "live"
	w.Deliver(m)
	limits := w.Deps.Daily.Settings[admission.LimitReceiver]
	limits[money.NGN] = decimal.New(10_000, 0)
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
	if got := w.PayoutRow(p); got != "created 0" {
		t.Fatalf("payout %s", got)
	}
	limits[money.NGN] = decimal.New(120_000, 0)
	w.Pay(p)
	if usedLimit(w, admission.LimitReceiver) != "50000" {
		t.Errorf("%s used once it is settled", usedLimit(w, admission.LimitReceiver))
	}
}

// A payout above the quote waits when the maximum is lowered below it after the conversion.
func TestMaximum_loweredAfterTheConversion(t *testing.T) {
	t.Parallel()
	w := limited(t)
	ref, err := createLive(w, fixture.Command())
	if err != nil {
		t.Fatal(err)
	}
	v, err := w.Store.Find(t.Context(), living, ref)
	if err != nil {
		t.Fatal(err)
	}
	p := v.Payment
	double := p.Quote.CryptoAmount.Mul(decimal.NewFromInt(2))
	m := w.Message(p, fixture.Coin{Key: "t1", Amount: double.String(), Version: 1, Depth: fixture.Enough})
	m.Mode = "live"
	w.Deliver(m)
	limits := w.Deps.Policy.Limits
	before := limits[money.NGN]
	lowered := before
	lowered.Max = p.FiatAmount.Add(decimal.NewFromInt(1))
	limits[money.NGN] = lowered
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
	if got := w.PayoutRow(p); got != "created 0" {
		t.Fatalf("payout %s", got)
	}
	limits[money.NGN] = before
	w.Work(func() bool { w.Hurry(); return w.PayoutRow(p) != "created 0" })
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	w := limited(t)
	var told sync.Map
	var near []string
	c := admission.NewCapacity(w.Store.Exposure, map[string]decimal.Decimal{"USDT": decimal.New(70, 0)}, map[money.Currency]decimal.Decimal{money.NGN: decimal.New(1_000_000, 0)},
		func(kind, of string, share decimal.Decimal) { told.Store(kind+of, share.String()) }, func(kind, of string) { near = append(near, kind+" "+of) })
	w.With(func(d *fixture.Deps) { d.Capacity = c })
	first, err := createLive(w, fixture.Command())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = createLive(w, fixture.Command()); err != nil {
		t.Fatal(err)
	}
	if _, err = createLive(w, fixture.Command()); fault.As(err).Code != "capacity" || fault.As(err).Kind != fault.Unavailable || fault.As(err).RetryAfter < time.Second {
		t.Fatalf("93.75 of 70 USDT: %v", err)
	}
	w.Make(fixture.Command()) // test mode has no caps
	if err := c.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if share, _ := told.Load("cryptoUSDT"); share != "0.8929" || len(near) != 1 || near[0] != "crypto USDT" {
		t.Errorf("share %v, near %v", share, near)
	}
	if _, err := w.Merchants.Cancel(t.Context(), living, first, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err = createLive(w, fixture.Command()); err != nil {
		t.Errorf("what was given up is still counted: %v", err)
	}
}

// The daily limit of a merchant counts its live payments in that currency alone.
func TestMerchantDailyLimit_countsItsOwn(t *testing.T) {
	t.Parallel()
	w := limited(t)
	keep(t, w, admission.Term{Version: 1, DailyLimits: map[money.Currency]decimal.Decimal{money.KES: decimal.NewFromInt(1)}})
	for range 3 {
		if _, err := createLive(w, fixture.Command()); err != nil {
			t.Fatalf("create in NGN under a limit in KES: got %v, want no error", err)
		}
	}
	keep(t, w, admission.Term{Version: 2, DailyLimits: inNGN(60_000)})
	other := living
	other.MerchantID = "m2"
	for range 2 {
		if _, err := w.Intake.Create(t.Context(), other, fixture.Command(), &fault.Problems{}, idempotency.Key{}); err != nil {
			t.Errorf("create of a merchant without limits: got %v, want no error", err)
		}
		w.Make(fixture.Command()) // test mode has no limits
	}
	another := living
	another.KeyID++ // of the same merchant
	if _, err := w.Intake.Create(t.Context(), another, fixture.Command(), &fault.Problems{}, idempotency.Key{}); err != nil {
		t.Errorf("create within the limit: got %v, want no error", err)
	}
	if _, err := createLive(w, fixture.Command()); code(err) != "daily_limit_exceeded" {
		t.Errorf("create above the limit: got %v, want daily_limit_exceeded", err)
	}
	if got := usedLimit(w, admission.LimitMerchant); got != "50000" {
		t.Errorf("used of the limit: got %s, want 50000", got)
	}
}

// A lowered limit of a merchant refuses new payments alone. Earlier payments are paid out, and give back what they
// reserved when they end, also while there is no limit.
func TestMerchantDailyLimit_changed(t *testing.T) {
	t.Parallel()
	w := limited(t, admission.LimitMerchant)
	paid, err := createLive(w, fixture.Command())
	if err != nil {
		t.Fatal(err)
	}
	cancelled, err := createLive(w, fixture.Command())
	if err != nil {
		t.Fatal(err)
	}
	keep(t, w, admission.Term{Version: 2, DailyLimits: inNGN(60_000)})
	if _, err := createLive(w, small()); code(err) != "daily_limit_exceeded" {
		t.Errorf("create under a lowered limit: got %v, want daily_limit_exceeded", err)
	}
	w.Settles(payLive(w, paid, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough}))
	keep(t, w, admission.Term{Version: 3, DailyLimits: map[money.Currency]decimal.Decimal{}})
	if _, err := createLive(w, fixture.Command()); err != nil {
		t.Errorf("create without a limit: got %v, want no error", err)
	}
	if _, err := w.Merchants.Cancel(t.Context(), living, cancelled, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	keep(t, w, admission.Term{Version: 4, DailyLimits: inNGN(100_000)})
	keep(t, w, admission.Term{Version: 5}) // of an earlier gateway, which knows no daily limits
	if _, err := createLive(w, fixture.Command()); err != nil {
		t.Errorf("create in the room of a cancelled payment: got %v, want no error", err)
	}
	if _, err := createLive(w, small()); code(err) != "daily_limit_exceeded" {
		t.Errorf("create beyond the limit: got %v, want daily_limit_exceeded", err)
	}
	if got := usedLimit(w, admission.LimitMerchant); got != "100000" {
		t.Errorf("used of the limit: got %s, want 100000", got)
	}
}

// Late money counts a payment again after its merchant's limit was lowered. Its payout waits for room, and no other
// payout of the merchant does.
func TestMerchantDailyLimit_revived(t *testing.T) {
	t.Parallel()
	w := limited(t, admission.LimitMerchant)
	late := expiredLive(w, fixture.Command())
	early, err := createLive(w, fixture.Command())
	if err != nil {
		t.Fatal(err)
	}
	keep(t, w, admission.Term{Version: 2, DailyLimits: inNGN(60_000)})
	waits := payLive(w, late, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	if got := usedLimit(w, admission.LimitMerchant); got != "100000" {
		t.Errorf("used of the limit: got %s, want 100000", got)
	}
	w.Settles(payLive(w, early, fixture.Coin{Key: "t2", Amount: "31.25", Version: 1, Depth: fixture.Enough}))
	if got := w.PayoutRow(waits); got != "created 0" {
		t.Errorf("the payout of late money above the limit: got %s, want created 0", got)
	}
	keep(t, w, admission.Term{Version: 3, DailyLimits: inNGN(100_000)})
	w.Settles(waits)
	w.Balanced()
}

// Payments of one merchant, key, payer and receiver begin and end at once, and none of them fails.
func TestDailyLimits_beginAndEndAtOnce(t *testing.T) {
	t.Parallel()
	w := limited(t, everyKind...)
	w.Fill(40)
	w.SQL(`UPDATE address_stock SET mode = 'live'`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 4 {
				ref, err := createLive(w, small())
				if err == nil {
					_, err = w.Merchants.Cancel(t.Context(), living, ref, idempotency.Key{})
				}
				if err != nil {
					t.Errorf("create and cancel: got %v, want no error", err)
				}
			}
		})
	}
	all.Wait()
	for _, kind := range everyKind {
		if got := usedLimit(w, kind); got != "0" {
			t.Errorf("used of the limit of the %s: got %s, want 0", kind, got)
		}
	}
}
