package payment_test

import (
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	. "causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
)

// Each test is one move of docs/state-machine.md#moves, or one sentence of docs/api-contract.md#deposits.

func TestTransferIsPaidConfirmedSettled(t *testing.T) {
	w := newFixture(t, Transfer)
	w.is(StatusPending, None)
	w.said("pending")
	if want := start.Add(30 * time.Minute); !w.p.ExpiresAt.Equal(want) {
		t.Fatalf("expiresAt %s, want %s", w.p.ExpiresAt, want)
	}
	w.deposit("a", "100", shallow)
	w.is(StatusConfirming, None)
	w.said("confirming")
	w.deposit("a", "100", deep)
	w.is(StatusConfirmed, None)
	w.said("confirmed")
	w.payout("159000")
	if w.held.Reference != "cw-abcdefghjkmn-1" {
		t.Fatalf("payout reference %s", w.held.Reference)
	}
	w.send()
	w.is(StatusSettling, None)
	w.said("settling")
	w.succeed()
	w.is(StatusSettled, None)
	w.said("settled")
	if fee := w.balances["fees:NGN"]; !fee.Equal(dec("1000")) {
		t.Fatalf("fee income %s", fee)
	}
}

func TestTransferSeenDeepEnoughAtOncePassesThroughConfirming(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep)
	w.is(StatusConfirmed, None)
	w.said("pending", "confirming", "confirmed")
}

func TestRequestIsCreatedFulfilledPaid(t *testing.T) {
	w := newFixture(t, Request)
	w.is(StatusCreated, None)
	if want := start.Add(7 * 24 * time.Hour); !w.p.ExpiresAt.Equal(want) {
		t.Fatalf("expiresAt %s, want %s", w.p.ExpiresAt, want)
	}
	w.now = start.Add(time.Hour)
	f := Fulfil{Payer: Payer{ChatID: "c"}, Quote: priced(t, "ethereum", "USDT", "160000", quote.Crypto), NetworkName: "erc20", Address: "0xabc"}
	w.must(f)
	w.is(StatusPending, None)
	w.said("created", "pending")
	if want := w.now.Add(30 * time.Minute); !w.p.ExpiresAt.Equal(want) {
		t.Fatalf("expiresAt %s, want %s", w.p.ExpiresAt, want)
	}
	refused(t, w.apply(f), fault.Invalid, "request_already_fulfilled", TextAlreadyFulfilled)
	w.deposit("a", "100.625", deep)
	w.is(StatusConfirmed, None)
	w.payout("160000")
}

func TestRequestFulfilledTooLateIsRefusedEvenBeforeTheTimerRan(t *testing.T) {
	w := newFixture(t, Request)
	w.now = w.p.ExpiresAt.Add(time.Second)
	f := Fulfil{Quote: priced(t, "ethereum", "USDT", "160000", quote.Crypto), Address: "0xabc"}
	refused(t, w.apply(f), fault.Conflict, "request_expired", "")
	w.must(WindowOver{})
	w.is(StatusExpired, None)
	refused(t, w.apply(f), fault.Conflict, "request_expired", "")
}

func TestFulfilOfAnotherTypeIsRefused(t *testing.T) {
	refused(t, newFixture(t, Transfer).apply(Fulfil{}), fault.Invalid, "not_a_request", TextNotRequest)
}

func refused(t *testing.T, err error, kind fault.Kind, code, text string) {
	t.Helper()
	f := fault.As(err)
	if err == nil || f.Kind != kind || f.Code != code || (text != "" && f.Message != text) {
		t.Fatalf("refusal %v, want %s", err, code)
	}
}

func TestShortStaysPendingUntilToppedUp(t *testing.T) {
	w := newFixture(t, Transfer)
	w.said("pending")
	w.deposit("a", "60", deep)
	w.is(StatusPending, ExceptionUnderpaid)
	w.said("underpaid")
	w.deposit("b", "10")
	w.is(StatusPending, ExceptionUnderpaid)
	w.said("underpaid")
	w.deposit("c", "30")
	w.is(StatusConfirming, None)
	w.said("confirming")
	w.deposit("b", "10", deep)
	w.is(StatusConfirming, None)
	w.deposit("c", "30", deep)
	w.is(StatusConfirmed, None)
	w.payout("159000")
}

func TestToleranceOfTheQuote(t *testing.T) {
	for amount, want := range map[string]Exception{"99.5": None, "101": None, "99.4999": ExceptionUnderpaid, "101.0001": ExceptionOverpaid} {
		w := newFixture(t, MerchantPayment)
		w.deposit("a", amount, deep)
		if w.p.Exception() != want {
			t.Errorf("%s of 100: exception %q, want %q", amount, w.p.Exception(), want)
		}
		if want == None {
			w.payout("159000")
		}
	}
}

func TestWindowOverWithAShortSum(t *testing.T) {
	for _, kind := range []Type{Transfer, Gift} {
		w := newFixture(t, kind)
		w.deposit("a", "60", shallow)
		w.close()
		w.is(StatusConfirming, ExceptionUnderpaid)
		w.deposit("a", "60", deep)
		w.is(StatusConfirmed, ExceptionUnderpaid)
		if got := w.p.PayoutAmount(); !got.Equal(dec("95500")) {
			t.Fatalf("%s pays %s for 60 %% of 160000 less 500", kind, got)
		}
	}
	w := newFixture(t, Transfer)
	w.deposit("a", "60", deep)
	w.close()
	w.is(StatusConfirmed, ExceptionUnderpaid)
	w.said("pending", "underpaid", "confirming", "confirmed")
	for _, kind := range []Type{MerchantPayment, BankConfirmation} {
		w := newFixture(t, kind)
		w.deposit("a", "60", deep)
		w.close()
		w.is(StatusNeedsReview, ExceptionUnderpaid)
		w.must(Accept{Rows: w.rows})
		if got := w.p.PayoutAmount(); !got.Equal(dec("95500")) {
			t.Fatalf("%s accepted short pays %s", kind, got)
		}
	}
}

func TestOverpaid(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "150", shallow)
	w.is(StatusConfirming, ExceptionOverpaid)
	w.said("pending", "confirming", "overpaid")
	w.deposit("a", "150", deep)
	w.is(StatusConfirmed, ExceptionOverpaid)
	w.payout("239000")

	w = newFixture(t, MerchantPayment)
	w.deposit("a", "150", deep)
	w.is(StatusConfirmed, ExceptionOverpaid)
	w.payout("159000")
	if owed := w.balances["customer:pay_1:USDT"]; !owed.Equal(dec("50")) {
		t.Fatalf("owed to the payer: %s", owed)
	}
}

func TestOverpaidAboveTheMaximumNeedsReview(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "40000", deep)
	w.is(StatusNeedsReview, ExceptionOverLimit)
	w.said("pending", "confirming", "overpaid", "needs_review")
	w.must(Accept{Rows: w.rows})
	w.is(StatusConfirmed, ExceptionOverpaid)
	w.payout("159000")
	if owed := w.balances["customer:pay_1:USDT"]; !owed.Equal(dec("39900")) {
		t.Fatalf("owed to the payer: %s", owed)
	}
}

func TestConfirmedSumCountsAndLaterMoneyIsExcess(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", shallow)
	w.deposit("b", "50", shallow)
	w.is(StatusConfirming, ExceptionOverpaid)
	w.deposit("a", "100", deep)
	w.is(StatusConfirmed, ExceptionOverpaid)
	w.payout("159000")
	w.deposit("b", "50", deep)
	w.is(StatusConfirmed, ExceptionOverpaid)
	if owed := w.balances["customer:pay_1:USDT"]; !owed.Equal(dec("50")) {
		t.Fatalf("owed to the payer: %s", owed)
	}
	w.send()
	w.succeed()
	w.deposit("c", "5", deep)
	w.is(StatusSettled, ExceptionOverpaid)
	if owed := w.balances["customer:pay_1:USDT"]; !owed.Equal(dec("55")) {
		t.Fatalf("owed to the payer: %s", owed)
	}
}

func TestDustIsListedAndChangesNothing(t *testing.T) {
	w := newFixture(t, Transfer)
	w.said("pending")
	w.deposit("a", "0.0999", deep)
	w.is(StatusPending, None)
	w.said()
	if w.p.Transfers != 1 || !w.p.Received.Equal(dec("0.0999")) {
		t.Fatalf("dust is not listed: %d transfers, %s", w.p.Transfers, w.p.Received)
	}
	w.deposit("b", "1", other("ethereum", "USDC"), func(d *Deposit) { d.Amount = dec("0.05") })
	w.is(StatusPending, None)
	w.close()
	w.is(StatusExpired, None)
}

func TestSmallestPaymentCanBePaid(t *testing.T) {
	w := newFixture(t, Transfer, func(p *Payment) {
		p.Quote = priced(t, "ethereum", "USDT", "1", quote.Fiat)
	})
	w.deposit("a", "0.0007", deep)
	w.is(StatusConfirmed, None)
	w.payout("0.90")
}

func TestReorgBeforeThePayoutLeft(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep)
	w.said("pending", "confirming", "confirmed")
	w.deposit("a", "100", reverted)
	w.is(StatusPending, ExceptionReorged)
	w.said("pending", "reorged")
	if w.held != nil || !w.p.ConfirmedAt.IsZero() {
		t.Fatal("the payout may still leave")
	}
	refused(t, w.apply(Sending{Attempt: 1}), fault.Conflict, "payout_not_due", "")
	w.deposit("a", "100", shallow)
	w.is(StatusConfirming, None)
	w.deposit("a", "100", deep)
	w.is(StatusConfirmed, None)
	w.payout("159000")
	if w.held.Reference != "cw-abcdefghjkmn-1" {
		t.Fatalf("a payout that never left has a new reference: %s", w.held.Reference)
	}

	w = newFixture(t, Transfer)
	w.deposit("a", "100", shallow)
	w.now = w.p.ExpiresAt.Add(5 * time.Minute)
	w.must(WindowOver{Rows: w.rows, Rate: w.rate, ScannedTo: w.now})
	w.deposit("a", "100", reverted)
	w.is(StatusExpired, ExceptionReorged)
	w.deposit("a", "100", shallow)
	w.is(StatusConfirming, None)
}

func TestReorgAfterThePayoutLeft(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep)
	w.send()
	w.deposit("a", "100", reverted)
	w.is(StatusSettling, ExceptionReorged)
	w.succeed()
	w.is(StatusSettled, ExceptionReorged)
	if len(w.alerts) != 1 {
		t.Fatalf("alerts %v", w.alerts)
	}
	if loss := w.balances["suspense:USDT"]; !loss.Equal(dec("-100")) {
		t.Fatalf("the loss is %s", loss)
	}
	w.deposit("a", "100", deep)
	w.is(StatusSettled, None)
	if loss := w.balances["suspense:USDT"]; !loss.IsZero() {
		t.Fatalf("the loss is %s", loss)
	}
}

func TestReorgedTransferMinedAgainWithAnotherAmount(t *testing.T) {
	w := newFixture(t, MerchantPayment)
	w.deposit("a", "100", deep)
	w.deposit("a", "40", deep) // the new inclusion overtook the reversal
	w.is(StatusPending, ExceptionReorged)
	if owed := w.balances["customer:pay_1:USDT"]; !owed.Equal(dec("40")) {
		t.Fatalf("owed to the payer: %s", owed)
	}
}

// The new inclusion overtook the reversal, which is then passed over as an older snapshot.
func TestReorgedTransferMinedAgainInAnotherBlock(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep, block("first"))
	w.deposit("a", "100", deep, block("second")) // as deep there: nothing is lost
	w.is(StatusConfirmed, None)
	w.deposit("a", "100", shallow, block("second")) // a node that is behind: the block is the same
	w.is(StatusConfirmed, None)
	w.deposit("a", "100", shallow, block("third"))
	w.is(StatusConfirming, None)
	if owed := w.balances["customer:pay_1:USDT"]; w.held != nil || !owed.IsZero() {
		t.Fatalf("transfer mined again: payout %+v, %s owed to the payer; want no payout and nothing booked", w.held, owed)
	}
	w.deposit("a", "100", deep, block("third"))
	w.is(StatusConfirmed, None)
	w.payout("159000")

	w.send()
	w.deposit("a", "100", shallow, block("fourth"))
	w.is(StatusSettling, ExceptionReorged)
	w.deposit("a", "100", deep, block("fourth"))
	w.is(StatusSettling, None)
	w.succeed()
	w.is(StatusSettled, None)

	w = newFixture(t, Transfer)
	w.deposit("a", "100", deep) // booked by a release that noted no block
	w.deposit("a", "100", shallow, block("second"))
	w.is(StatusConfirmed, None)
}

func TestExpiry(t *testing.T) {
	w := newFixture(t, Transfer)
	w.now = w.p.ExpiresAt.Add(time.Hour)
	refused(t, w.apply(WindowOver{ScannedTo: w.p.ExpiresAt.Add(59 * time.Second)}), fault.Conflict, "window_open", "")
	w.must(WindowOver{ScannedTo: w.p.ExpiresAt.Add(time.Minute)})
	w.is(StatusExpired, None)
	w.said("pending", "expired")

	w = newFixture(t, Transfer)
	w.now = start.Add(time.Minute)
	refused(t, w.apply(WindowOver{ScannedTo: w.p.ExpiresAt.Add(time.Hour)}), fault.Conflict, "window_open", "")
	w.must(WindowOver{Early: true})
	w.is(StatusExpired, None)
	if !w.p.ExpiresAt.Equal(w.now) {
		t.Fatal("an early end moves expiresAt")
	}
}

func TestOnTimeTransferLearntLate(t *testing.T) {
	w := newFixture(t, Transfer)
	end := w.p.ExpiresAt
	w.close()
	w.deposit("a", "100", seenAt(w.now), func(d *Deposit) { d.BlockTime, d.BlockHeight, d.Depth = end, 5, 3 })
	w.is(StatusConfirming, None)
	w.said("pending", "expired", "confirming")

	w = newFixture(t, Transfer)
	w.close()
	w.deposit("a", "100", seenAt(end), func(d *Deposit) { d.BlockTime, d.BlockHeight, d.Depth = end.Add(time.Minute), 5, 12 })
	w.is(StatusConfirmed, None)
}

func TestLateTransfer(t *testing.T) {
	cases := map[string]struct {
		after time.Duration
		rate  string
		want  Status
	}{
		"within a day, same rate":  {time.Hour, "1600", StatusConfirming},
		"within a day, one per ct": {24 * time.Hour, "1616", StatusConfirming},
		"rate moved up":            {time.Hour, "1617", StatusNeedsReview},
		"rate moved down":          {time.Hour, "1583", StatusNeedsReview},
		"no rate":                  {time.Hour, "0", StatusNeedsReview},
		"beyond a day":             {24*time.Hour + time.Second, "1600", StatusNeedsReview},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, Transfer)
			w.close()
			w.now, w.rate = w.p.ExpiresAt.Add(c.after), dec(c.rate)
			w.deposit("a", "100", shallow)
			w.is(c.want, ExceptionPaidLate)
			w.deposit("a", "100", deep)
			if c.want == StatusConfirming {
				w.is(StatusConfirmed, ExceptionPaidLate)
				w.send()
				w.succeed()
				w.is(StatusSettled, ExceptionPaidLate)
				return
			}
			w.is(StatusNeedsReview, ExceptionPaidLate)
			if held := w.balances["suspense:USDT"]; !held.Equal(dec("100")) {
				t.Fatalf("in suspense: %s", held)
			}
			w.must(Accept{Rows: w.rows})
			w.is(StatusConfirmed, ExceptionPaidLate)
			w.payout("159000")
		})
	}
}

func TestLateMoneyBeforeTheWindowIsKnownToBeOver(t *testing.T) {
	w := newFixture(t, Transfer)
	w.now = w.p.ExpiresAt.Add(30 * time.Second)
	w.deposit("a", "100", shallow)
	w.is(StatusPending, None)
	w.close()
	w.is(StatusConfirming, ExceptionPaidLate)
	w.said("pending", "expired", "confirming")
}

func TestCancel(t *testing.T) {
	w := newFixture(t, Transfer)
	w.must(Cancel{})
	w.is(StatusCancelled, None)
	w.deposit("a", "100", shallow)
	w.is(StatusNeedsReview, ExceptionPaidLate)
	w.said("pending", "cancelled", "needs_review")

	w = newFixture(t, Transfer)
	w.deposit("a", "1")
	refused(t, w.apply(Cancel{}), fault.Conflict, "cancel_too_late", "")

	w = newFixture(t, Request)
	w.must(Cancel{})
	w.is(StatusCancelled, None)
	refused(t, w.apply(Fulfil{}), fault.Conflict, "request_cancelled", "")
}

// Money that arrives after the receiver was erased is never paid to the placeholder account. It waits for an operator,
// who may refund it.
func TestForgottenReceiver_isNotPaid(t *testing.T) {
	forget := func(w *fixture) { w.p.Receiver.AccountNumber, w.p.Receiver.AccountName = ForgottenAccount, "" }
	for name, end := range map[string]func(*fixture){
		"cancelled":             func(w *fixture) { w.must(Cancel{}) },
		"expired":               func(w *fixture) { w.close(); w.now = w.p.ExpiresAt.Add(time.Hour) },
		"expired, learnt later": func(w *fixture) { w.close(); w.now = w.p.ExpiresAt.Add(48 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, Transfer)
			mined := in(w.now.Add(time.Minute), 1)
			end(w)
			forget(w)
			w.deposit("a", "100", mined)
			w.is(StatusNeedsReview, ExceptionPaidLate)
			w.deposit("a", "100", deep)
			w.is(StatusNeedsReview, ExceptionPaidLate)
			refused(t, w.apply(Accept{Rows: w.rows}), fault.Conflict, "receiver_forgotten", "")
			if _, ok := w.policy.Offer(w.p, w.rows, w.refunds); ok {
				t.Error("an accept is offered")
			}
			w.must(SetRefundAddress{Address: "0xdef"})
			w.must(MarkRefunded{Tx: "0x1", Rows: w.rows})
			w.is(StatusRefunded, ExceptionPaidLate)
		})
	}

	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep)
	w.send()
	w.succeed()
	forget(w)
	w.must(Returned{Attempt: 1})
	refused(t, w.apply(Retry{}), fault.Conflict, "receiver_forgotten", "")
	w.must(Retry{Receiver: account})
	w.send()
	w.succeed()
	w.is(StatusSettled, None)

	w = newFixture(t, MerchantPayment, noReceiver) // its caller pays: no receiver was erased
	w.must(Cancel{})
	w.deposit("a", "100", deep)
	w.must(Accept{Rows: w.rows})
	w.is(StatusConfirmed, ExceptionPaidLate)
}

func TestWrongAsset(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", other("polygon", "USDT"))
	w.is(StatusPending, ExceptionWrongAsset)
	w.close()
	w.is(StatusNeedsReview, ExceptionWrongAsset)
	refused(t, w.apply(Accept{Rows: w.rows}), fault.Conflict, "nothing_confirmed", "")

	w = newFixture(t, Transfer)
	w.deposit("a", "100", other("ethereum", "USDC"))
	w.deposit("b", "100", deep)
	w.is(StatusConfirmed, ExceptionWrongAsset)
	w.payout("159000")
}

func TestWrongAssetAfterSettlementIsOnlyRecorded(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep)
	w.send()
	w.succeed()
	w.deposit("b", "100", other("ethereum", "USDC"), deep)
	w.is(StatusSettled, None)
	if s := w.balances["suspense:USDC"]; !s.Equal(dec("100")) || w.p.Transfers != 2 {
		t.Fatalf("suspense %s, %d transfers", s, w.p.Transfers)
	}
}

func TestGiftClaimedWhenFunded(t *testing.T) {
	w := newFixture(t, Gift)
	w.deposit("a", "100", deep)
	w.is(StatusConfirmed, None)
	if w.held != nil {
		t.Fatal("a gift waits for its claim")
	}
	w.must(ClaimGift{Receiver: account})
	w.is(StatusSettling, None)
	w.said("pending", "confirming", "confirmed", "settling")
	w.payout("159000")
	refused(t, w.apply(ClaimGift{Receiver: account}), fault.Invalid, "gift_already_claimed", TextAlreadyClaimed)
	w.send()
	w.said()
	w.succeed()
	w.said("settled")
	refused(t, w.apply(ClaimGift{Receiver: account}), fault.Invalid, "gift_already_claimed", TextAlreadyClaimed)
}

func TestGiftClaimedBeforeFunding(t *testing.T) {
	w := newFixture(t, Gift)
	w.must(ClaimGift{Receiver: account})
	w.is(StatusSettling, ExceptionUnfunded)
	w.deposit("a", "100", shallow)
	w.is(StatusSettling, ExceptionUnfunded)
	w.deposit("a", "100", reverted)
	w.is(StatusSettling, ExceptionUnfunded)
	w.deposit("a", "100", deep)
	w.is(StatusSettling, None)
	w.payout("159000")
	w.said("pending", "settling")

	w = newFixture(t, Gift)
	w.must(ClaimGift{Receiver: account})
	w.close()
	w.is(StatusExpired, None)
	refused(t, w.apply(ClaimGift{Receiver: account}), fault.Conflict, "gift_expired", "")
	w.deposit("a", "100", deep)
	w.is(StatusConfirmed, ExceptionPaidLate)
	other := account
	other.AccountNumber = "9876543210"
	w.must(ClaimGift{Receiver: other})
	w.is(StatusSettling, ExceptionPaidLate)
	if w.held.Receiver.AccountNumber != "9876543210" {
		t.Fatalf("the payout goes to %s", w.held.Receiver.AccountNumber)
	}

	w = newFixture(t, Gift)
	w.must(ClaimGift{Receiver: account})
	w.deposit("a", "50", deep)
	w.close()
	w.is(StatusSettling, ExceptionUnderpaid)
	w.payout("79500")
}

func TestFundedGiftReorgedBeforeThePayoutLeft(t *testing.T) {
	w := newFixture(t, Gift)
	w.deposit("a", "100", deep)
	w.must(ClaimGift{Receiver: account})
	w.deposit("a", "100", reverted)
	w.is(StatusSettling, ExceptionReorged)
	if w.held != nil {
		t.Fatal("the payout may still leave")
	}
	w.deposit("a", "100", deep)
	w.is(StatusSettling, None)
	w.payout("159000")
}

func TestClaimOfAnotherTypeIsRefused(t *testing.T) {
	refused(t, newFixture(t, Transfer).apply(ClaimGift{Receiver: account}), fault.Invalid, "not_a_gift", TextNotGift)
}

func TestGiftUnclaimed(t *testing.T) {
	w := newFixture(t, Gift)
	w.deposit("a", "100", deep)
	due, name := w.p.Timer()
	if want := start.Add(30 * 24 * time.Hour); !due.Equal(want) || name != OnDeadline {
		t.Fatalf("timer %s at %s", name, due)
	}
	w.must(DeadlineOver{})
	w.is(StatusConfirmed, None)
	w.now = due
	w.must(DeadlineOver{})
	w.is(StatusNeedsReview, ExceptionUnclaimed)
	w.must(Accept{Rows: w.rows})
	w.is(StatusConfirmed, None)
	w.must(ClaimGift{Receiver: account})
	w.payout("159000")
}

func TestCallerSettles(t *testing.T) {
	w := newFixture(t, MerchantPayment, noReceiver)
	w.deposit("a", "100", deep)
	w.is(StatusConfirmed, None)
	if w.held != nil || !w.events[len(w.events)-1].WithToken {
		t.Fatal("the caller pays out itself, with the token of payment.confirmed")
	}
	hash := []byte("12345678901234567890123456789012")
	w.must(NewToken{Token{Hash: hash, ExpiresAt: w.now.Add(time.Hour)}})
	refused(t, w.apply(Settle{TokenHash: []byte("another")}), fault.Invalid, "invalid_settlement_token", "")
	w.now = w.now.Add(time.Hour + time.Second)
	refused(t, w.apply(Settle{TokenHash: hash}), fault.Invalid, "invalid_settlement_token", "")
	w.must(NewToken{Token{Hash: hash, ExpiresAt: w.now.Add(time.Hour)}})
	w.must(Settle{TokenHash: hash, Reference: "their-1"})
	w.is(StatusSettled, None)
	refused(t, w.apply(Settle{TokenHash: hash}), fault.Conflict, "already_settled", "")

	w = newFixture(t, BankConfirmation)
	w.deposit("a", "100", deep)
	w.now = w.p.DeadlineAt
	w.must(DeadlineOver{})
	w.is(StatusNeedsReview, ExceptionUnclaimed)
	refused(t, w.apply(Settle{TokenHash: hash}), fault.Conflict, "not_confirmed", "")

	refused(t, newFixture(t, Transfer).apply(Settle{}), fault.Conflict, "not_settled_by_caller", "")
}

// TestCreditsTheBalance: the money is pending from confirmed on, available once no reorganisation can take it back, and
// gone again where one does before.
func TestCreditsTheBalance(t *testing.T) {
	available := func(w *fixture, want string) {
		t.Helper()
		if got := w.balances["merchant:m1:NGN"]; !got.Equal(dec(want)) {
			t.Errorf("balance of the merchant in %s = %s, want %s", w.p.Status(), got, want)
		}
	}
	w := newFixture(t, MerchantPayment, toBalance)
	w.deposit("a", "100", deep)
	w.is(StatusConfirmed, None)
	if w.held != nil || w.events[len(w.events)-1].WithToken || !w.p.DeadlineAt.IsZero() {
		t.Errorf("confirm a payment to the balance: payout %v, token %v, deadline %v, want none of them", w.held, w.events[len(w.events)-1].WithToken, w.p.DeadlineAt)
	}
	available(w, "0")
	refused(t, w.apply(Settle{TokenHash: []byte("any")}), fault.Conflict, "not_settled_by_caller", "")
	refused(t, w.apply(NewToken{}), fault.Conflict, "not_settled_by_caller", "")
	w.rows[0].Finalized = true
	w.tell()
	w.is(StatusSettled, None)
	available(w, "159000")
	if !w.balances["payable:pay_1:NGN"].IsZero() {
		t.Errorf("payable after the credit = %s, want 0", w.balances["payable:pay_1:NGN"])
	}

	w = newFixture(t, MerchantPayment, toBalance) // pending money is taken back
	w.deposit("a", "100", deep)
	w.rows[0].Reverted = true
	w.tell()
	w.is(StatusPending, ExceptionReorged)
	available(w, "0")

	w = newFixture(t, MerchantPayment, toBalance) // final at once: both statuses have their event
	w.deposit("a", "100", final)
	w.is(StatusSettled, None)
	if got, want := w.events[len(w.events)-2].Type, "payment.confirmed"; got != want {
		t.Errorf("the event before the last = %s, want %s", got, want)
	}

	w = newFixture(t, MerchantPayment, toBalance) // an earlier release gave it a token and a deadline, and saw the final block
	w.deposit("a", "100", deep)
	w.p.DeadlineAt, w.p.Token = w.now.Add(time.Hour), Token{Hash: []byte("12345678901234567890123456789012"), ExpiresAt: w.now.Add(time.Hour)}
	w.now = w.p.DeadlineAt
	w.must(DeadlineOver{Rows: w.rows})
	if w.is(StatusConfirmed, None); !w.p.DeadlineAt.After(w.now) || w.p.Token.Hash != nil {
		t.Errorf("a payment to the balance that is not final at its deadline has the deadline %s and the token %x, want a later one and none", w.p.DeadlineAt, w.p.Token.Hash)
	}
	w.rows[0].Finalized, w.now = true, w.p.DeadlineAt
	refused(t, w.apply(DeadlineOver{}), fault.Internal, "rows_missing", "")
	w.must(DeadlineOver{Rows: w.rows})
	w.is(StatusSettled, None)
	available(w, "159000")

	w = newFixture(t, MerchantPayment, toBalance) // an operator accepts what is short
	w.deposit("a", "60", final)
	w.close()
	w.is(StatusNeedsReview, ExceptionUnderpaid)
	w.must(Accept{Rows: w.rows})
	w.is(StatusSettled, ExceptionUnderpaid)
	available(w, w.p.Credit.Payout.String())
}

func TestPayoutFailsAndIsRetried(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep)
	w.send()
	w.must(Unknown{Attempt: 1})
	w.must(Failed{Attempt: 1})
	w.is(StatusNeedsReview, ExceptionPayoutFailed)
	other := account
	other.AccountNumber = "9876543210"
	w.must(Retry{Receiver: other})
	w.is(StatusSettling, None)
	if w.held.Reference != "cw-abcdefghjkmn-2" || w.held.Receiver.AccountNumber != "9876543210" {
		t.Fatalf("second attempt %+v", w.held)
	}
	w.must(Failed{Attempt: 1})
	w.is(StatusSettling, None)
	w.send()
	w.succeed()
	w.is(StatusSettled, None)
	w.must(Succeeded{Attempt: 1})
	w.is(StatusSettled, None)
	if len(w.alerts) != 1 {
		t.Fatalf("a second success of another attempt is an incident: %v", w.alerts)
	}
}

// A rail that reports returned money and reported no success before settles nothing, because merchants ship on
// payment.settled. An example is Paystack's "reversed" on a pending transfer.
func TestReturnedWithoutSuccessIsNeverSettled(t *testing.T) {
	for name, before := range map[string]func(w *fixture){
		"held, found at the rail after a restore": func(*fixture) {},
		"sending": func(w *fixture) { w.send() },
		"unknown": func(w *fixture) {
			w.send()
			w.must(Unknown{Attempt: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, Transfer)
			w.deposit("a", "100", deep)
			before(w)
			w.must(Returned{Attempt: 1})
			w.is(StatusNeedsReview, ExceptionPayoutReturned)
			for _, e := range w.events {
				if e.Type == "payment.settled" {
					t.Error("event payment.settled, want none")
				}
			}
			if !w.p.SettledAt.IsZero() {
				t.Errorf("settled at %s", w.p.SettledAt)
			}
			for code, want := range map[string]string{"fiat:float:sim:NGN": "0", "clearing:payout:sim:NGN": "0", "payable:pay_1:NGN": w.p.Credit.Payout.String()} {
				if b := w.balances[code]; !b.Equal(dec(want)) {
					t.Errorf("%s is at %s, want %s", code, b, want)
				}
			}
			w.must(Retry{})
			w.send()
			w.succeed()
			w.is(StatusSettled, None)
		})
	}
}

func TestPayoutReturnedAndRefunded(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep)
	w.send()
	w.succeed()
	w.must(Returned{Attempt: 1})
	w.is(StatusNeedsReview, ExceptionPayoutReturned)
	refused(t, w.apply(Accept{Rows: w.rows}), fault.Conflict, "payout_not_made", "")
	refused(t, w.apply(MarkRefunded{Tx: "0x1", Rows: w.rows}), fault.Conflict, "no_refund_address", "")
	w.must(SetRefundAddress{Address: "0xdef"})
	w.must(MarkRefunded{Tx: "0x1", Rows: w.rows})
	w.is(StatusRefunded, ExceptionPayoutReturned)
	for _, code := range []string{"customer:pay_1:USDT", "payable:pay_1:NGN", "fees:NGN"} {
		if b := w.balances[code]; !b.IsZero() {
			t.Errorf("%s is %s", code, b)
		}
	}
	w.deposit("b", "7", deep)
	w.is(StatusRefunded, ExceptionPayoutReturned)
	if s := w.balances["suspense:USDT"]; !s.Equal(dec("7")) {
		t.Errorf("suspense %s", s)
	}
}

func TestSuccessAfterFailureIsAnIncidentAndPaid(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep)
	w.send()
	w.must(Failed{Attempt: 1})
	w.must(Succeeded{Attempt: 1})
	w.is(StatusSettled, None)
	if len(w.alerts) != 1 {
		t.Fatalf("alerts %v", w.alerts)
	}
}

func TestPayoutFoundAfterARestore(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep)
	w.succeed()
	w.is(StatusSettled, None)
	w.said("pending", "confirming", "confirmed", "settling", "settled")
}

func TestOneSenderAtATime(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep)
	w.send()
	refused(t, w.apply(Sending{Attempt: 1}), fault.Conflict, "payout_not_due", "")
	w.must(Unknown{Attempt: 1})
	w.deposit("a", "100", reverted)
	refused(t, w.apply(Sending{Attempt: 1}), fault.Conflict, "payout_not_due", "")
	w.deposit("a", "100", deep)
	w.send()
}

func TestScreening(t *testing.T) {
	w := newFixture(t, Transfer)
	w.policy.Screen = true
	w.deposit("a", "100", deep)
	w.is(StatusConfirming, None)
	w.must(Screened{Verdict: Clear, Rows: w.rows})
	w.is(StatusConfirmed, None)
	w.must(Screened{Verdict: Hit, Rows: w.rows})
	w.is(StatusNeedsReview, ExceptionScreeningHold)
	if w.held != nil {
		t.Fatal("the payout may still leave")
	}
	w.must(Accept{Rows: w.rows})
	w.is(StatusConfirmed, None)
	w.send()

	w = newFixture(t, Transfer)
	w.policy.Screen = true
	w.deposit("a", "50")
	w.must(Screened{Verdict: Clear, Rows: w.rows})
	w.deposit("b", "50", deep)
	w.deposit("a", "50", deep)
	w.is(StatusConfirming, None) // the second sender has no verdict yet
}

func TestDepthByWorth(t *testing.T) {
	p := Defaults()
	p.Depths["ethereum/USDT"] = []Depth{{UpToUSD: dec("1000"), Confirmations: 12}, {Confirmations: 32}}
	if err := p.Depths.Check(); err != nil {
		t.Fatal(err)
	}
	w := newFixture(t, Transfer)
	w.policy = p
	w.deposit("a", "1100", deep) // far more than the quote: worth more, so deeper
	w.is(StatusConfirming, ExceptionOverpaid)
	w.deposit("a", "1100", func(d *Deposit) { d.Depth = 32 })
	w.is(StatusConfirmed, ExceptionOverpaid)
}

func TestRowsMayNotBeForgotten(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "60")
	refused(t, w.apply(Deposits{}), fault.Internal, "rows_missing", "")
	w.now = w.p.ExpiresAt.Add(time.Hour)
	refused(t, w.apply(WindowOver{ScannedTo: w.now}), fault.Internal, "rows_missing", "")
}

// A payout that failed for certain goes over the next rail under its own reference, once. No event is sent, because the
// payment stays settling.
func TestFailedPayoutGoesOverAnotherRail(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep)
	w.send()
	said := len(w.events)
	w.must(Failed{Attempt: 1, Over: "other"})
	w.is(Status("settling"), None)
	if w.held == nil || w.held.Reference != "cw-abcdefghjkmn-2" || w.held.Rail != "other" || !w.held.Amount.Equal(dec("159000")) || len(w.events) != said {
		t.Fatalf("held %+v after %d events", w.held, len(w.events))
	}
	w.must(Failed{Attempt: 1, Over: "third"}) // a failure of an old attempt changes nothing
	if w.p.Rail != "other" || w.p.Attempt != 2 {
		t.Fatalf("attempt %d over %s", w.p.Attempt, w.p.Rail)
	}
	w.send()
	w.succeed()
	w.is(StatusSettled, None)
	w.said("pending", "confirming", "confirmed", "settling", "settled")
	if !w.balances["clearing:payout:sim:NGN"].IsZero() || !w.balances["clearing:payout:other:NGN"].IsZero() || !w.balances["fiat:float:other:NGN"].Equal(dec("-159000")) {
		t.Fatalf("balances %v", w.balances)
	}
}

func TestFailedPayoutOfAReorgedDepositGoesNowhere(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep)
	w.send()
	w.deposit("a", "100", reverted)
	w.must(Failed{Attempt: 1, Over: "other"})
	if w.p.Rail != "sim" || w.p.Attempt != 1 || w.p.Payout != PayoutFailed {
		t.Fatalf("attempt %d over %s: %s", w.p.Attempt, w.p.Rail, w.p.Payout)
	}
}

// Where a rail pays whole units, the rest is booked as rounding after the payout and is owed again when the payout is
// returned.
func TestWholeUnitsLeaveAResidue(t *testing.T) {
	w := newFixture(t, Transfer, func(p *Payment) { p.Quote.PayoutAmount = dec("158999.75"); p.Quote.Charge.Fiat = dec("1000.25") })
	w.policy.Whole = map[RailCurrency]bool{{Rail: "sim", Currency: money.NGN}: true}
	w.deposit("a", "100", deep)
	w.payout("158999")
	w.send()
	w.succeed()
	w.is(StatusSettled, None)
	if !w.balances["rounding:NGN"].Equal(dec("0.75")) || !w.balances["payable:pay_1:NGN"].IsZero() {
		t.Fatalf("balances %v", w.balances)
	}
	w.must(Returned{Attempt: 1})
	if !w.balances["rounding:NGN"].IsZero() || !w.balances["payable:pay_1:NGN"].Equal(dec("158999.75")) {
		t.Fatalf("balances %v", w.balances)
	}
	w.must(Retry{})
	w.send()
	w.succeed()
	if !w.balances["rounding:NGN"].Equal(dec("0.75")) || !w.balances["payable:pay_1:NGN"].IsZero() {
		t.Fatalf("balances %v", w.balances)
	}
}
