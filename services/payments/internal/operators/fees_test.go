//go:build integration

package operators_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/fees"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
)

// feeOrder is an order of ada for everybody's payments in NGN in test mode.
func feeOrder(t testing.TB, tiers string, edits ...func(*operators.FeeOrder)) operators.FeeOrder {
	t.Helper()
	d := operators.FeeOrder{Operator: "ada", Scope: fees.Scope{Currency: money.NGN, Mode: tenant.Test}, Tiers: []quote.Tier{}, Note: "agreed"}
	if tiers != "" {
		var err error
		if d.Tiers, err = quote.ParseTiers(tiers); err != nil {
			t.Fatalf("ParseTiers(%s) = %v, want no error", tiers, err)
		}
	}
	for _, edit := range edits {
		edit(&d)
	}
	return d
}

func live(d *operators.FeeOrder) { d.Mode = tenant.Live }

func byBob(d *operators.FeeOrder) { d.Operator = "bob" }

func of(merchant string) func(*operators.FeeOrder) {
	return func(d *operators.FeeOrder) { d.MerchantID = merchant }
}

type published struct {
	FeeSchedule *struct {
		ID     string
		Number int64
		Note   string
	}
	Approval *struct{ RequestedBy string }
}

func publish(w *fixture.Payments, d operators.FeeOrder) (out published, err error) {
	w.T.Helper()
	a, err := w.PublishFees(w.T.Context(), d, &fault.Problems{}, idempotency.Key{})
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(a.Body, &out); err != nil {
		w.T.Fatalf("read %s: %v", a.Body, err)
	}
	return out, nil
}

// mustPublish publishes a schedule that needs one operator.
func mustPublish(w *fixture.Payments, d operators.FeeOrder) (scheduleID string) {
	w.T.Helper()
	got, err := publish(w, d)
	if err != nil || got.FeeSchedule == nil {
		w.T.Fatalf("PublishFees(%+v) = %+v, %v; want a schedule", d, got, err)
	}
	return got.FeeSchedule.ID
}

// soon makes the use cases price as they will once every schedule that is published now holds.
func soon(w *fixture.Payments) {
	w.T.Helper()
	known := fees.NewSchedules(w.Store.PublishedFees, func() time.Time { return time.Now().Add(time.Hour) })
	if err := known.Load(w.T.Context()); err != nil {
		w.T.Fatalf("Load() = %v, want no error", err)
	}
	w.With(func(d *fixture.Deps) { d.Fees = known })
}

// A priced payment keeps its schedule: what comes later changes neither its quote nor the conversion of its money. A
// merchant's own schedule prices the payments of that merchant alone.
func TestFees_quotes(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	charged := func(p payment.Payment, id, fee string) {
		t.Helper()
		got := w.Find(p.Reference).Payment.Quote
		if got.Fees.ID != id || !got.Charge.Fiat.Equal(decimal.RequireFromString(fee)) || len(got.Fees.Tiers) == 0 {
			t.Errorf("the quote has a fee of %s by %+v, want %s by %s", got.Charge.Fiat, got.Fees, fee, id)
		}
		if shown := w.Shown(w.Find(p.Reference)); !strings.Contains(shown, `"feeScheduleId":"`+id+`"`) {
			t.Errorf("GET shows %s, want the schedule %s", shown, id)
		}
	}
	first := w.Make(fixture.Command())
	charged(first, "fee_ngn_1", "500")
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments WHERE fee_schedule = '' AND fee_tiers IS NULL`); n != 1 {
		t.Errorf("%d payments are stored as those of earlier releases, want 1", n)
	}

	everyone := mustPublish(w, feeOrder(t, "rest=400"))
	own := mustPublish(w, feeOrder(t, "60000=250,rest=700", of(fixture.Owner.MerchantID)))
	soon(w)
	second := w.Make(fixture.Command())
	charged(second, own, "250")
	other := fixture.Owner
	other.MerchantID = "m2"
	a, err := w.Intake.Create(t.Context(), other, fixture.Command(), &fault.Problems{}, idempotency.Key{})
	if err != nil || !strings.Contains(string(a.Body), `"charge":{"fiat":400,`) {
		t.Errorf("another merchant gets %s, %v; want a fee of 400 by %s", a.Body, err, everyone)
	}

	mustPublish(w, feeOrder(t, "rest=1", of(fixture.Owner.MerchantID)))
	soon(w)
	third := w.Make(fixture.Command())
	if got := w.Find(third.Reference).Payment.Quote.Charge.Fiat; !got.Equal(decimal.NewFromInt(1)) {
		t.Errorf("the newest schedule takes %s, want 1", got)
	}
	charged(first, "fee_ngn_1", "500")
	charged(second, own, "250")
	for _, c := range []struct {
		p           payment.Payment
		payout, fee string
	}{{first, "99500", "500"}, {second, "99300", "700"}, {third, "99999", "1"}} {
		w.See(c.p, fixture.Coin{Key: "twice " + c.p.ID, Amount: "62.5", Version: 1, Depth: fixture.Enough})
		got := w.Find(c.p.Reference).Payment.Credit
		if !got.Payout.Equal(decimal.RequireFromString(c.payout)) || !got.Fee.Equal(decimal.RequireFromString(c.fee)) {
			t.Errorf("twice the quote converts to %s with a fee of %s, want %s and %s", got.Payout, got.Fee, c.payout, c.fee)
		}
	}
	w.Balanced()

	mustPublish(w, feeOrder(t, "", of(fixture.Owner.MerchantID)))
	soon(w)
	charged(w.Make(fixture.Command()), everyone, "400")
}

// A pod of an earlier release writes the price of a payment anew and knows no schedules: the payment keeps its own one.
// A row without its tiers is an error, and never free of charge.
func TestFees_rows(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(2)
	id := mustPublish(w, feeOrder(t, "rest=400"))
	soon(w)
	p := w.Make(fixture.Command())
	w.SQL(`UPDATE payments SET price = json_build_object('rate', price -> 'rate', 'feeTable', '2026-01') WHERE id = $1`, p.ID)
	if got := w.Find(p.Reference).Payment.Quote.Fees; got.ID != id || quote.TiersText(got.Tiers) != "rest=400" {
		t.Errorf("after an earlier release the payment has the fees %+v, want %s", got, id)
	}
	w.SQL(`UPDATE payments SET fee_tiers = NULL WHERE id = $1`, p.ID)
	if v, err := w.Store.FindAny(t.Context(), p.Reference); err == nil || !strings.Contains(err.Error(), "read the fees of "+p.ID) {
		t.Errorf("without its tiers the payment is read as %+v, %v; want an error", v.Payment.Quote.Fees, err)
	}
}

// A request is priced when it is fulfilled, by the fees of that moment.
func TestFees_fulfil(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	p := w.Make(fixture.Request())
	if shown := w.Shown(w.Find(p.Reference)); strings.Contains(shown, "feeScheduleId") {
		t.Errorf("GET of a request without a price shows %s, want no schedule", shown)
	}
	id := mustPublish(w, feeOrder(t, "rest=400"))
	soon(w)
	if _, err := w.Intake.Fulfil(t.Context(), p.Reference, fixture.Fulfilment(), &fault.Problems{}, idempotency.Key{}); err != nil {
		t.Fatalf("Fulfil() = %v, want no error", err)
	}
	if got := w.Find(p.Reference).Payment.Quote; got.Fees.ID != id || !got.Charge.Fiat.Equal(decimal.NewFromInt(400)) {
		t.Errorf("the request is fulfilled at a fee of %s by %s, want 400 by %s", got.Charge.Fiat, got.Fees.ID, id)
	}
}

// A bad order changes nothing.
func TestFees_refused(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	at := func(from time.Duration) func(*operators.FeeOrder) {
		return func(d *operators.FeeOrder) { d.ValidFrom = time.Now().Add(from) }
	}
	for field, d := range map[string]operators.FeeOrder{
		"fiatCurrency":  feeOrder(t, "rest=1", func(d *operators.FeeOrder) { d.Currency = "USD" }),
		"mode":          feeOrder(t, "rest=1", func(d *operators.FeeOrder) { d.Mode = "" }),
		"merchantId":    feeOrder(t, "rest=1", of(strings.Repeat("m", 51))),
		"tiers":         feeOrder(t, ""),
		"tiers[1]":      feeOrder(t, "1000=50,rest=49"),
		"tiers[0].flat": feeOrder(t, "rest=0.001"),
		"note":          feeOrder(t, "rest=1", func(d *operators.FeeOrder) { d.Note = "" }),
		"validFrom":     feeOrder(t, "rest=1", at(time.Second)),
	} {
		if _, err := publish(w, d); fault.As(err).Code != "validation_failed" || fault.As(err).Fields[0].Field != field {
			t.Errorf("PublishFees(%+v) = %v, want a refusal of %s", d, err, field)
		}
	}
	missing := feeOrder(t, "rest=1", of("m1"))
	missing.Tiers = nil
	for _, d := range []operators.FeeOrder{missing, feeOrder(t, "rest=1", at(400*24*time.Hour)), feeOrder(t, "rest=1", of(" m1"))} {
		if _, err := publish(w, d); fault.As(err).Code != "validation_failed" {
			t.Errorf("PublishFees(%+v) = %v, want validation_failed", d, err)
		}
	}
	if n := fixture.Ask[int](w, `SELECT (SELECT count(*) FROM fee_schedules) + (SELECT count(*) FROM approvals) + (SELECT count(*) FROM audit)`); n != 4 {
		t.Errorf("%d rows of schedules, approvals and audit after refusals, want the 4 first schedules", n)
	}
}

// In live mode a second operator confirms the same schedule. Where another one was published in between, the request is
// withdrawn.
func TestFees_twoOperators(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.With(func(d *fixture.Deps) {
		d.SecondAbove = map[money.Currency]decimal.Decimal{money.NGN: decimal.NewFromInt(1000)}
	})
	asks := func(d operators.FeeOrder) {
		t.Helper()
		if got, err := publish(w, d); err != nil || got.FeeSchedule != nil || got.Approval == nil || got.Approval.RequestedBy != d.Operator {
			t.Fatalf("PublishFees(%+v) = %+v, %v; want it to wait for another operator", d, got, err)
		}
	}
	mustPublish(w, feeOrder(t, "rest=3")) // test mode moves no money
	asks(feeOrder(t, "rest=5", live))
	if _, err := publish(w, feeOrder(t, "rest=5", live)); !fault.Is(err, "second_operator_required") {
		t.Errorf("the same operator again = %v, want second_operator_required", err)
	}
	asks(feeOrder(t, "rest=6", live, byBob)) // another order is another request
	if got, err := publish(w, feeOrder(t, "rest=6", live, of("m1"))); err != nil || got.Approval == nil {
		t.Errorf("the same for one merchant = %+v, %v; want a request of its own", got, err)
	}
	got, err := publish(w, feeOrder(t, "rest=6", live))
	if err != nil || got.FeeSchedule == nil || got.FeeSchedule.Note != "agreed (asked for by bob: agreed)" {
		t.Fatalf("the second operator gets %+v, %v; want the schedule", got, err)
	}

	asks(feeOrder(t, "rest=7", live))
	w.SQL(`INSERT INTO fee_schedules SELECT 'fee_x', number + 1, currency, mode, merchant_id, tiers, valid_from, now(), 'eve', 'x' FROM fee_schedules WHERE id = $1`, got.FeeSchedule.ID)
	if _, err := publish(w, feeOrder(t, "rest=7", live, byBob)); !fault.Is(err, "approval_outdated") {
		t.Errorf("after another publication = %v, want approval_outdated", err)
	}
	asks(feeOrder(t, "rest=7", live, byBob)) // the request was withdrawn
	if n := fixture.Ask[int](w, `SELECT count(*) FROM audit WHERE action = 'fees.published' AND detail ->> 'id' = $1`, got.FeeSchedule.ID); n != 1 {
		t.Errorf("%d audit entries of the publication, want 1", n)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM audit WHERE action = 'fees.requested'`); n != 5 {
		t.Errorf("%d audit entries of requests, want 5", n)
	}
}

// Publications at the same time take turns: each has a number of its own, and a process that has read up to a number
// has missed none. A key publishes once.
func TestFees_race(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	const each = 8
	d := feeOrder(t, "rest=2")
	key := idempotency.Key{Scope: "operators", Key: "k1"}
	var wait sync.WaitGroup
	answers := make([]string, each)
	for i := range each {
		wait.Go(func() {
			if _, err := w.PublishFees(t.Context(), d, &fault.Problems{}, idempotency.Key{}); err != nil {
				t.Errorf("PublishFees() = %v, want no error", err)
			}
		})
		wait.Go(func() {
			a, err := w.PublishFees(t.Context(), d, &fault.Problems{}, key)
			if err != nil {
				t.Errorf("PublishFees() with a key = %v, want no error", err)
			}
			answers[i] = string(a.Body)
		})
	}
	wait.Wait()
	if n := fixture.Ask[int](w, `SELECT count(*) FROM fee_schedules WHERE number > 4`); n != each+1 {
		t.Errorf("%d schedules, want %d", n, each+1)
	}
	if n := fixture.Ask[int](w, `SELECT max(number) FROM fee_schedules`); n != 4+each+1 {
		t.Errorf("the last number is %d, want no gap", n)
	}
	for _, a := range answers {
		if a != answers[0] || !strings.Contains(a, `"id":"fee_`) {
			t.Errorf("two answers of a key are %s and %s, want the same", answers[0], a)
		}
	}
}

// A schedule never changes, and the first ones are those that the program knows.
func TestFees_table(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	found, err := w.Store.PublishedFees(t.Context(), 0)
	if err != nil || len(found) != len(money.Currencies()) {
		t.Fatalf("PublishedFees() = %+v, %v; want one schedule of each currency", found, err)
	}
	for _, p := range found {
		first := quote.First(p.Currency)
		if p.ID != first.ID || quote.TiersText(p.Tiers) != quote.TiersText(first.Tiers) || p.Mode != "" || p.MerchantID != "" {
			t.Errorf("the database begins with %+v, want %+v", p, first)
		}
	}
	for _, sql := range []string{`UPDATE fee_schedules SET tiers = '[]'`, `DELETE FROM fee_schedules`, `TRUNCATE fee_schedules`} {
		if _, err := w.Pool.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s = %v, want a refusal", sql, err)
		}
	}
	var ids []string
	for i := range 5 {
		ids = append(ids, mustPublish(w, feeOrder(t, "rest="+string(rune('1'+i)), of("m1"))))
	}
	keys := fixture.Pages(t, "feeSchedules", func(before string) ([]byte, error) {
		return w.FeeSchedules(t.Context(), operators.FeeFilter{Scope: fees.Scope{MerchantID: "m1"}, Before: before, Most: 2})
	})
	if len(keys) != len(ids) {
		t.Errorf("the pages list %v, want %d schedules", keys, len(ids))
	}
	for _, c := range []struct {
		scope fees.Scope
		want  int
	}{{fees.Scope{}, 9}, {fees.Scope{Currency: money.GHS}, 1}, {fees.Scope{Mode: tenant.Live}, 4}, {fees.Scope{Mode: tenant.Test}, 9}, {fees.Scope{MerchantID: "m2"}, 0}} {
		if rows, err := w.Store.FeeSchedules(t.Context(), operators.FeeFilter{Scope: c.scope, Most: 50}); err != nil || len(rows) != c.want {
			t.Errorf("FeeSchedules(%+v) = %d rows, %v; want %d", c.scope, len(rows), err, c.want)
		}
	}
	body, err := w.FeeSchedule(t.Context(), ids[0])
	if err != nil || !strings.Contains(string(body), `"merchantId":"m1","tiers":[{"upTo":null,"flat":1,"basisPoints":0,"minimum":null,"maximum":null}]`) {
		t.Errorf("FeeSchedule() = %s, %v; want the tiers", body, err)
	}
	if _, err := w.FeeSchedule(t.Context(), "fee_none"); !fault.Is(err, "fee_schedule_not_found") {
		t.Errorf("FeeSchedule(fee_none) = %v, want fee_schedule_not_found", err)
	}
}
