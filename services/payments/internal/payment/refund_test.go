package payment_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/alert"
	. "causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/refund"
)

// owes is what the payment owes, as "100 USDT ethereum" for each asset.
func (w *fixture) owes() string {
	var out []string
	for _, o := range w.policy.Owed(w.p, w.rows, w.refunds) {
		out = append(out, o.Amount.String()+" "+o.Asset+" "+o.Network)
	}
	return strings.Join(out, ", ")
}

// Every shape in which money is owed to the payer, and the shapes in which it is not.
func TestOwed(t *testing.T) {
	for name, c := range map[string]struct {
		kind  Type
		shape func(w *fixture)
		state Status
		want  string
	}{
		"short, while the window is open": {MerchantPayment, func(w *fixture) { w.deposit("a", "40", deep) }, StatusPending, ""},
		"short, after the window": {MerchantPayment, func(w *fixture) {
			w.deposit("a", "40", deep)
			w.close()
		}, StatusNeedsReview, "40 USDT ethereum"},
		"exact, before its payout": {Transfer, func(w *fixture) { w.deposit("a", "100", deep) }, StatusConfirmed, ""},
		"over, before its payout":  {MerchantPayment, func(w *fixture) { w.deposit("a", "130", deep) }, StatusConfirmed, ""},
		"over, while the payout is out": {MerchantPayment, func(w *fixture) {
			w.deposit("a", "130", deep)
			w.send()
		}, StatusSettling, "30 USDT ethereum"},
		"over, settled": {MerchantPayment, func(w *fixture) {
			w.deposit("a", "130", deep)
			w.send()
			w.succeed()
		}, StatusSettled, "30 USDT ethereum"},
		"exact, settled": {Transfer, func(w *fixture) {
			w.deposit("a", "100", deep)
			w.send()
			w.succeed()
		}, StatusSettled, ""},
		"stray, after it was settled": {Transfer, func(w *fixture) {
			w.deposit("a", "100", deep)
			w.send()
			w.succeed()
			w.deposit("b", "7", deep)
		}, StatusSettled, "7 USDT ethereum"},
		"the payout failed": {Transfer, func(w *fixture) {
			w.deposit("a", "100", deep)
			w.send()
			w.must(Failed{Attempt: 1})
		}, StatusNeedsReview, "100 USDT ethereum"},
		"late": {Transfer, func(w *fixture) {
			w.close()
			w.now = w.now.Add(48 * time.Hour)
			w.deposit("a", "100", deep, seenAt(w.now))
		}, StatusNeedsReview, "100 USDT ethereum"},
		"after a cancellation": {Transfer, func(w *fixture) {
			w.must(Cancel{})
			w.deposit("a", "100", deep)
		}, StatusNeedsReview, "100 USDT ethereum"},
		"wrong asset, while the window is open": {Transfer, func(w *fixture) {
			w.deposit("a", "5", other("polygon", "USDT"), final)
		}, StatusPending, "5 USDT polygon"},
		"wrong asset, beside a settled payment": {Transfer, func(w *fixture) {
			w.deposit("a", "100", deep)
			w.deposit("b", "5", other("polygon", "USDT"), final)
			w.send()
			w.succeed()
		}, StatusSettled, "5 USDT polygon"},
		"unclaimed": {Gift, func(w *fixture) {
			w.deposit("a", "100", deep)
			w.now = w.p.DeadlineAt
			w.must(DeadlineOver{})
		}, StatusNeedsReview, "100 USDT ethereum"},
		"dust": {Transfer, func(w *fixture) {
			w.close()
			w.deposit("a", "0.05", deep)
		}, StatusExpired, "0.05 USDT ethereum"},
		"dust of live mode, below the fee of its network": {Transfer, func(w *fixture) {
			w.close()
			w.deposit("a", "0.05", deep)
			w.p.Mode = tenant.Live
		}, StatusExpired, ""},
		"reorged away": {Transfer, func(w *fixture) {
			w.must(Cancel{})
			w.deposit("a", "100", deep)
			w.deposit("a", "100", reverted)
		}, StatusNeedsReview, ""},
		"not deep enough": {Transfer, func(w *fixture) {
			w.must(Cancel{})
			w.deposit("a", "100", shallow)
		}, StatusNeedsReview, ""},
		"refunded elsewhere": {Transfer, func(w *fixture) {
			w.must(Cancel{})
			w.deposit("a", "100", deep)
			w.must(SetRefundAddress{Address: "0xdef"})
			w.must(MarkRefunded{Tx: "0x1", Rows: w.rows})
		}, StatusRefunded, ""},
		"more, after it was refunded elsewhere": {Transfer, func(w *fixture) {
			w.must(Cancel{})
			w.deposit("a", "100", deep)
			w.must(SetRefundAddress{Address: "0xdef"})
			w.must(MarkRefunded{Tx: "0x1", Rows: w.rows})
			w.deposit("b", "3", deep)
		}, StatusRefunded, "3 USDT ethereum"},
		"refunded elsewhere but for later money": {Transfer, func(w *fixture) {
			w.must(Cancel{})
			w.deposit("a", "100", deep)
			w.deposit("b", "3", deep)
			w.must(SetRefundAddress{Address: "0xdef"})
			w.must(MarkRefunded{Tx: "0x1", Rows: w.rows, Later: []string{"b"}})
		}, StatusRefunded, "3 USDT ethereum"},
	} {
		w := newFixture(t, c.kind)
		c.shape(w)
		if got := w.owes(); got != c.want || w.p.Status() != c.state {
			t.Errorf("%s: %s owes %q, want %s owing %q", name, w.p.Status(), got, c.state, c.want)
		}
	}
}

func final(d *Deposit) { d.BlockHeight, d.Finalized = 100, true }

// paid asks for a refund of USDT on ethereum; amount "" is all of it.
func (w *fixture) paid(amount string) error {
	r := refund.Refund{ID: "rfd_" + string(rune('a'+len(w.refunds))), Network: "ethereum", Asset: "USDT"}
	if amount != "" {
		r.Amount = dec(amount)
	}
	return w.apply(RequestRefund{Refund: r, Rows: w.rows})
}

// moves applies triggers to the last refund.
func (w *fixture) moves(names ...refund.TriggerName) {
	for _, name := range names {
		r := w.refunds[len(w.refunds)-1]
		tr := refund.Trigger{Name: name, TxHash: "0x" + r.ID + string(rune('a'+r.Told)), Fee: dec("0.001")}
		if name != refund.OnApprove && name != refund.OnRefuse && name != refund.OnCancel {
			tr.Told = r.Told + 1
		}
		w.must(ChangeRefund{Refund: r, Trigger: tr, Rows: w.rows, Refunds: w.refunds})
	}
}

// A refund of everything that a failed payout left reverses the conversion, stops accept and retry while it runs, and
// ends the payment when a final block holds it. After a failure the payment waits for an operator again.
func TestRefund_ofReview(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep)
	w.send()
	w.must(Failed{Attempt: 1})
	refused(t, w.paid(""), fault.Conflict, "no_refund_address", "")
	w.must(SetRefundAddress{Address: "0xdef"})
	w.events = nil
	refused(t, w.paid("100.01"), fault.Conflict, "amount_above_owed", "")
	if err := w.paid(""); err != nil {
		t.Fatal(err)
	}
	refused(t, w.paid("1"), fault.Conflict, "nothing_owed", "")
	refused(t, w.apply(Retry{}), fault.Conflict, "refund_open", "")
	refused(t, w.apply(MarkRefunded{Tx: "0x1", Rows: w.rows, Refunds: w.refunds}), fault.Conflict, "refund_open", "")
	w.moves(refund.OnApprove, refund.OnTaken, refund.OnBroadcast, refund.OnFailed)
	w.said("refund_requested", "refund_approved", "refund_signing", "refund_sent", "refund_failed")
	w.is(StatusNeedsReview, ExceptionPayoutFailed)
	if w.owes() != "100 USDT ethereum" {
		t.Errorf("after the failure %q is owed, want 100 USDT", w.owes())
	}
	refused(t, w.apply(Retry{}), fault.Conflict, "refund_begun", "")
	w.must(Succeeded{Attempt: 1}) // the rail contradicts itself after the money was given back
	if w.is(StatusNeedsReview, ExceptionPayoutFailed); !slices.Contains(w.alerts, alert.PaidAfterDecision) {
		t.Errorf("alerts %v, want paid_after_decision", w.alerts)
	}

	if err := w.paid("60"); err != nil {
		t.Fatal(err)
	}
	w.moves(refund.OnApprove, refund.OnFinal)
	w.is(StatusNeedsReview, ExceptionPayoutFailed)
	if err := w.paid(""); err != nil {
		t.Fatal(err)
	}
	w.events = nil
	w.moves(refund.OnApprove, refund.OnFinal)
	w.said("refund_approved", "refund_confirmed", "refunded")
	for code, want := range map[string]string{
		"customer:pay_1:USDT": "0", "suspense:USDT": "0", "clearing:refund:ethereum:USDT": "0", "crypto:hot:ethereum:USDT": "-100",
		"crypto:deposit:ethereum:USDT": "100", "payable:pay_1:NGN": "0", "gas:ETH": "0.003",
	} {
		if !w.balances[code].Equal(dec(want)) {
			t.Errorf("%s is at %s, want %s", code, w.balances[code], want)
		}
	}

	// A reorganisation takes the last one back. Until it can never land, the payment stays refunded.
	w.moves(refund.OnReorged)
	w.is(StatusRefunded, ExceptionPayoutFailed)
	if b := w.balances["crypto:hot:ethereum:USDT"]; !b.Equal(dec("-60")) {
		t.Errorf("the treasury is at %s, want -60", b)
	}
	w.moves(refund.OnFailed)
	if w.is(StatusNeedsReview, ExceptionPayoutFailed); w.owes() != "40 USDT ethereum" {
		t.Errorf("%q is owed, want 40 USDT", w.owes())
	}
}

// A request for converted money reserves it, and the payment keeps its conversion until the approval. A payout that was
// reported as failed and then as paid ends the request, so that the money leaves once.
func TestRefund_ofMoneyThatWasPaidOut(t *testing.T) {
	w := newFixture(t, MerchantPayment)
	w.deposit("a", "130", deep)
	w.send()
	w.must(Failed{Attempt: 1})
	w.must(SetRefundAddress{Address: "0xdef"})
	for _, amount := range []string{"20", "60", "50"} {
		if err := w.paid(amount); err != nil {
			t.Fatal(err)
		}
	}
	if b := w.balances["clearing:refund:ethereum:USDT"]; !b.Equal(dec("20")) {
		t.Errorf("clearing holds %s, want 20: the rest is only reserved", b)
	}
	refused(t, w.paid("1"), fault.Conflict, "nothing_owed", "")
	asked := slices.Clone(w.refunds)
	w.events, w.alerts = nil, nil
	w.must(Succeeded{Attempt: 1})
	w.said("refund_failed", "refund_failed", "settled")
	w.is(StatusSettled, ExceptionOverpaid)
	if !slices.Equal(w.alerts, []alert.Code{alert.PaidAfterFailure}) {
		t.Errorf("alerts %v, want paid_after_failure", w.alerts)
	}
	for i, want := range []refund.State{refund.Requested, refund.Failed, refund.Failed} {
		if r := w.refunds[i]; r.State != want || r.State == refund.Failed && r.Failure != "paid_out" {
			t.Errorf("the refund of %s is %s %q, want %s", r.Amount, r.State, r.Failure, want)
		}
	}
	approve := refund.Trigger{Name: refund.OnApprove, Approval: refund.ByOperator}
	for _, r := range asked[1:] { // as if the success had not ended the requests
		refused(t, w.apply(ChangeRefund{Refund: r, Trigger: approve, Rows: w.rows, Refunds: asked}), fault.Conflict, "nothing_owed", "")
	}
	w.must(ChangeRefund{Refund: w.refunds[0], Trigger: approve, Rows: w.rows, Refunds: w.refunds})
	if w.owes() != "10 USDT ethereum" {
		t.Errorf("%q is owed, want 10 USDT", w.owes())
	}
}

// A refused request changes nothing, so that the payment can be paid out again.
func TestRefund_refused(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep)
	w.send()
	w.must(Failed{Attempt: 1})
	w.must(SetRefundAddress{Address: "0xdef"})
	if err := w.paid(""); err != nil {
		t.Fatal(err)
	}
	refused(t, w.apply(Retry{}), fault.Conflict, "refund_open", "")
	w.moves(refund.OnRefuse)
	w.must(Retry{})
	w.send()
	w.succeed()
	w.is(StatusSettled, None)

	w = newFixture(t, Gift)
	w.deposit("a", "100", deep)
	w.now = w.p.DeadlineAt
	w.must(DeadlineOver{})
	w.must(SetRefundAddress{Address: "0xdef"})
	if err := w.paid("60"); err != nil {
		t.Fatal(err)
	}
	refused(t, w.apply(Accept{Rows: w.rows}), fault.Conflict, "refund_open", "")
	w.moves(refund.OnRefuse)
	w.must(Accept{Rows: w.rows})
	w.is(StatusConfirmed, None)
}

// A new address ends the requests for the old one, and an approval never pays another address than the payment's.
func TestRefund_ofAnotherAddress(t *testing.T) {
	w := newFixture(t, MerchantPayment)
	w.deposit("a", "130", deep)
	w.send()
	w.must(Failed{Attempt: 1})
	w.must(SetRefundAddress{Address: "0xdef"})
	for _, amount := range []string{"20", "60"} {
		if err := w.paid(amount); err != nil {
			t.Fatal(err)
		}
	}
	asked := slices.Clone(w.refunds)
	w.events = nil
	w.must(SetRefundAddress{Address: "0xfed"})
	w.said("refund_address_changed", "refund_failed", "refund_failed")
	if w.owes() != "130 USDT ethereum" {
		t.Errorf("%q is owed, want 130 USDT", w.owes())
	}
	if r := w.refunds[0]; r.Failure != "refund_address_changed" {
		t.Errorf("the refund failed by %q, want refund_address_changed", r.Failure)
	}
	approve := refund.Trigger{Name: refund.OnApprove, Approval: refund.ByOperator}
	refused(t, w.apply(ChangeRefund{Refund: asked[0], Trigger: approve, Rows: w.rows, Refunds: asked}), fault.Conflict, "refund_address_changed", "")
}

// A converted transfer that was mined again with another amount owes its difference in suspense.
func TestRefund_ofAnotherAmount(t *testing.T) {
	w := newFixture(t, BankConfirmation, noReceiver)
	w.deposit("a", "99.5", deep)
	hash := []byte("12345678901234567890123456789012")
	w.must(NewToken{Token{Hash: hash, ExpiresAt: w.now.Add(time.Hour)}})
	w.must(Settle{TokenHash: hash})
	w.deposit("a", "100", deep)
	w.must(SetRefundAddress{Address: "0xdef"})
	if err := w.paid(""); err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{"customer:pay_1:USDT": "0", "suspense:USDT": "0", "clearing:refund:ethereum:USDT": "0.5"} {
		if !w.balances[code].Equal(dec(want)) {
			t.Errorf("%s is at %s, want %s", code, w.balances[code], want)
		}
	}
}

// A surplus is refunded beside the conversion, which stays.
func TestRefund_ofSurplus(t *testing.T) {
	w := newFixture(t, MerchantPayment)
	w.deposit("a", "130", deep)
	w.must(SetRefundAddress{Address: "0xdef"})
	refused(t, w.paid(""), fault.Conflict, "nothing_owed", "")
	w.send()
	w.succeed()
	if err := w.paid("20"); err != nil {
		t.Fatal(err)
	}
	w.moves(refund.OnApprove, refund.OnFinal)
	if w.is(StatusSettled, ExceptionOverpaid); w.owes() != "10 USDT ethereum" {
		t.Errorf("%q is owed, want 10 USDT", w.owes())
	}
	w.must(Returned{Attempt: 1})
	if w.owes() != "110 USDT ethereum" {
		t.Errorf("after the payout came back %q is owed, want 110 USDT", w.owes())
	}
	w.must(Retry{})
	w.is(StatusSettling, ExceptionOverpaid)
	w.deposit("a", "130", reverted) // the rest of the money is gone: nothing is converted again
	w.is(StatusNeedsReview, ExceptionReorged)
}

// Once a refund took money, an accept would convert it a second time.
func TestRefund_beforeAccept(t *testing.T) {
	w := newFixture(t, MerchantPayment)
	w.deposit("a", "60", deep)
	w.close()
	w.must(SetRefundAddress{Address: "0xdef"})
	if err := w.paid("10"); err != nil {
		t.Fatal(err)
	}
	refused(t, w.apply(Accept{Rows: w.rows}), fault.Conflict, "refund_begun", "")
	w.moves(refund.OnRefuse)
	w.must(Accept{Rows: w.rows})
	w.is(StatusConfirmed, ExceptionUnderpaid)
}

// A wrong asset leaves while the right one runs on, and no longer holds the payment.
func TestRefund_ofWrongAsset(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "5", other("polygon", "USDT"), final)
	w.must(SetRefundAddress{Address: "0xdef"})
	w.must(RequestRefund{Refund: refund.Refund{ID: "rfd_a", Network: "polygon", Asset: "USDT"}, Rows: w.rows})
	w.moves(refund.OnApprove, refund.OnFinal)
	w.deposit("b", "100", deep)
	w.is(StatusConfirmed, None)
}

// Nobody approves to pay back money that is not here: it has left its chain since the request, or one host alone may
// have invented it. Once the money is back, or a second host has it, the approval goes through.
func TestRefund_ofMoneyThatIsNotHere(t *testing.T) {
	says := func(is Witness) func(*Deposit) { return func(d *Deposit) { d.Witness = is } }
	coin := other("polygon", "USDT")
	for name, c := range map[string]struct {
		amount       string
		before, then []func(*Deposit)
		want         bool
		back         func(*Deposit)
	}{
		"confirmed by two hosts":          {"5000", []func(*Deposit){says("confirmed")}, nil, true, nil},
		"that left its chain":             {"5", nil, []func(*Deposit){reverted}, false, deep},
		"of which one host alone knows":   {"5000", []func(*Deposit){says(WitnessPending)}, nil, false, says("confirmed")},
		"that a single host reports":      {"5000", []func(*Deposit){says(WitnessAlone)}, nil, true, nil},
		"a small sum, known to one alone": {"5", []func(*Deposit){says(WitnessPending)}, nil, true, nil},
	} {
		w := newFixture(t, Transfer)
		w.p.Mode, w.policy.WitnessUSD = tenant.Live, dec("1000")
		see := func(key string, more ...func(*Deposit)) {
			w.deposit(key, c.amount, append([]func(*Deposit){coin, final}, more...)...)
		}
		see("a", c.before...)
		w.must(SetRefundAddress{Address: "0xdef"})
		w.now = w.p.RefundAddressFrom
		w.must(RequestRefund{Refund: refund.Refund{ID: "rfd_a", Network: "polygon", Asset: "USDT"}, Rows: w.rows})
		if c.then != nil {
			see("a", c.then...)
		}
		see("b", says(WitnessPending)) // the refund takes nothing of it
		approve := func() error {
			by := refund.Trigger{Name: refund.OnApprove, Approval: refund.ByOperator}
			return w.apply(ChangeRefund{Refund: w.refunds[0], Trigger: by, Rows: w.rows, Refunds: w.refunds})
		}
		err := approve()
		if c.want && err != nil || !c.want && !fault.Is(err, "deposit_not_final") {
			t.Errorf("approve a refund of money %s: got %v, want it approved: %t", name, err, c.want)
		}
		if c.back == nil {
			continue
		}
		if see("a", c.back); approve() != nil {
			t.Errorf("approve a refund of money %s once it is here: got %v, want no error", name, approve())
		}
	}
}

func TestChooseOwed(t *testing.T) {
	several := []Owed{{Network: "ethereum", Asset: "USDT"}, {Network: "polygon", Asset: "USDT"}, {Network: "polygon", Asset: "USDC"}}
	for _, c := range []struct {
		owed            []Owed
		crypto, network string
		want            string
	}{
		{several[:1], "", "", "USDT ethereum"},
		{several[:1], "usdt", "erc20", "USDT ethereum"},
		{several[:1], "USDC", "", "nothing_owed"},
		{nil, "", "", "nothing_owed"},
		{several, "", "", "crypto: is required, because several assets are owed: USDT on ethereum, USDT on polygon, USDC on polygon"},
		{several, "USDT", "", "network: is required, because several assets are owed: USDT on ethereum, USDT on polygon"},
		{several, "USDC", "", "USDC polygon"},
		{several, "", "ethereum", "USDT ethereum"},
	} {
		o, err := ChooseOwed(c.owed, c.crypto, c.network)
		got := o.Asset + " " + o.Network
		if err != nil {
			got = fault.As(err).Message
			if fault.As(err).Kind == fault.Conflict {
				got = fault.As(err).Code
			}
		}
		if got != c.want {
			t.Errorf("ChooseOwed(%d, %q, %q) = %s, want %s", len(c.owed), c.crypto, c.network, got, c.want)
		}
	}
}
