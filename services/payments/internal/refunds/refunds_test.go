//go:build integration

package refunds_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/refund"
	"causeway.internal/services/payments/internal/refunds"
	"causeway.internal/services/payments/internal/store"
	"causeway.internal/services/payments/internal/views"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const payers = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"

// owing is a cancelled payment that owes 31.25 USDT on tron.
func owing(w *fixture.Payments) payment.Payment {
	w.T.Helper()
	w.Fill(1)
	p := w.Make(fixture.Command())
	if _, err := w.Merchants.Cancel(w.T.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		w.T.Fatalf("cancel payment %s: %v", p.ID, err)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	if _, err := w.Merchants.RefundAddress(w.T.Context(), fixture.Owner, p.Reference, payers, &fault.Problems{}, idempotency.Key{}); err != nil {
		w.T.Fatalf("set the refund address of payment %s: %v", p.ID, err)
	}
	return p
}

// ask requests a refund; amount "" is everything.
func ask(w *fixture.Payments, p payment.Payment, amount string, k idempotency.Key) (views.RefundView, error) {
	w.T.Helper()
	o := refunds.Order{Reason: "the order was cancelled", Sender: "key 7"}
	if amount != "" {
		sum := decimal.RequireFromString(amount)
		o.Amount = &sum
	}
	a, err := w.Refunds.Request(w.T.Context(), fixture.Owner, p.Reference, o, &fault.Problems{}, k)
	if err != nil {
		return views.RefundView{}, err
	}
	var answer views.RefundAnswer
	if err := json.Unmarshal(a.Body, &answer); err != nil || a.Status != change.StatusCreated {
		w.T.Fatalf("answer %d %s: %v, want 201 with a refund", a.Status, a.Body, err)
	}
	return answer.Refund, nil
}

// reports returns wallets, which reports about refunds of 31.25 USDT.
func reports(w *fixture.Payments) func(refundID string, version int64, s wire.RefundState, edit ...func(*wire.RefundChanged)) error {
	changed := refunds.Reports{Policy: w.Deps.Policy, Report: w.Store.ReportRefund}.Changed
	return func(refundID string, version int64, s wire.RefundState, edit ...func(*wire.RefundChanged)) error {
		m := wire.RefundChanged{
			RefundID: refundID, Version: version, Mode: tenant.Test, Network: "tron", State: s, TxHash: "f00d", Amount: "31250000", Fee: "1000000",
			OccurredAt: time.Now(),
		}
		for _, f := range edit {
			f(&m)
		}
		return changed(w.T.Context(), id.New(id.Message, time.Now()), m)
	}
}

func account(w *fixture.Payments, code string) string {
	w.T.Helper()
	return fixture.Ask[string](w, `SELECT coalesce(sum(CASE side WHEN 'credit' THEN amount ELSE -amount END), 0)::text FROM ledger_entries WHERE account = $1`, code)
}

// While a transaction that an operator named is looked up, its money is not refunded on the chain too. It can be
// refunded as soon as the transaction turns out to be no refund, and when the question is old.
func TestRefund_namedByAnOperator(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := owing(w)
	named, round := "", 0
	mark := func() error {
		_, err := w.Operators.Resolve(t.Context(), p.Reference, operators.Order{
			Operator: "ada", Action: operators.ActionRefunded, Reason: "sent by hand", TxHash: named,
		}, &fault.Problems{}, idempotency.Key{})
		return err
	}
	says := func(edit func(*wire.TransferFound)) func() {
		return func() {
			if err := w.AnswerLookups(edit); err != nil {
				t.Fatal(err)
			}
		}
	}
	none := func() {}
	for name, c := range map[string]struct {
		then func()
		open bool
	}{
		"being looked up":      {none, true},
		"in no final block":    {says(func(m *wire.TransferFound) { m.State = wire.TransferNotFinal }), true},
		"of unknown fate":      {says(func(m *wire.TransferFound) { m.State, m.Sums = wire.TransferUnknown, nil }), true},
		"found":                {says(func(*wire.TransferFound) {}), true},
		"not found":            {says(func(m *wire.TransferFound) { m.State, m.Sums = wire.TransferMissing, nil }), false},
		"to another address":   {says(func(m *wire.TransferFound) { m.Sums = nil }), false},
		"asked about long ago": {func() { w.SQL(`UPDATE refund_lookups SET asked_at = asked_at - interval '7 hours'`) }, false},
		"of another amount": {func() {
			says(func(m *wire.TransferFound) { m.Sums[0].Amount = "1" })()
			if err := mark(); fault.As(err).Code != "refund_differs" {
				t.Errorf("mark_refunded with another amount = %v, want refund_differs", err)
			}
		}, false},
	} {
		round++
		named = fixture.Hash("by hand " + strconv.Itoa(round))
		if err := mark(); fault.As(err).Code != "refund_unverified" {
			t.Fatalf("mark_refunded before a transaction %s = %v, want refund_unverified", name, err)
		}
		c.then()
		r, err := ask(w, p, "1", idempotency.Key{})
		if open := fault.Is(err, "refund_open"); open != c.open || !open && err != nil {
			t.Errorf("a refund beside a named transaction %s = %v, want refund_open: %t", name, err, c.open)
		}
		if err == nil {
			if err := reports(w)(r.ID, 1, wire.RefundFailed, func(m *wire.RefundChanged) { m.Reason, m.Amount = "test", "1000000" }); err != nil {
				t.Fatal(err)
			}
		}
		w.SQL(`DELETE FROM refund_lookups`)
		w.SQL(`DELETE FROM outbox WHERE name = 'payments.find_transfer.v1'`)
	}
	w.Balanced()
}

func TestRefund(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := owing(w)
	key := idempotency.Key{Scope: "s", Key: "k", Hash: [32]byte{1}}
	r, err := ask(w, p, "", key)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != refund.Approved || r.Amount != "31.25" || r.Crypto != "USDT" || r.Network != "tron" || r.Address != payers {
		t.Errorf("refund %+v, want 31.25 USDT on tron approved", r)
	}
	if again, err := ask(w, p, "", key); err != nil || again.ID != r.ID {
		t.Errorf("the same request again gives %s, %v, want refund %s", again.ID, err, r.ID)
	}
	if _, err := ask(w, p, "", idempotency.Key{}); fault.As(err).Code != "nothing_owed" {
		t.Errorf("a second request gives %v, want nothing_owed", err)
	}
	other := fixture.Owner
	other.MerchantID = "another"
	if _, err := w.Refunds.Request(t.Context(), other, p.Reference, refunds.Order{Reason: "r"}, &fault.Problems{}, idempotency.Key{}); fault.As(err).Kind != fault.NotFound {
		t.Errorf("another merchant's request gives %v, want not found", err)
	}
	var ordered wire.RefundApproved
	if err := json.Unmarshal(fixture.Ask[[]byte](w, `SELECT body FROM outbox WHERE name = $1`, string(wire.RefundApprovedV1)), &ordered); err != nil {
		t.Fatal(err)
	}
	if ordered.ID != r.ID || ordered.Amount != "31250000" || ordered.To != payers || ordered.Check() != nil {
		t.Errorf("order %+v, want refund %s of 31250000", ordered, r.ID)
	}
	if got := account(w, "test:clearing:refund:tron:USDT"); got != "31.25" {
		t.Errorf("clearing holds %s, want 31.25", got)
	}

	report := reports(w)
	for _, s := range []struct {
		version int64
		state   wire.RefundState
		want    string
	}{
		{1, wire.RefundSigning, "signing"},
		{3, wire.RefundConfirmed, "confirmed"},
		{2, wire.RefundSent, "confirmed"}, // overtaken
		{3, wire.RefundConfirmed, "confirmed"},
	} {
		if err := report(r.ID, s.version, s.state); err != nil {
			t.Fatal(err)
		}
		if got := fixture.Ask[string](w, `SELECT state FROM refunds`); got != s.want {
			t.Errorf("after report %d of %s the refund is %s, want %s", s.version, s.state, got, s.want)
		}
	}
	w.Want(p, "refunded paid_late")
	for code, want := range map[string]string{
		"test:clearing:refund:tron:USDT": "0.00", "test:suspense:USDT": "0.00", "test:crypto:hot:tron:USDT": "31.25", "test:gas:TRX": "-1", "test:crypto:hot:tron:TRX": "1",
	} {
		if got := account(w, code); !decimal.RequireFromString(got).Equal(decimal.RequireFromString(want)) {
			t.Errorf("%s is at %s, want %s", code, got, want)
		}
	}
	w.Balanced()
	want := []string{
		"pending", "cancelled", "needs_review", "refund_requested", "refund_approved", "refund_signing", "refund_confirmed", "refunded",
	}
	var got []string
	for _, e := range w.Events(p) {
		if _, kind, _ := strings.Cut(e, " payment."); kind != "refund_address_changed" {
			got = append(got, kind)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	w.Find(p.Reference) // GET shows the refund as the whole row does

	// A report that cannot be true changes nothing.
	for name, edit := range map[string]func(*wire.RefundChanged){
		"another amount":  func(m *wire.RefundChanged) { m.Amount = "1" },
		"another network": func(m *wire.RefundChanged) { m.Network = "ethereum" },
		"another mode":    func(m *wire.RefundChanged) { m.Mode = tenant.Live },
		"another refund":  func(m *wire.RefundChanged) { m.RefundID = "rfd_none" },
		"no version":      func(m *wire.RefundChanged) { m.Version = 0 },
		"unknown state":   func(m *wire.RefundChanged) { m.State = "lost" },
	} {
		if err := report(r.ID, 9, wire.RefundSent, edit); !fault.IsPermanent(err) {
			t.Errorf("a report with %s gives %v, want a permanent fault", name, err)
		}
	}
	// A reorganisation takes it back, and it can never land: the payer is owed again, and wallets must not contradict it.
	if err := report(r.ID, 4, wire.RefundSent); err != nil {
		t.Fatal(err)
	}
	if err := report(r.ID, 5, wire.RefundFailed, func(m *wire.RefundChanged) { m.TxHash, m.Fee, m.Reason = "", "0", wire.RefundReplaced }); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "needs_review paid_late")
	if got := account(w, "test:suspense:USDT"); got != "31.25" {
		t.Errorf("suspense holds %s, want 31.25", got)
	}
	before := w.Alerts.Load()
	if err := report(r.ID, 6, wire.RefundConfirmed); err != nil || w.Alerts.Load() != before+1 {
		t.Errorf("a report after the failure gives %v and %d alerts, want one alert", err, w.Alerts.Load()-before)
	}
	w.Balanced()
}

// After a restore operators find the refunds that payments does not know, or knows in another state.
func TestRefund_unmatched(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := owing(w)
	r, err := ask(w, p, "1", idempotency.Key{})
	if err != nil {
		t.Fatal(err)
	}
	compare := func(want ...store.RefundState) {
		t.Helper()
		got, err := w.Store.UnmatchedRefunds(t.Context(), []store.RefundState{{ID: "rfd_lost", State: "sent"}, {ID: r.ID, State: "confirmed"}})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("compare two refunds with wallets: got %v, %v, want %v", got, err, want)
		}
	}
	compare(store.RefundState{ID: "rfd_lost"}, store.RefundState{ID: r.ID, State: "approved"})
	if err := reports(w)(r.ID, 3, wire.RefundConfirmed, func(m *wire.RefundChanged) { m.Amount = "1000000" }); err != nil {
		t.Fatal(err)
	}
	compare(store.RefundState{ID: "rfd_lost"})
	w.Balanced()
}

// Parallel requests together never take more than is owed.
func TestRefund_parallel(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := owing(w)
	var wg sync.WaitGroup
	codes := make(chan string, 64)
	for range 64 {
		wg.Go(func() {
			one := decimal.New(1, 0)
			_, err := w.Refunds.Request(context.WithoutCancel(t.Context()), fixture.Owner, p.Reference,
				refunds.Order{Amount: &one, Reason: "r"}, &fault.Problems{}, idempotency.Key{})
			if err == nil {
				codes <- "made"
				return
			}
			codes <- fault.As(err).Code
		})
	}
	wg.Wait()
	close(codes)
	got := map[string]int{}
	for code := range codes {
		got[code]++
	}
	if got["made"] != 31 || got["amount_above_owed"]+got["busy"] != 33 {
		t.Errorf("64 requests of 1 USDT of 31.25 owed give %v, want 31 made and 33 amount_above_owed", got)
	}
	if sum := account(w, "test:clearing:refund:tron:USDT"); sum != "31" {
		t.Errorf("clearing holds %s, want 31", sum)
	}
	w.Balanced()
}

// A refund above the bound waits for two operators; one of them alone can refuse it.
func TestRefund_operators(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.With(func(d *fixture.Deps) {
		d.SecondAbove = map[money.Currency]decimal.Decimal{money.NGN: decimal.New(1, 0)}
	})
	p := owing(w)
	waits := func(amount string) string { // as a live payment above its bound
		t.Helper()
		r := refund.Refund{ID: id.New(id.Refund, time.Now()), Network: "tron", Asset: "USDT", Amount: decimal.RequireFromString(amount), Reason: "r", RequestedBy: "key 7"}
		if err := w.Store.UpdateOnce(t.Context(), p.ID, idempotency.Key{}, func(v change.View, now time.Time) (change.Result, error) {
			return change.Applied(w.Deps.Policy.Apply(v.Payment, payment.RequestRefund{Refund: r, Rows: v.Rows, Refunds: v.Refunds}, now))
		}); err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	one, two := waits("10"), waits("5")
	if ids := fixture.Pages(t, "refunds", func(before string) ([]byte, error) { return w.Refunds.Waiting(t.Context(), before, 1) }); !slices.Equal(ids, []string{two, one}) {
		t.Errorf("refunds %v wait, want %s and %s", ids, two, one)
	}
	w.SQL(`UPDATE refunds SET created_at = now() - interval '1 hour' WHERE id = $1`, one)
	open, err := w.Store.OpenRefunds(t.Context())
	if err != nil || len(open) != 1 || open[0].Refunds != 2 || open[0].State != refund.Requested || open[0].Oldest < time.Hour || open[0].Oldest > 2*time.Hour {
		t.Errorf("OpenRefunds() = %+v, %v; want 2 requested refunds, the oldest an hour old", open, err)
	}
	approve := func(refundID, operator string) string {
		t.Helper()
		a, err := w.Refunds.Approve(t.Context(), refundID, refunds.Decision{Operator: operator, Reason: "checked"}, &fault.Problems{}, idempotency.Key{})
		if err != nil {
			return fault.As(err).Code
		}
		var answer views.OperatedRefund
		if err := json.Unmarshal(a.Body, &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Approval != nil {
			return answer.Approval.Status
		}
		return string(answer.Refund.Status)
	}
	for _, c := range []struct{ refund, operator, want string }{
		{one, "ada", "waiting_for_second_operator"},
		{one, "Ada", "second_operator_required"},
		{two, "bob", "waiting_for_second_operator"}, // replaces the request about the other refund
		{one, "bob", "waiting_for_second_operator"},
		{one, "ada", "approved"},
		{one, "bob", "refund_decided"},
		{"rfd_none", "bob", "refund_not_found"},
	} {
		if got := approve(c.refund, c.operator); got != c.want {
			t.Errorf("%s approves %s: %s, want %s", c.operator, c.refund, got, c.want)
		}
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM outbox WHERE name = $1`, string(wire.RefundApprovedV1)); n != 1 {
		t.Errorf("%d orders left, want 1", n)
	}
	if _, err := w.Refunds.Refuse(t.Context(), two, refunds.Decision{Operator: "bob", Reason: "fraud"}, &fault.Problems{}, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	if got := fixture.Ask[string](w, `SELECT state || ' ' || failure FROM refunds WHERE id = $1`, two); got != "failed refused" {
		t.Errorf("the refused refund is %q, want failed refused", got)
	}
	if got := account(w, "test:clearing:refund:tron:USDT"); got != "10" {
		t.Errorf("clearing holds %s, want 10", got)
	}
	w.Balanced()
}

// A request for converted money holds nothing until its approval, which keeps the deposits that the money comes from.
func TestRefund_ofConvertedMoney(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := w.ConfirmedWith("0123456789")
	apply := func(trigger func(v change.View) payment.Trigger) {
		t.Helper()
		if err := w.Store.UpdateOnce(t.Context(), p.ID, idempotency.Key{}, func(v change.View, now time.Time) (change.Result, error) {
			return change.Applied(w.Deps.Policy.Apply(v.Payment, trigger(v), now))
		}); err != nil {
			t.Fatal(err)
		}
	}
	apply(func(v change.View) payment.Trigger { return payment.Screened{Verdict: payment.Hit, Rows: v.Rows} })
	if _, err := w.Merchants.RefundAddress(t.Context(), fixture.Owner, p.Reference, payers, &fault.Problems{}, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	request := func() string {
		r := refund.Refund{ID: id.New(id.Refund, time.Now()), Network: "tron", Asset: "USDT", Reason: "r", RequestedBy: "key 7"}
		apply(func(v change.View) payment.Trigger {
			return payment.RequestRefund{Refund: r, Rows: v.Rows, Refunds: v.Refunds}
		})
		return r.ID
	}
	differences := func() (open map[string]int) {
		t.Helper()
		w.SQL(`DELETE FROM reconciliations`)
		if err := w.Books.Reconcile(t.Context(), func(found map[string]int, _ time.Time) { open = found }); err != nil {
			t.Fatal(err)
		}
		return open
	}
	const clearing = "test:clearing:refund:tron:USDT"
	refused := request()
	if sum := account(w, clearing); sum != "0" {
		t.Errorf("clearing holds %s of a request, want 0", sum)
	}
	if open := differences(); open[books.DiffRefunds] != 0 {
		t.Errorf("the request makes the differences %v, want none", open)
	}
	if _, err := w.Refunds.Refuse(t.Context(), refused, refunds.Decision{Operator: "bob", Reason: "r"}, &fault.Problems{}, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	approved := request()
	apply(func(v change.View) payment.Trigger {
		r := v.Refunds[len(v.Refunds)-1]
		return payment.ChangeRefund{Refund: r, Trigger: refund.Trigger{Name: refund.OnApprove, Approval: refund.ByOperator}, Rows: v.Rows, Refunds: v.Refunds}
	})
	if n := fixture.Ask[int](w, `SELECT jsonb_array_length(parts) FROM refunds WHERE id = $1`, approved); n != 1 {
		t.Errorf("the approved refund has %d parts, want 1", n)
	}
	if sum, want := account(w, clearing), p.Quote.CryptoAmount; !decimal.RequireFromString(sum).Equal(want) {
		t.Errorf("clearing holds %s of the approved refund, want %s", sum, want)
	}
	if open := differences(); open[books.DiffRefunds] != 0 {
		t.Errorf("the approval makes the differences %v, want none", open)
	}
	w.Balanced()
}

// A wallets whose database was restored gets the orders of all open refunds again, whenever they were approved: an
// order may have come to it long after that.
func TestRefund_ordersAgain(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := owing(w)
	var open []string
	for range 4 {
		r, err := ask(w, p, "1", idempotency.Key{})
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, r.ID)
	}
	if _, err := w.Refunds.Cancel(t.Context(), open[3], refunds.Decision{Operator: "bob", Reason: "r"}, &fault.Problems{}, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	if err := reports(w)(open[2], 1, wire.RefundConfirmed, func(m *wire.RefundChanged) { m.Amount = "1000000" }); err != nil {
		t.Fatal(err)
	}
	w.SQL(`UPDATE refunds SET approved_at = now() - interval '2 hours' WHERE id = $1`, open[0])
	orders := func() string {
		return fixture.Ask[string](w, `SELECT coalesce(string_agg((m ->> 'id') || CASE WHEN (m ->> 'cancelled')::boolean THEN ' cancelled' ELSE '' END, ' ' ORDER BY m ->> 'id'), '')
FROM (SELECT name, convert_from(body, 'UTF8')::jsonb AS m FROM outbox) AS o WHERE name = $1`, string(wire.RefundApprovedV1))
	}
	// The signature of the oldest one cannot be made here. It holds no other up.
	for _, c := range []struct {
		what          string
		refuses       string
		want, refused []string
	}{
		{"all orders", "", []string{open[0], open[1], open[3]}, nil},
		{"orders behind one that fails", open[0], []string{open[1], open[3]}, []string{open[0] + " no key"}},
	} {
		w.SQL(`DELETE FROM outbox`)
		var told, refused []string
		err := w.Store.SendOrders(t.Context(), func(r refund.Refund) (change.Command, error) {
			if r.ID == c.refuses {
				return change.Command{}, errors.New("no key")
			}
			return w.Refunds.Signing.Command(r, money.NGN, time.Now())
		}, func(r refund.Refund, failed error) {
			if failed != nil {
				refused = append(refused, r.ID+" "+failed.Error())
			} else if told = append(told, r.ID); !strings.Contains(orders(), r.ID) {
				t.Errorf("send %s again: heard that %s was sent before it was", c.what, r.ID)
			}
		})
		if !slices.Equal(told, c.want) || !slices.Equal(refused, c.refused) {
			t.Errorf("send %s again: heard of %q as sent and of %q as refused, want %q and %q", c.what, told, refused, c.want, c.refused)
		}
		if failed := err != nil; failed != (c.refuses != "") || failed && err.Error() != "1 orders were not sent again" {
			t.Errorf("send %s again: got %v, want an error for %q", c.what, err, c.refuses)
		}
		if got, want := orders(), strings.Join(c.want, " ")+" cancelled"; got != want {
			t.Errorf("send %s again: got %s, want %s", c.what, got, want)
		}
	}
}
