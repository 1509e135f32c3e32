//go:build integration

package admission_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// payLive returns a live payment that has received a coin.
func payLive(w *fixture.Payments, ref string, c fixture.Coin) payment.Payment {
	w.T.Helper()
	v, err := w.Store.Find(w.T.Context(), living, ref)
	if err != nil {
		w.T.Fatal(err)
	}
	m := w.Message(v.Payment, c)
	m.Mode = "live"
	w.Deliver(m)
	return v.Payment
}

// small is a transfer of NGN 1 000: the payer owes 0.625 USDT.
func small() payment.Command {
	c := fixture.Command()
	c.FiatAmount = fixture.Number("1000")
	return c
}

// expiredLive returns a live payment whose window has ended and whose reservations are released.
func expiredLive(w *fixture.Payments, c payment.Command) string {
	w.T.Helper()
	ref, err := createLive(w, c)
	if err != nil {
		w.T.Fatal(err)
	}
	v, err := w.Store.Find(w.T.Context(), living, ref)
	if err != nil {
		w.T.Fatal(err)
	}
	w.SQL(`UPDATE payments SET expires_at = now() - interval '1 hour', due_at = now() - interval '1 hour' WHERE id = $1`, v.Payment.ID)
	w.SQL(`INSERT INTO scan_progress (mode, network, height, finalized, block_time) VALUES ('live', 'tron', 100, 100, now()) ON CONFLICT DO NOTHING`)
	if err := w.Deposits.ExpireDue(w.T.Context()); err != nil {
		w.T.Fatal(err)
	}
	if got := w.Status(v.Payment); strings.Fields(got)[0] != "expired" {
		w.T.Fatalf("nobody paid: %s", got)
	}
	return ref
}

// A quote of NGN 1 000 under a limit of NGN 120 000 pays no more than that limit, for any received amount.
func TestLimitsCountWhatIsConverted(t *testing.T) {
	t.Parallel()
	for _, kind := range everyKind {
		t.Run(kind, func(t *testing.T) {
			w := limited(t, kind)
			ref, err := createLive(w, small())
			if err != nil {
				t.Fatal(err)
			}
			p := payLive(w, ref, fixture.Coin{Key: "t1", Amount: "30000", Version: 1, Depth: fixture.Enough})
			if got := w.Status(p); got != "needs_review over_limit" {
				t.Fatalf("30 000 USDT: %s", got)
			}
			if usedLimit(w, kind) != "1000" || fixture.Ask[int](w, `SELECT count(*) FROM payouts`) != 0 {
				t.Errorf("%s used, and payouts", usedLimit(w, kind))
			}
			if ref, err = createLive(w, small()); err != nil {
				t.Fatal(err)
			}
			p = payLive(w, ref, fixture.Coin{Key: "t2", Amount: "62.5", Version: 1, Depth: fixture.Enough}) // worth 100 000
			if got := w.Status(p); got != "confirmed overpaid" || usedLimit(w, kind) != "101000" {
				t.Fatalf("within the limit: %s, %s used", got, usedLimit(w, kind))
			}
			w.Settles(p)
			c := fixture.Command()
			c.FiatAmount = fixture.Number("19000.01")
			if _, err := createLive(w, c); fault.As(err).Code != "daily_limit_exceeded" {
				t.Errorf("what was converted does not count: %v", err)
			}
			w.Balanced()
		})
	}
}

// A conversion below the quote counts with its own amount. After a reorg the quote counts again.
func TestLimitsGiveBackWhatIsNotConverted(t *testing.T) {
	t.Parallel()
	w := limited(t, admission.LimitKey)
	c := fixture.Command()
	c.FiatAmount = fixture.Number("100000")
	ref, err := createLive(w, c)
	if err != nil {
		t.Fatal(err)
	}
	p := payLive(w, ref, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.SQL(`UPDATE payments SET expires_at = now() - interval '1 hour', due_at = now() - interval '1 hour' WHERE id = $1`, p.ID)
	w.SQL(`UPDATE deposits SET first_seen_at = now() - interval '2 hours', block_time = now() - interval '2 hours' WHERE payment_id = $1`, p.ID)
	w.SQL(`INSERT INTO scan_progress (mode, network, height, finalized, block_time) VALUES ('live', 'tron', 100, 100, now())`)
	if err := w.Deposits.ExpireDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.Status(p); got != "confirmed underpaid" || usedLimit(w, admission.LimitKey) != "50000" {
		t.Fatalf("half of it: %s, %s used", got, usedLimit(w, admission.LimitKey))
	}
	payLive(w, ref, fixture.Coin{Key: "t1", Amount: "31.25", Version: 2, Reverted: true})
	if usedLimit(w, admission.LimitKey) != "0" || fixture.Ask[int](w, `SELECT count(*) FROM limit_differences`) != 0 {
		t.Errorf("%s used once it is gone and expired", usedLimit(w, admission.LimitKey))
	}
}

// Two parallel conversions do not both take the rest of a limit.
func TestLimitsAreTakenOnce(t *testing.T) {
	t.Parallel()
	w := limited(t, everyKind...)
	const n = 8
	var refs [n]string
	for i := range refs {
		var err error
		if refs[i], err = createLive(w, small()); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for i, ref := range refs { // each is worth 40 000, and 112 000 are left
		all.Go(func() {
			payLive(w, ref, fixture.Coin{Key: "t" + string(rune('0'+i)), Amount: "25", Version: 1, Depth: fixture.Enough})
		})
	}
	all.Wait()
	confirmed := fixture.Ask[int](w, `SELECT count(*) FROM payments WHERE status = 'confirmed'`)
	held := fixture.Ask[int](w, `SELECT count(*) FROM payments WHERE status = 'needs_review' AND exception = 'over_limit'`)
	if confirmed != 2 || held != n-2 || usedLimit(w, admission.LimitKey) != "86000" {
		t.Errorf("%d converted, %d held, %s used", confirmed, held, usedLimit(w, admission.LimitKey))
	}
	w.Balanced()
}

// A claim names the receiver of converted money. The receiver's limit counts the converted amount, not the quote.
func TestLimitsOfAClaimCountWhatWasConverted(t *testing.T) {
	t.Parallel()
	w := limited(t, admission.LimitReceiver)
	gift := small()
	gift.Type, gift.Receiver = "gift", nil
	claim := func(usdt string) error {
		ref, err := createLive(w, gift)
		if err != nil {
			t.Fatal(err)
		}
		p := payLive(w, ref, fixture.Coin{Key: "t" + usdt, Amount: usdt, Version: 1, Depth: fixture.Enough})
		if got := w.Status(p); got != "confirmed overpaid" {
			t.Fatalf("a gift of %s USDT: %s", usdt, got)
		}
		_, err = w.Intake.Claim(t.Context(), ref, &payment.ReceiverInput{BankCode: "058", AccountNumber: "0123456789"}, &fault.Problems{}, idempotency.Key{})
		return err
	}
	if err := claim("62.5"); err != nil || usedLimit(w, admission.LimitReceiver) != "100000" {
		t.Fatalf("%v, %s used", err, usedLimit(w, admission.LimitReceiver))
	}
	if err := claim("62.501"); fault.As(err).Code != "daily_limit_exceeded" || usedLimit(w, admission.LimitReceiver) != "100000" {
		t.Fatalf("200 000 of 120 000: %v, %s used", err, usedLimit(w, admission.LimitReceiver))
	}
}

// A payout that an operator accepts above the limit uses up the limit and does not hold other payouts.
func TestAnOperatorLetsALimitPass(t *testing.T) {
	t.Parallel()
	w := limited(t, admission.LimitKey)
	other, err := createLive(w, small())
	if err != nil {
		t.Fatal(err)
	}
	first := payLive(w, other, fixture.Coin{Key: "t0", Amount: "0.625", Version: 1, Depth: fixture.Enough})
	ref, err := createLive(w, small())
	if err != nil {
		t.Fatal(err)
	}
	p := payLive(w, ref, fixture.Coin{Key: "t1", Amount: "300", Version: 1, Depth: fixture.Enough})
	amount := decimal.New(479_000, 0)
	body, err := w.Resolve(p, operators.Order{Operator: "ada", Action: operators.ActionAccept, Payout: &amount})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(body, `"status":"confirmed"`) || usedLimit(w, admission.LimitKey) != "481000" {
		t.Errorf("%s, %s used", body, usedLimit(w, admission.LimitKey))
	}
	if _, err := createLive(w, small()); fault.As(err).Code != "daily_limit_exceeded" {
		t.Errorf("the limit is used up: %v", err)
	}
	w.Settles(first)
	w.Settles(p)
	w.Balanced()
}

// A conversion beyond a capacity waits.
func TestCapacityCountsWhatIsConverted(t *testing.T) {
	t.Parallel()
	w := limited(t)
	c := admission.NewCapacity(w.Store.Exposure, nil, map[money.Currency]decimal.Decimal{money.NGN: decimal.New(100_000, 0)},
		func(string, string, decimal.Decimal) {}, func(string, string) {})
	w.With(func(d *fixture.Deps) { d.Capacity = c })
	ref, err := createLive(w, small())
	if err != nil {
		t.Fatal(err)
	}
	p := payLive(w, ref, fixture.Coin{Key: "t1", Amount: "100", Version: 1, Depth: fixture.Enough})
	if got := w.Status(p); got != "needs_review over_limit" {
		t.Fatalf("NGN 160 000 of 100 000: %s", got)
	}
	if _, err := w.Resolve(p, operators.Order{Operator: "ada", Action: operators.ActionAccept}); err != nil {
		t.Fatal(err)
	}
	w.Settles(p)
	if ref, err = createLive(w, small()); err != nil {
		t.Fatal(err)
	}
	p = payLive(w, ref, fixture.Coin{Key: "t2", Amount: "25", Version: 1, Depth: fixture.Enough})
	if got := w.Status(p); got != "confirmed overpaid" {
		t.Fatalf("NGN 40 000 of 100 000: %s", got)
	}
}

// Late money that revives a payment and converts it at once counts the quote and the difference together.
func TestLimitsOfAPaymentRevivedAndConvertedAtOnce(t *testing.T) {
	t.Parallel()
	w := limited(t, admission.LimitKey)
	quoted := func(fiat string) payment.Command {
		c := fixture.Command()
		c.FiatAmount = fixture.Number(fiat)
		return c
	}
	less := expiredLive(w, quoted("100000"))
	p := payLive(w, less, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	if got := w.Status(p); got != "confirmed underpaid" || usedLimit(w, admission.LimitKey) != "50000" {
		t.Errorf("half of it: %s, %s used", got, usedLimit(w, admission.LimitKey))
	}
	more := expiredLive(w, quoted("60000"))
	p = payLive(w, more, fixture.Coin{Key: "t2", Amount: "50", Version: 1, Depth: fixture.Enough}) // worth 80 000, and 70 000 are left
	if got := w.Status(p); got != "needs_review over_limit" || usedLimit(w, admission.LimitKey) != "110000" {
		t.Errorf("more than is left: %s, %s used", got, usedLimit(w, admission.LimitKey))
	}
	w.Balanced()
}

// An earlier version, which knows no differences, may have undone a conversion that counted one. The next conversion
// counts its difference nevertheless.
func TestLimitsBookADifferenceAnew(t *testing.T) {
	t.Parallel()
	w := limited(t, admission.LimitKey)
	ref, err := createLive(w, small())
	if err != nil {
		t.Fatal(err)
	}
	w.SQL(`INSERT INTO limit_differences (payment_id, kind, day, subject, currency, amount)
SELECT payment_id, kind, day, subject, currency, 40000 FROM limit_reservations`)
	w.SQL(`UPDATE limit_usage SET used = used + 40000`)
	p := payLive(w, ref, fixture.Coin{Key: "t1", Amount: "62.5", Version: 1, Depth: fixture.Enough}) // worth 100 000
	if got := w.Status(p); got != "confirmed overpaid" || usedLimit(w, admission.LimitKey) != "100000" {
		t.Errorf("%s, %s used", got, usedLimit(w, admission.LimitKey))
	}
}

// A conversion counts its amount beyond the quote once, also where its change cannot share a transaction.
func TestCapacity_countsAConversionOnce(t *testing.T) {
	t.Parallel()
	for name, kinds := range map[string][]string{"without daily limits": nil, "with a daily limit": {admission.LimitKey}} {
		t.Run(name, func(t *testing.T) {
			w := limited(t, kinds...)
			c := admission.NewCapacity(w.Store.Exposure, nil, map[money.Currency]decimal.Decimal{money.NGN: decimal.New(60_000, 0)},
				func(string, string, decimal.Decimal) {}, func(string, string) {})
			w.With(func(d *fixture.Deps) { d.Capacity = c })
			ref, err := createLive(w, small())
			if err != nil {
				t.Fatal(err)
			}
			p := payLive(w, ref, fixture.Coin{Key: "t1", Amount: "25", Version: 1, Depth: fixture.Enough})
			if got := w.Status(p); got != "confirmed overpaid" {
				t.Errorf("NGN 40 000 of a capacity of 60 000 that nothing else uses: got %s, want confirmed overpaid", got)
			}
		})
	}
}
