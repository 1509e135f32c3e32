//go:build integration

package store_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
)

// sent returns a live payment that has received a coin.
func (w *fixture) sent(ref string, c coin) payment.Payment {
	w.t.Helper()
	v, err := w.store.Find(w.t.Context(), living, ref)
	if err != nil {
		w.t.Fatal(err)
	}
	m := w.message(v.Payment, c)
	m.Mode = "live"
	w.deliver(m)
	return v.Payment
}

// settles pays a payment out, with any exception.
func (w *fixture) settles(p payment.Payment) {
	w.t.Helper()
	w.work(func() bool { return strings.HasPrefix(w.status(p), "settled") })
}

// small is a transfer of NGN 1 000: the payer owes 0.625 USDT.
func small() payment.Command {
	c := command()
	c.FiatAmount = number("1000")
	return c
}

// A quote of NGN 1 000 under a limit of NGN 120 000 pays no more than that limit, for any received amount.
func TestLimitsCountWhatIsConverted(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{admission.LimitKey, admission.LimitPayer, admission.LimitReceiver} {
		t.Run(kind, func(t *testing.T) {
			w := limited(t, kind)
			ref, err := w.live(small())
			if err != nil {
				t.Fatal(err)
			}
			p := w.sent(ref, coin{key: "t1", amount: "30000", version: 1, depth: enough})
			if got := w.status(p); got != "needs_review over_limit" {
				t.Fatalf("30 000 USDT: %s", got)
			}
			if w.used(kind) != "1000" || ask[int](w, `SELECT count(*) FROM payouts`) != 0 {
				t.Errorf("%s used, and payouts", w.used(kind))
			}
			if ref, err = w.live(small()); err != nil {
				t.Fatal(err)
			}
			p = w.sent(ref, coin{key: "t2", amount: "62.5", version: 1, depth: enough}) // worth 100 000
			if got := w.status(p); got != "confirmed overpaid" || w.used(kind) != "101000" {
				t.Fatalf("within the limit: %s, %s used", got, w.used(kind))
			}
			w.settles(p)
			c := command()
			c.FiatAmount = number("19000.01")
			if _, err := w.live(c); fault.As(err).Code != "daily_limit_exceeded" {
				t.Errorf("what was converted does not count: %v", err)
			}
			w.balanced()
		})
	}
}

// A conversion below the quote counts with its own amount. After a reorg the quote counts again.
func TestLimitsGiveBackWhatIsNotConverted(t *testing.T) {
	t.Parallel()
	w := limited(t, admission.LimitKey)
	c := command()
	c.FiatAmount = number("100000")
	ref, err := w.live(c)
	if err != nil {
		t.Fatal(err)
	}
	p := w.sent(ref, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.sql(`UPDATE payments SET expires_at = now() - interval '1 hour', due_at = now() - interval '1 hour' WHERE id = $1`, p.ID)
	w.sql(`UPDATE deposits SET first_seen_at = now() - interval '2 hours', block_time = now() - interval '2 hours' WHERE payment_id = $1`, p.ID)
	w.sql(`INSERT INTO scan_progress (mode, network, height, finalized, block_time) VALUES ('live', 'tron', 100, 100, now())`)
	if err := w.app.ExpireDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.status(p); got != "confirmed underpaid" || w.used(admission.LimitKey) != "50000" {
		t.Fatalf("half of it: %s, %s used", got, w.used(admission.LimitKey))
	}
	w.sent(ref, coin{key: "t1", amount: "31.25", version: 2, reverted: true})
	if w.used(admission.LimitKey) != "0" || ask[int](w, `SELECT count(*) FROM limit_differences`) != 0 {
		t.Errorf("%s used once it is gone and expired", w.used(admission.LimitKey))
	}
}

// Two parallel conversions do not both take the rest of a limit.
func TestLimitsAreTakenOnce(t *testing.T) {
	t.Parallel()
	w := limited(t, admission.LimitKey, admission.LimitPayer, admission.LimitReceiver)
	const n = 8
	var refs [n]string
	for i := range refs {
		var err error
		if refs[i], err = w.live(small()); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for i, ref := range refs { // each is worth 40 000, and 112 000 are left
		all.Go(func() { w.sent(ref, coin{key: "t" + string(rune('0'+i)), amount: "25", version: 1, depth: enough}) })
	}
	all.Wait()
	confirmed := ask[int](w, `SELECT count(*) FROM payments WHERE status = 'confirmed'`)
	held := ask[int](w, `SELECT count(*) FROM payments WHERE status = 'needs_review' AND exception = 'over_limit'`)
	if confirmed != 2 || held != n-2 || w.used(admission.LimitKey) != "86000" {
		t.Errorf("%d converted, %d held, %s used", confirmed, held, w.used(admission.LimitKey))
	}
	w.balanced()
}

// A claim names the receiver of converted money. The receiver's limit counts the converted amount, not the quote.
func TestLimitsOfAClaimCountWhatWasConverted(t *testing.T) {
	t.Parallel()
	w := limited(t, admission.LimitReceiver)
	gift := small()
	gift.Type, gift.Receiver = "gift", nil
	claim := func(usdt string) error {
		ref, err := w.live(gift)
		if err != nil {
			t.Fatal(err)
		}
		p := w.sent(ref, coin{key: "t" + usdt, amount: usdt, version: 1, depth: enough})
		if got := w.status(p); got != "confirmed overpaid" {
			t.Fatalf("a gift of %s USDT: %s", usdt, got)
		}
		_, err = w.app.Claim(t.Context(), ref, &payment.ReceiverInput{BankCode: "058", AccountNumber: "0123456789"}, noProblems(), idempotency.Key{})
		return err
	}
	if err := claim("62.5"); err != nil || w.used(admission.LimitReceiver) != "100000" {
		t.Fatalf("%v, %s used", err, w.used(admission.LimitReceiver))
	}
	if err := claim("62.501"); fault.As(err).Code != "daily_limit_exceeded" || w.used(admission.LimitReceiver) != "100000" {
		t.Fatalf("200 000 of 120 000: %v, %s used", err, w.used(admission.LimitReceiver))
	}
}

// A payout that an operator accepts above the limit uses up the limit and does not hold other payouts.
func TestAnOperatorLetsALimitPass(t *testing.T) {
	t.Parallel()
	w := limited(t, admission.LimitKey)
	other, err := w.live(small())
	if err != nil {
		t.Fatal(err)
	}
	first := w.sent(other, coin{key: "t0", amount: "0.625", version: 1, depth: enough})
	ref, err := w.live(small())
	if err != nil {
		t.Fatal(err)
	}
	p := w.sent(ref, coin{key: "t1", amount: "300", version: 1, depth: enough})
	amount := decimal.New(479_000, 0)
	body, err := w.resolve(p, operators.Order{Operator: "ada", Action: operators.ActionAccept, Payout: &amount})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(body, `"status":"confirmed"`) || w.used(admission.LimitKey) != "481000" {
		t.Errorf("%s, %s used", body, w.used(admission.LimitKey))
	}
	if _, err := w.live(small()); fault.As(err).Code != "daily_limit_exceeded" {
		t.Errorf("the limit is used up: %v", err)
	}
	w.settles(first)
	w.settles(p)
	w.balanced()
}

// A conversion beyond a capacity waits.
func TestCapacityCountsWhatIsConverted(t *testing.T) {
	t.Parallel()
	w := limited(t)
	c := admission.NewCapacity(w.store.Exposure, nil, map[money.Currency]decimal.Decimal{money.NGN: decimal.New(100_000, 0)},
		func(string, string, decimal.Decimal) {}, func(string, string) {})
	w.with(func(d *app.Deps) { d.Capacity = c })
	ref, err := w.live(small())
	if err != nil {
		t.Fatal(err)
	}
	p := w.sent(ref, coin{key: "t1", amount: "100", version: 1, depth: enough})
	if got := w.status(p); got != "needs_review over_limit" {
		t.Fatalf("NGN 160 000 of 100 000: %s", got)
	}
	if _, err := w.resolve(p, operators.Order{Operator: "ada", Action: operators.ActionAccept}); err != nil {
		t.Fatal(err)
	}
	w.settles(p)
	if ref, err = w.live(small()); err != nil {
		t.Fatal(err)
	}
	p = w.sent(ref, coin{key: "t2", amount: "25", version: 1, depth: enough})
	if got := w.status(p); got != "confirmed overpaid" {
		t.Fatalf("NGN 40 000 of 100 000: %s", got)
	}
}

// The list shows an operator the payout of accept, and accept pays it: NGN 5 000 are due and 50 million USDT arrived.
func TestAcceptPaysWhatTheListShows(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(4)
	c := command()
	c.FiatAmount = number("5000")
	p := w.made(c)
	w.see(p, coin{key: "t1", amount: "50000000", version: 1, depth: enough})
	w.want(p, "needs_review over_limit")
	shown := func() string {
		body, err := w.app.Holds(t.Context(), "", 10)
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Payments []struct{ WouldPay json.RawMessage }
		}
		if err := json.Unmarshal(body, &list); err != nil || len(list.Payments) != 1 {
			t.Fatalf("%s, %v", body, err)
		}
		every, err := w.app.ListAll(t.Context(), views.Filter{Statuses: []payment.Status{payment.StatusNeedsReview}, Limit: 10})
		if err != nil || !strings.Contains(string(every), `"wouldPay":`+string(list.Payments[0].WouldPay)) {
			t.Errorf("the list of payments shows something else: %s, %v", every, err)
		}
		return string(list.Payments[0].WouldPay)
	}
	if got := shown(); got != `{"amount":4500,"currency":"NGN"}` {
		t.Errorf("shown %s", got)
	}
	for _, amount := range []string{"72000000000", "4499.99", "4500.01"} {
		_, err := w.resolve(p, operators.Order{Operator: "ada", Action: operators.ActionAccept, Payout: number(amount)})
		if f := fault.As(err); f.Code != "payout_amount_differs" || f.Message != "Accepting would pay 4500.00 NGN now" {
			t.Errorf("%s: %v", amount, err)
		}
	}
	if _, err := w.resolve(p, operators.Order{Operator: "ada", Action: operators.ActionRetry, Payout: number("4500")}); fault.As(err).Kind != fault.Invalid {
		t.Errorf("an amount with a retry: %v", err)
	}
	if _, err := w.resolve(p, operators.Order{Operator: "ada", Action: operators.ActionAccept}); err != nil {
		t.Fatal(err)
	}
	w.settles(p)
	if got := ask[string](w, `SELECT amount::text FROM payouts`); got != "4500" {
		t.Errorf("paid %s", got)
	}
	if got := ask[string](w, `SELECT balance::text FROM ledger_accounts WHERE code LIKE '%customer:%'`); got != "49999996.875" {
		t.Errorf("owed to the payer: %s", got)
	}
	w.balanced()
}

// A payout above the quote and above the amount that one operator may move needs two operators. So does a refund above
// the quote.
func TestSecondOperator_countsWhatIsMoved(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(4)
	w.with(func(d *app.Deps) {
		d.SecondAbove = map[money.Currency]decimal.Decimal{money.NGN: decimal.New(60_000, 0)}
	})
	p := w.made(command())
	if _, err := w.app.Cancel(t.Context(), owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	w.see(p, coin{key: "t1", amount: "62.5", version: 1, depth: enough})
	w.want(p, "needs_review paid_late")
	all := operators.Order{Operator: "ada", Action: operators.ActionAccept, Payout: number("99500")}
	body, err := w.resolve(p, all)
	if err != nil || !strings.Contains(body, `"action":"accept","requestedBy":"ada"`) || !strings.Contains(body, `"upTo":99500`) {
		t.Fatalf("%s, %v", body, err)
	}
	all.Operator = "bob"
	if body, err = w.resolve(p, all); err != nil || strings.Contains(body, "approval") || strings.Contains(body, "wouldPay") {
		t.Fatalf("%s, %v", body, err)
	}

	p = w.made(command())
	if _, err := w.app.Cancel(t.Context(), owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	w.see(p, coin{key: "t2", amount: "62.5", version: 1, depth: enough})
	w.sql(`UPDATE payments SET refund_address = 'T1' WHERE id = $1`, p.ID)
	body, err = w.resolve(p, operators.Order{Operator: "ada", Action: operators.ActionRefunded, TxHash: strings.Repeat("f0", 32)})
	if err != nil || !strings.Contains(body, `"action":"mark_refunded","requestedBy":"ada"`) {
		t.Fatalf("a refund of twice the quote: %s, %v", body, err)
	}
	if body, err = w.resolve(p, operators.Order{Operator: "ada", Action: operators.ActionAccept}); err != nil || strings.Contains(body, "approval") {
		t.Fatalf("the quoted payout takes one: %s, %v", body, err)
	}
}

// 3.125 USDT are due and 3.09375 arrived. The page asks for the rest, and sending it pays the payment.
func TestThePageAsksForTheRestAndTakesIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(4)
	c := command()
	c.FiatAmount = number("5000")
	p := w.made(c)
	remaining := func() string {
		body, err := w.app.Checkout(t.Context(), p.Reference)
		if err != nil {
			t.Fatal(err)
		}
		var page struct {
			Payment struct{ RemainingAmount, ReceivedAmount, IgnoredAmount json.Number }
		}
		if err := json.Unmarshal(body, &page); err != nil {
			t.Fatal(err)
		}
		at := page.Payment
		return at.ReceivedAmount.String() + " " + at.RemainingAmount.String() + " " + at.IgnoredAmount.String()
	}
	if got := remaining(); got != "0 3.125 " {
		t.Errorf("at first %s", got)
	}
	w.see(p, coin{key: "t0", amount: "0.01", version: 1, depth: enough})
	if got := remaining(); got != "0.01 3.115 0.01" {
		t.Errorf("after dust %s", got)
	}
	if shown := w.shown(w.find(p.Reference)); !strings.Contains(shown, `"ignoredAmount":0.01`) {
		t.Errorf("GET says %s", shown)
	}
	w.see(p, coin{key: "t1", amount: "3.09375", version: 1, depth: enough})
	w.want(p, "pending underpaid")
	if got := remaining(); got != "3.10375 0.02125 " {
		t.Errorf("after most of it %s", got)
	}
	w.see(p, coin{key: "t2", amount: "0.02125", version: 1, depth: enough})
	w.want(p, "confirmed")
	if got := remaining(); got != "3.125 0 " {
		t.Errorf("in the end %s", got)
	}
	w.settles(p)
	w.balanced()
}

// GET and the events show the frozen charge.
func TestChargeThatWasTakenIsShown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(4)
	c := command()
	c.FiatAmount = number("50000000")
	p := w.made(c)
	if shown := w.shown(w.find(p.Reference)); !strings.Contains(shown, `"charge":{"fiat":37500,"crypto":23.4375,"usd":23.44}`) {
		t.Errorf("quoted %s", shown)
	}
	w.see(p, coin{key: "t1", amount: "62.5", version: 1, depth: enough})
	if _, err := w.app.ExpireNow(t.Context(), owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	w.want(p, "confirmed underpaid")
	const taken = `"charge":{"fiat":500,"crypto":0.3125,"usd":0.31}`
	if shown := w.shown(w.find(p.Reference)); !strings.Contains(shown, taken) || !strings.Contains(shown, `"payoutAmount":99500`) {
		t.Errorf("taken %s", shown)
	}
	var told wire.StatusChanged
	if err := json.Unmarshal(ask[[]byte](w, `SELECT body FROM outbox WHERE name = $1 ORDER BY id DESC LIMIT 1`, string(wire.PaymentStatusChangedV1)), &told); err != nil {
		t.Fatal(err)
	}
	if told.Type != "payment.confirmed" || !strings.Contains(string(told.Body), taken) {
		t.Errorf("the event %s shows %s", told.Type, told.Body)
	}
}

// expired returns a live payment whose window has ended and whose reservations are released.
func (w *fixture) expired(c payment.Command) string {
	w.t.Helper()
	ref, err := w.live(c)
	if err != nil {
		w.t.Fatal(err)
	}
	v, err := w.store.Find(w.t.Context(), living, ref)
	if err != nil {
		w.t.Fatal(err)
	}
	w.sql(`UPDATE payments SET expires_at = now() - interval '1 hour', due_at = now() - interval '1 hour' WHERE id = $1`, v.Payment.ID)
	w.sql(`INSERT INTO scan_progress (mode, network, height, finalized, block_time) VALUES ('live', 'tron', 100, 100, now()) ON CONFLICT DO NOTHING`)
	if err := w.app.ExpireDue(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	if got := w.status(v.Payment); strings.Fields(got)[0] != "expired" {
		w.t.Fatalf("nobody paid: %s", got)
	}
	return ref
}

// Late money that revives a payment and converts it at once counts the quote and the difference together.
func TestLimitsOfAPaymentRevivedAndConvertedAtOnce(t *testing.T) {
	t.Parallel()
	w := limited(t, admission.LimitKey)
	quoted := func(fiat string) payment.Command {
		c := command()
		c.FiatAmount = number(fiat)
		return c
	}
	less := w.expired(quoted("100000"))
	p := w.sent(less, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	if got := w.status(p); got != "confirmed underpaid" || w.used(admission.LimitKey) != "50000" {
		t.Errorf("half of it: %s, %s used", got, w.used(admission.LimitKey))
	}
	more := w.expired(quoted("60000"))
	p = w.sent(more, coin{key: "t2", amount: "50", version: 1, depth: enough}) // worth 80 000, and 70 000 are left
	if got := w.status(p); got != "needs_review over_limit" || w.used(admission.LimitKey) != "110000" {
		t.Errorf("more than is left: %s, %s used", got, w.used(admission.LimitKey))
	}
	w.balanced()
}

// An earlier version, which knows no differences, may have undone a conversion that counted one. The next conversion
// counts its difference nevertheless.
func TestLimitsBookADifferenceAnew(t *testing.T) {
	t.Parallel()
	w := limited(t, admission.LimitKey)
	ref, err := w.live(small())
	if err != nil {
		t.Fatal(err)
	}
	w.sql(`INSERT INTO limit_differences (payment_id, kind, day, subject, currency, amount)
SELECT payment_id, kind, day, subject, currency, 40000 FROM limit_reservations`)
	w.sql(`UPDATE limit_usage SET used = used + 40000`)
	p := w.sent(ref, coin{key: "t1", amount: "62.5", version: 1, depth: enough}) // worth 100 000
	if got := w.status(p); got != "confirmed overpaid" || w.used(admission.LimitKey) != "100000" {
		t.Errorf("%s, %s used", got, w.used(admission.LimitKey))
	}
}
