//go:build integration

package store_test

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
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/store"
)

var living = tenant.Owner{MerchantID: "m1", KeyID: 7, Mode: tenant.Live}

// limited is a fixture whose live mode uses the simulated rail, with daily limits of NGN 120 000.
func limited(t *testing.T, kinds ...string) *fixture {
	w := newFixture(t)
	daily := admission.Daily{}
	for _, kind := range kinds {
		daily[kind] = map[money.Currency]decimal.Decimal{money.NGN: decimal.New(120_000, 0)}
	}
	o := w.store.Options
	o.Daily = daily
	w.store = store.New(w.pool, o)
	w.with(func(d *app.Deps) {
		d.Store, d.Daily = w.store, daily
		d.Worlds = map[tenant.Mode]provider.Set{tenant.Test: d.Worlds[tenant.Test], tenant.Live: d.Worlds[tenant.Test]}
	})
	w.fill(40)
	w.sql(`UPDATE address_stock SET mode = 'live' WHERE id % 2 = 0`)
	return w
}

func (w *fixture) live(c payment.Command) (string, error) {
	a, err := w.app.Create(w.t.Context(), living, c, &fault.Problems{}, idempotency.Key{})
	if err != nil {
		return "", err
	}
	return reference(w.t, a.Body), nil
}

func (w *fixture) used(kind string) string {
	return ask[string](w, `SELECT coalesce(sum(used), 0)::text FROM limit_usage WHERE kind = $1`, kind)
}

func TestDailyLimits(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{admission.LimitKey, admission.LimitPayer, admission.LimitReceiver} {
		t.Run(kind, func(t *testing.T) {
			w := limited(t, kind)
			first, err := w.live(command())
			if err != nil {
				t.Fatal(err)
			}
			if _, err = w.live(command()); err != nil {
				t.Fatal(err)
			}
			if _, err = w.live(command()); fault.As(err).Code != "daily_limit_exceeded" {
				t.Fatalf("150 000 of 120 000: %v", err)
			}
			if n := ask[int](w, `SELECT count(*) FROM payments`); n != 2 || w.used(kind) != "100000" {
				t.Errorf("%d payments, %s used: a refused create leaves nothing", n, w.used(kind))
			}
			w.made(command()) // test mode has no limits
			if _, err := w.app.Cancel(t.Context(), living, first, idempotency.Key{}); err != nil {
				t.Fatal(err)
			}
			if w.used(kind) != "50000" {
				t.Errorf("%s used after a cancellation", w.used(kind))
			}
			if _, err = w.live(command()); err != nil {
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
			if _, err := w.live(command()); err == nil {
				taken.Add(1)
			} else if fault.As(err).Code != "daily_limit_exceeded" {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if taken.Load() != 2 || w.used(admission.LimitPayer) != "100000" || w.used(admission.LimitKey) != "100000" || w.used(admission.LimitReceiver) != "100000" {
		t.Errorf("%d were taken, %s used", taken.Load(), w.used(admission.LimitPayer))
	}
}

// A claim names the receiver, and a payout of a payment whose limit was lowered meanwhile waits.
func TestDailyLimits_claimAndPayout(t *testing.T) {
	t.Parallel()
	w := limited(t, admission.LimitReceiver)
	gift := command()
	gift.Type, gift.Receiver = "gift", nil
	ref, err := w.live(gift)
	if err != nil {
		t.Fatal(err)
	}
	if w.used(admission.LimitReceiver) != "0" {
		t.Error("a gift without a receiver counts")
	}
	if _, err := w.app.Claim(t.Context(), ref, &payment.ReceiverInput{BankCode: "058", AccountNumber: "0123456789"}, noProblems(), idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	if w.used(admission.LimitReceiver) != "50000" {
		t.Errorf("%s used after the claim", w.used(admission.LimitReceiver))
	}
	v, err := w.store.Find(t.Context(), living, ref)
	if err != nil {
		t.Fatal(err)
	}
	p := v.Payment
	m := w.message(p, coin{key: "t1", amount: v.Payment.Quote.CryptoAmount.String(), version: 1, depth: enough})
	m.Mode = "live"
	w.deliver(m)
	limits := w.app.Daily[admission.LimitReceiver]
	limits[money.NGN] = decimal.New(10_000, 0)
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	if got := w.row(p); got != "created 0" {
		t.Fatalf("payout %s", got)
	}
	limits[money.NGN] = decimal.New(120_000, 0)
	w.pay(p)
	if w.used(admission.LimitReceiver) != "50000" {
		t.Errorf("%s used once it is settled", w.used(admission.LimitReceiver))
	}
}

// A payout above the quote waits when the maximum is lowered below it after the conversion.
func TestMaximum_loweredAfterTheConversion(t *testing.T) {
	t.Parallel()
	w := limited(t)
	ref, err := w.live(command())
	if err != nil {
		t.Fatal(err)
	}
	v, err := w.store.Find(t.Context(), living, ref)
	if err != nil {
		t.Fatal(err)
	}
	p := v.Payment
	double := p.Quote.CryptoAmount.Mul(decimal.NewFromInt(2))
	m := w.message(p, coin{key: "t1", amount: double.String(), version: 1, depth: enough})
	m.Mode = "live"
	w.deliver(m)
	schedules := w.app.Policy.Fees.Schedules
	before := schedules[money.NGN]
	lowered := before
	lowered.Max = p.FiatAmount.Add(decimal.NewFromInt(1))
	schedules[money.NGN] = lowered
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	if got := w.row(p); got != "created 0" {
		t.Fatalf("payout %s", got)
	}
	schedules[money.NGN] = before
	w.work(func() bool { w.hurry(); return w.row(p) != "created 0" })
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	w := limited(t)
	var told sync.Map
	var near []string
	c := admission.NewCapacity(w.store.Exposure, map[string]decimal.Decimal{"USDT": decimal.New(70, 0)}, map[money.Currency]decimal.Decimal{money.NGN: decimal.New(1_000_000, 0)},
		func(kind, of string, share decimal.Decimal) { told.Store(kind+of, share.String()) }, func(kind, of string) { near = append(near, kind+" "+of) })
	w.with(func(d *app.Deps) { d.Capacity = c })
	first, err := w.live(command())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = w.live(command()); err != nil {
		t.Fatal(err)
	}
	if _, err = w.live(command()); fault.As(err).Code != "capacity" || fault.As(err).Kind != fault.Unavailable || fault.As(err).RetryAfter < time.Second {
		t.Fatalf("93.75 of 70 USDT: %v", err)
	}
	w.made(command()) // test mode has no caps
	if err := c.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if share, _ := told.Load("cryptoUSDT"); share != "0.8929" || len(near) != 1 || near[0] != "crypto USDT" {
		t.Errorf("share %v, near %v", share, near)
	}
	if _, err := w.app.Cancel(t.Context(), living, first, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err = w.live(command()); err != nil {
		t.Errorf("what was given up is still counted: %v", err)
	}
}
