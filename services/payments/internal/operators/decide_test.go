//go:build integration

package operators_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail/sim"
	"causeway.internal/services/payments/internal/views"
)

// failed is a payment whose payout has failed.
func failed(w *fixture.Payments) payment.Payment {
	w.T.Helper()
	p := w.ConfirmedWith(sim.AccountFails)
	w.Work(func() bool { w.Hurry(); return w.Status(p) == "needs_review payout_failed" })
	return p
}

// secondAbove makes amounts above some naira need two operators.
func secondAbove(w *fixture.Payments, above int64) {
	w.With(func(d *fixture.Deps) {
		d.SecondAbove = map[money.Currency]decimal.Decimal{money.NGN: decimal.New(above, 0)}
	})
}

// The list shows an operator the payout of accept, and accept pays it: NGN 5 000 are due and 50 million USDT arrived.
func TestAcceptPaysWhatTheListShows(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	c := fixture.Command()
	c.FiatAmount = fixture.Number("5000")
	p := w.Make(c)
	w.See(p, fixture.Coin{Key: "t1", Amount: "50000000", Version: 1, Depth: fixture.Enough})
	w.Want(p, "needs_review over_limit")
	shown := func() string {
		body, err := w.Operators.Holds(t.Context(), "", 10)
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Payments []struct{ WouldPay json.RawMessage }
		}
		if err := json.Unmarshal(body, &list); err != nil || len(list.Payments) != 1 {
			t.Fatalf("Holds() = %s, %v; want 1 payment", body, err)
		}
		every, err := w.Operators.ListAll(t.Context(), views.Filter{Statuses: []payment.Status{payment.StatusNeedsReview}, Limit: 10})
		if err != nil || !strings.Contains(string(every), `"wouldPay":`+string(list.Payments[0].WouldPay)) {
			t.Errorf("the list of payments shows something else: %s, %v", every, err)
		}
		return string(list.Payments[0].WouldPay)
	}
	if got := shown(); got != `{"amount":4500,"currency":"NGN"}` {
		t.Errorf("shown %s", got)
	}
	for _, amount := range []string{"72000000000", "4499.99", "4500.01"} {
		_, err := w.Resolve(p, operators.Order{Operator: "ada", Action: operators.ActionAccept, Payout: fixture.Number(amount)})
		if f := fault.As(err); f.Code != "payout_amount_differs" || f.Message != "Accepting would pay 4500.00 NGN now" {
			t.Errorf("accept of %s = %v, want payout_amount_differs with the 4500.00 NGN that would be paid", amount, err)
		}
	}
	if _, err := w.Resolve(p, operators.Order{Operator: "ada", Action: operators.ActionRetry, Payout: fixture.Number("4500")}); fault.As(err).Kind != fault.Invalid {
		t.Errorf("an amount with a retry: %v", err)
	}
	if _, err := w.Resolve(p, operators.Order{Operator: "ada", Action: operators.ActionAccept}); err != nil {
		t.Fatal(err)
	}
	w.Settles(p)
	if got := fixture.Ask[string](w, `SELECT amount::text FROM payouts`); got != "4500" {
		t.Errorf("paid %s", got)
	}
	if got := fixture.Ask[string](w, `SELECT balance::text FROM ledger_accounts WHERE code LIKE '%customer:%'`); got != "49999996.875" {
		t.Errorf("owed to the payer: %s", got)
	}
	w.Balanced()
}

// A payout above the quote and above the amount that one operator may move needs two operators. So does a refund above
// the quote.
func TestSecondOperator_countsWhatIsMoved(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	w.With(func(d *fixture.Deps) {
		d.SecondAbove = map[money.Currency]decimal.Decimal{money.NGN: decimal.New(60_000, 0)}
	})
	p := w.Make(fixture.Command())
	if _, err := w.Merchants.Cancel(t.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "62.5", Version: 1, Depth: fixture.Enough})
	w.Want(p, "needs_review paid_late")
	all := operators.Order{Operator: "ada", Action: operators.ActionAccept, Payout: fixture.Number("99500")}
	body, err := w.Resolve(p, all)
	if err != nil || !strings.Contains(body, `"action":"accept","requestedBy":"ada"`) || !strings.Contains(body, `"upTo":99500`) {
		t.Fatalf("accept of the first operator = %s, %v; want a request for up to 99500", body, err)
	}
	all.Operator = "bob"
	if body, err = w.Resolve(p, all); err != nil || strings.Contains(body, "approval") || strings.Contains(body, "wouldPay") {
		t.Fatalf("accept of the second operator = %s, %v; want it done", body, err)
	}

	p = w.Make(fixture.Command())
	if _, err := w.Merchants.Cancel(t.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	w.See(p, fixture.Coin{Key: "t2", Amount: "62.5", Version: 1, Depth: fixture.Enough})
	w.SQL(`UPDATE payments SET refund_address = 'T1' WHERE id = $1`, p.ID)
	body, err = w.Resolve(p, operators.Order{Operator: "ada", Action: operators.ActionRefunded, TxHash: strings.Repeat("f0", 32)})
	if err != nil || !strings.Contains(body, `"action":"mark_refunded","requestedBy":"ada"`) {
		t.Fatalf("a refund of twice the quote: %s, %v", body, err)
	}
	if body, err = w.Resolve(p, operators.Order{Operator: "ada", Action: operators.ActionAccept}); err != nil || strings.Contains(body, "approval") {
		t.Fatalf("the quoted payout takes one: %s, %v", body, err)
	}
}

// An operator pays out to another account, accepts the received money, or marks a refund.
func TestResolve(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(3)
	resolve := func(p payment.Payment, d operators.Order) error {
		d.Operator, d.Reason = "ada", "because"
		_, err := w.Resolve(p, d)
		return err
	}
	c := fixture.Command()
	c.Receiver.AccountNumber = sim.AccountFails
	p := w.Make(c)
	if err := resolve(p, operators.Order{Action: "accept"}); fault.As(err).Code != "not_in_review" {
		t.Errorf("not in review: %v", err)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Work(func() bool { return w.Status(p) == "needs_review payout_failed" })
	if err := resolve(p, operators.Order{Action: "retry_payout", Receiver: &payment.ReceiverInput{BankCode: "044", AccountNumber: "12"}}); fault.As(err).Kind != fault.Invalid {
		t.Errorf("a receiver that is none: %v", err)
	}
	if err := resolve(p, operators.Order{Action: "retry_payout", Receiver: &payment.ReceiverInput{BankCode: "044", AccountNumber: "1111111111"}}); err != nil {
		t.Fatal(err)
	}
	w.Work(func() bool { return w.Status(p) == "settled" })
	if got := fixture.Ask[string](w, `SELECT string_agg(account_number, ' ' ORDER BY ref) FROM sim_transfers`); got != sim.AccountFails+" 1111111111" {
		t.Errorf("the bank saw %s", got)
	}

	p = w.Make(fixture.Command())
	if _, err := w.Merchants.Cancel(t.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatalf("cancel payment %s: %v", p.Reference, err)
	}
	w.See(p, fixture.Coin{Key: "t2", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Want(p, "needs_review paid_late")
	if err := resolve(p, operators.Order{Action: "accept"}); err != nil {
		t.Fatal(err)
	}
	w.Work(func() bool { return w.Status(p) == "settled paid_late" })

	p = w.Make(fixture.Command())
	if _, err := w.Merchants.Cancel(t.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatalf("cancel payment %s: %v", p.Reference, err)
	}
	w.See(p, fixture.Coin{Key: "t3", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	if err := resolve(p, operators.Order{Action: "mark_refunded", TxHash: strings.Repeat("f0", 32)}); fault.As(err).Code != "no_refund_address" {
		t.Errorf("without an address: %v", err)
	}
	refund := func(to string) error {
		_, err := w.Merchants.RefundAddress(t.Context(), fixture.Owner, p.Reference, to, &fault.Problems{}, idempotency.Key{})
		return err
	}
	if err := refund("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"); fault.As(err).Kind != fault.Invalid {
		t.Errorf("an address of another family: %v", err)
	}
	if err := refund("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"); err != nil {
		t.Fatal(err)
	}
	if err := resolve(p, operators.Order{Action: "mark_refunded", TxHash: strings.Repeat("f0", 32)}); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "refunded paid_late")
	if got := fixture.Ask[string](w, `SELECT string_agg(operator || ' ' || action || ' ' || reason, ', ' ORDER BY at) FROM decisions`); got !=
		"ada retry_payout because, ada accept because, ada mark_refunded because" {
		t.Errorf("kept: %s", got)
	}
	w.Balanced()
}

func TestSecondOperator(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.With(func(d *fixture.Deps) {
		d.SecondAbove = map[money.Currency]decimal.Decimal{money.NGN: decimal.New(40_000, 0)}
	})
	p := failed(w)
	retry := func(operator, account string) operators.Order {
		return operators.Order{Operator: operator, Action: operators.ActionRetry, Receiver: &payment.ReceiverInput{BankCode: "058", AccountNumber: account}, Reason: "closed"}
	}
	body, err := w.Resolve(p, retry("ada", "1111111111"))
	if err != nil || !strings.Contains(body, `"approval":{"status":"waiting_for_second_operator","action":"retry_payout","requestedBy":"ada","expiresAt":"`) {
		t.Fatalf("the first: %s, %v", body, err)
	}
	w.Want(p, "needs_review payout_failed")
	if _, err := w.Resolve(p, retry("ada", "1111111111")); fault.As(err).Code != "second_operator_required" {
		t.Errorf("the same operator again: %v", err)
	}
	if body, err = w.Resolve(p, retry("bob", "2222222222")); err != nil || !strings.Contains(body, `"requestedBy":"bob"`) {
		t.Errorf("the second asks for something else: %s, %v", body, err)
	}
	w.Want(p, "needs_review payout_failed")
	if body, err = w.Resolve(p, retry("ada", "2222222222")); err != nil || strings.Contains(body, "approval") {
		t.Errorf("another confirms it: %s, %v", body, err)
	}
	w.Want(p, "settling")
	if got := fixture.Ask[string](w, `SELECT operator || ' ' || reason FROM decisions`); got != "ada closed (asked for by bob: closed)" {
		t.Errorf("decided by %s", got)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM audit WHERE action = 'resolve.requested'`); n != 2 {
		t.Errorf("%d requests in the audit", n)
	}
	w.Pay(p)
}

// A request is valid for the version of the payment that its operator saw.
func TestSecondOperator_aChangedPaymentIsAskedAboutAgain(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	secondAbove(w, 0)
	p := failed(w)
	if _, err := w.Resolve(p, operators.Order{Operator: "ada", Action: operators.ActionRetry}); err != nil {
		t.Fatal(err)
	}
	w.See(p, fixture.Coin{Key: "t2", Amount: "5", Version: 1, Depth: fixture.Enough})
	if _, err := w.Resolve(p, operators.Order{Operator: "bob", Action: operators.ActionRetry}); fault.As(err).Code != "approval_outdated" {
		t.Errorf("the payment has changed: %v", err)
	}
	w.Want(p, "needs_review payout_failed")
	if body, err := w.Resolve(p, operators.Order{Operator: "bob", Action: operators.ActionRetry}); err != nil || !strings.Contains(body, `"requestedBy":"bob"`) {
		t.Errorf("asked anew: %s, %v", body, err)
	}
	w.Want(p, "needs_review payout_failed")
	w.Deps.SecondAbove[money.NGN] = decimal.New(1, 9)
	if body, err := w.Resolve(p, operators.Order{Operator: "ada", Action: operators.ActionRetry}); err != nil || strings.Contains(body, "approval") {
		t.Errorf("below the amount: %s, %v", body, err)
	}
}

// An accept of the quoted amount needs two operators like an accept of a larger one.
func TestSecondOperator_acceptsTheQuote(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	secondAbove(w, 40_000)
	p := w.Make(fixture.Command())
	if _, err := w.Merchants.Cancel(t.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Want(p, "needs_review paid_late")
	body, err := w.Resolve(p, operators.Order{Operator: "ada", Action: operators.ActionAccept})
	if err != nil || !strings.Contains(body, `"action":"accept","requestedBy":"ada"`) {
		t.Fatalf("one operator accepted it: %s, %v", body, err)
	}
	w.Want(p, "needs_review paid_late")
	for _, same := range []string{"ada", "Ada"} {
		if _, err := w.Resolve(p, operators.Order{Operator: same, Action: operators.ActionAccept}); fault.As(err).Code != "second_operator_required" {
			t.Errorf("%s again: %v", same, err)
		}
	}
	if body, err := w.Resolve(p, operators.Order{Operator: "bob", Action: operators.ActionAccept}); err != nil || strings.Contains(body, "approval") {
		t.Fatalf("two operators: %s, %v", body, err)
	}
	w.Settles(p)
	if n := fixture.Ask[int](w, `SELECT count(*) FROM approvals`); n != 0 {
		t.Error("what was confirmed may be confirmed again")
	}
	w.Balanced()
}

func TestSecondOperator_aRequestExpires(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	secondAbove(w, 0)
	p := failed(w)
	if _, err := w.Resolve(p, operators.Order{Operator: "ada", Action: operators.ActionRetry}); err != nil {
		t.Fatal(err)
	}
	w.SQL(`UPDATE approvals SET at = now() - interval '24 hours 1 second'`)
	if body, err := w.Resolve(p, operators.Order{Operator: "bob", Action: operators.ActionRetry}); err != nil || !strings.Contains(body, `"requestedBy":"bob"`) {
		t.Fatalf("confirmed a day later: %s, %v", body, err)
	}
	w.Want(p, "needs_review payout_failed")
	w.SQL(`UPDATE approvals SET at = now() - interval '23 hours 59 minutes'`)
	if body, err := w.Resolve(p, operators.Order{Operator: "ada", Action: operators.ActionRetry}); err != nil || strings.Contains(body, "approval") {
		t.Fatalf("confirmed in time: %s, %v", body, err)
	}
}

// cancelledAndPaid makes a payment that the payer paid after it was cancelled, with a refund address.
func cancelledAndPaid(w *fixture.Payments, key string) payment.Payment {
	w.T.Helper()
	p := w.Make(fixture.Command())
	if _, err := w.Merchants.Cancel(w.T.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		w.T.Fatalf("cancel payment %s: %v", p.Reference, err)
	}
	w.See(p, fixture.Coin{Key: key, Amount: "31.25", Version: 1, Depth: fixture.Enough})
	_, err := w.Merchants.RefundAddress(w.T.Context(), fixture.Owner, p.Reference, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", &fault.Problems{}, idempotency.Key{})
	if err != nil {
		w.T.Fatalf("set the refund address of payment %s: %v", p.Reference, err)
	}
	return p
}

// A refund that an operator names is marked only after wallets has found it with what is owed, and once in all.
func TestMarkRefunded(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	p := cancelledAndPaid(w, "t1")
	mark := func(p payment.Payment, hash string) error {
		t.Helper()
		_, err := w.Operators.Resolve(t.Context(), p.Reference, operators.Order{Operator: "ada", Action: operators.ActionRefunded, Reason: "late", TxHash: hash},
			&fault.Problems{}, idempotency.Key{Scope: "ada", Key: "one"})
		return err
	}
	wants := func(p payment.Payment, hash, code string) {
		t.Helper()
		if err := mark(p, hash); err == nil || fault.As(err).Code != code {
			t.Errorf("mark_refunded with %.8s = %v, want %s", hash, err, code)
		}
		w.Want(p, "needs_review paid_late")
	}
	again := func() { w.SQL(`UPDATE refund_lookups SET asked_at = asked_at - interval '1 minute' WHERE state <> ''`) }
	hash := fixture.Hash("refund")
	wants(p, hash, "refund_unverified")
	if err := mark(p, hash); fault.As(err).RetryAfter <= 0 {
		t.Errorf("the refusal of a transaction that is being looked up = %v, want a time to try again", err)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM outbox WHERE name = 'payments.find_transfer.v1'`); n != 1 {
		t.Errorf("%d questions after two requests, want 1", n)
	}
	for _, alter := range []func(*wire.TransferFound){
		func(m *wire.TransferFound) { m.State, m.Sums = wire.TransferMissing, nil },
		func(m *wire.TransferFound) { m.State = wire.TransferNotFinal },
	} {
		if err := w.AnswerLookups(alter); err != nil {
			t.Fatal(err)
		}
		wants(p, hash, "refund_differs")
		again()
		wants(p, hash, "refund_differs") // and is asked about again
	}
	if err := w.AnswerLookups(func(m *wire.TransferFound) { m.Sums[0].Amount = "31249999" }); err != nil {
		t.Fatal(err)
	}
	wants(p, hash, "refund_differs")

	good := fixture.Hash("good")
	wants(p, good, "refund_unverified")
	swept := ledger.Swept(fixture.Hash("sweep"), "tron", "USDT", decimal.New(1, 0), "TRX", decimal.New(1, 0))
	if err := w.Store.Post(t.Context(), []books.Posting{{MessageID: "sweep", Mode: tenant.Test, Journal: swept}}); err != nil {
		t.Fatal(err)
	}
	wants(p, fixture.Hash("sweep"), "refund_unverified")
	if err := w.AnswerLookups(func(*wire.TransferFound) {}); err != nil {
		t.Fatal(err)
	}
	wants(p, fixture.Hash("sweep"), "transaction_used")
	w.SQL(`UPDATE deposits SET tx_hash = $1`, good)
	wants(p, good, "transaction_used") // money that came in, not back
	w.SQL(`UPDATE deposits SET tx_hash = 'another'`)
	w.SQL(`WITH e AS (INSERT INTO address_book (id, mode, merchant_id, network, address, label, created_by, created_at, usable_at)
			SELECT 'adr_1', mode, merchant_id, network, refund_address, 'payer', 'key:1', now(), now() FROM payments RETURNING *)
		INSERT INTO draws (id, mode, merchant_id, network, asset, contract, amount, charge, usd, entry_id, address, requested_by, state, approval, tx_hash,
			version, sequence, created_at, approved_at, confirmed_at, ended_at)
		SELECT 'wwd_1', mode, merchant_id, network, 'USDT', 'T', 31.25, 1, 31.25, id, address, 'key:1', 'confirmed', 'automatic', $1,
			3, 5, now(), now(), now(), now() FROM e`, good)
	wants(p, good, "transaction_used") // a withdrawal of a wallet's crypto to the payer
	w.SQL(`UPDATE draws SET mode = 'live'`)
	if err := mark(p, strings.ToUpper(good)); err != nil {
		t.Fatalf("mark_refunded with a transaction that brought what is owed: %v", err)
	}
	w.Want(p, "refunded paid_late")
	w.Balanced()

	second := cancelledAndPaid(w, "t2")
	if _, err := w.Resolve(second, operators.Order{Operator: "ada", Action: operators.ActionRefunded, TxHash: good}); err == nil || fault.As(err).Code != "transaction_used" {
		t.Errorf("mark_refunded with the refund of another payment = %v, want transaction_used", err)
	}
	w.Want(second, "needs_review paid_late")
	w.Balanced()
}
