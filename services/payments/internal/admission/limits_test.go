//go:build integration

package admission_test

import (
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
	daily := admission.Daily{}
	for _, kind := range kinds {
		daily[kind] = map[money.Currency]decimal.Decimal{money.NGN: decimal.New(120_000, 0)}
	}
	o := w.Store.Options
	o.Daily = daily
	w.Store = store.New(w.Pool, o)
	w.With(func(d *fixture.Deps) {
		d.Store, d.Daily = w.Store, daily
		d.Providers = map[tenant.Mode]provider.Set{tenant.Test: d.Providers[tenant.Test], tenant.Live: d.Providers[tenant.Test]}
	})
	w.Fill(40)
	w.SQL(`UPDATE address_stock SET mode = 'live' WHERE id % 2 = 0`)
	return w
}

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
	for _, kind := range []string{admission.LimitKey, admission.LimitPayer, admission.LimitReceiver} {
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
	w := limited(t, admission.LimitPayer, admission.LimitKey, admission.LimitReceiver)
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
	if taken.Load() != 2 || usedLimit(w, admission.LimitPayer) != "100000" || usedLimit(w, admission.LimitKey) != "100000" || usedLimit(w, admission.LimitReceiver) != "100000" {
		t.Errorf("%d were taken, %s used", taken.Load(), usedLimit(w, admission.LimitPayer))
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
	limits := w.Deps.Daily[admission.LimitReceiver]
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
