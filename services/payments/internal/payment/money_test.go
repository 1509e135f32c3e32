package payment_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	. "causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
)

// of prices the payment anew.
func of(t *testing.T, fiat string) func(*Payment) {
	return func(p *Payment) { p.Quote = priced(t, "ethereum", "USDT", fiat, quote.Fiat) }
}

// 3.125 USDT are due and 3.09375 arrived. A transfer of the rest is dust by size, and pays the payment nevertheless.
func TestDustCountsTowardsWhatWasBegun(t *testing.T) {
	w := newFixture(t, Transfer, of(t, "5000"))
	w.deposit("a", "3.09375", deep)
	w.is(StatusPending, ExceptionUnderpaid)
	w.deposit("b", "0.03125", deep)
	w.is(StatusConfirmed, None)
	w.payout("4500")
	w.said("pending", "underpaid", "confirming", "confirmed")
}

func TestDustComesFirstAndCountsOnceThePaymentIsBegun(t *testing.T) {
	w := newFixture(t, Transfer, of(t, "5000"))
	w.deposit("a", "0.03125", deep)
	w.is(StatusPending, None)
	w.deposit("b", "3.09375", deep)
	w.is(StatusConfirmed, None)
	w.payout("4500")
	w.send()
	w.succeed()
	if owed := w.balances["customer:pay_1:USDT"]; !owed.IsZero() {
		t.Fatalf("owed to the payer: %s", owed)
	}
}

// Dust transfers never open a payment, however many there are.
func TestDustAloneOpensNothing(t *testing.T) {
	w := newFixture(t, Transfer, of(t, "5000"))
	for i := range 40 {
		w.deposit(string(rune('A'+i)), "0.09", deep)
	}
	w.is(StatusPending, None)
	w.close()
	w.is(StatusExpired, None)
	w.said("pending", "expired")
}

// The fee of a share of the quote is the fee of the converted amount.
func TestFeeIsThatOfTheConversion(t *testing.T) {
	for amount, want := range map[string][2]string{"62.5": {"99500", "500"}, "31250": {"49962500", "37500"}} {
		w := newFixture(t, Transfer, of(t, "50000000"))
		w.deposit("a", amount, deep)
		w.close()
		w.payout(want[0])
		if fee := w.balances["fees:NGN"]; !fee.Equal(dec(want[1])) {
			t.Errorf("%s of 31250 USDT: the fee is %s, want %s", amount, fee, want[1])
		}
	}
}

// Late money is converted at no more than the current rate.
func TestLateMoneyPaysTheLowerRate(t *testing.T) {
	for name, c := range map[string]struct {
		rate, amount string
		status       Status
		payout       string
	}{
		"the rate has fallen":                  {"1584", "100", StatusConfirmed, "157400"},
		"fallen, within the tolerance":         {"1599.2", "100", StatusConfirmed, "158920"},
		"the rate has risen":                   {"1616", "100", StatusConfirmed, "159000"},
		"fallen, and more came than was due":   {"1584", "110", StatusConfirmed, "173240"},
		"fallen, half of what was due":         {"1584", "50", StatusConfirmed, "78700"},
		"fallen further than late money bears": {"1583.9", "100", StatusNeedsReview, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, Transfer)
			w.close()
			w.now, w.rate = w.p.ExpiresAt.Add(time.Hour), dec(c.rate)
			w.deposit("a", c.amount, deep)
			if w.p.Status() != c.status || !w.p.Has(ExceptionPaidLate) {
				t.Fatalf("late money: status %s, exception %s; want %s, paid_late", w.p.Status(), w.p.Exception(), c.status)
			}
			if c.payout != "" {
				w.payout(c.payout)
			}
		})
	}
}

// A type that pays the quote pays all of it or waits for an operator.
func TestLateMoneyThatNoLongerCoversTheQuote(t *testing.T) {
	w := newFixture(t, MerchantPayment)
	w.close()
	w.rate = dec("1590") // 99.375 % of the lock
	w.deposit("a", "100", deep)
	w.is(StatusNeedsReview, ExceptionUnderpaid)

	w = newFixture(t, MerchantPayment)
	w.close()
	w.rate = dec("1593") // 99.5625 %: within the tolerance
	w.deposit("a", "100", deep)
	w.is(StatusConfirmed, ExceptionPaidLate)
	w.payout("159000")

	w = newFixture(t, MerchantPayment)
	w.close()
	w.rate = dec("1584")
	w.deposit("a", "110", deep)
	w.is(StatusConfirmed, ExceptionPaidLate)
	w.payout("159000")
	if owed := w.balances["customer:pay_1:USDT"]; !owed.Equal(dec("8.989898")) { // 110 − 100 × 1600 ÷ 1584, rounded up
		t.Fatalf("owed to the payer: %s", owed)
	}
}

// A second late transfer is judged by the rate at its own arrival.
func TestMoreLateMoneyIsJudgedByItsOwnRate(t *testing.T) {
	w := newFixture(t, Transfer)
	w.close()
	w.deposit("a", "50", shallow)
	w.rate = dec("1584")
	w.deposit("b", "50", shallow)
	w.deposit("a", "50", deep)
	w.deposit("b", "50", deep)
	w.is(StatusConfirmed, ExceptionUnderpaid)
	w.payout("157400")

	w = newFixture(t, Transfer)
	w.close()
	w.deposit("a", "50", shallow)
	w.rate = dec("1500")
	w.deposit("b", "50", shallow)
	w.is(StatusNeedsReview, ExceptionUnderpaid)
	if !w.p.Has(ExceptionPaidLate) {
		t.Fatal("late money at another rate was taken")
	}
}

// A late payment whose lower rate crosses a step of the fee table pays the receiver no more than at the locked rate.
func TestLateMoneyNeverPaysMoreThanTheLock(t *testing.T) {
	w := newFixture(t, Transfer, of(t, "101000"))
	w.close()
	w.rate = dec("1584")
	w.deposit("a", "63.125", deep)
	w.is(StatusConfirmed, ExceptionUnderpaid)
	w.payout("99490") // 99 990 less 500; the lock paid 100 000
}

func TestWrongAssetIsToldWhenItIsSeen(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", other("polygon", "USDT"))
	w.is(StatusPending, ExceptionWrongAsset)
	w.said("pending", "wrong_asset")
	w.deposit("a", "100", func(d *Deposit) { d.Depth = 5 })
	w.said()
	w.close()
	w.said("needs_review")

	w = newFixture(t, Transfer)
	w.deposit("a", "100", shallow)
	w.deposit("b", "7", other("ethereum", "USDC"))
	w.said("pending", "confirming", "wrong_asset")
}

// A reorg while the payment is in review sends an event at once, for every kind of hold.
func TestDoubleSpendDuringAHoldIsTold(t *testing.T) {
	for name, hold := range map[string]func(*fixture){
		"screening, not confirmed": func(w *fixture) {
			w.deposit("a", "100", shallow)
			w.must(Screened{Verdict: Hit, Rows: w.rows})
		},
		"screening, confirmed": func(w *fixture) {
			w.deposit("a", "100", deep)
			w.must(Screened{Verdict: Hit, Rows: w.rows})
		},
		"late": func(w *fixture) {
			w.close()
			w.rate = dec("1000")
			w.deposit("a", "100", deep)
		},
		"cancelled": func(w *fixture) {
			w.must(Cancel{})
			w.deposit("a", "100", shallow)
		},
		"wrong asset": func(w *fixture) {
			w.deposit("a", "100", other("polygon", "USDT"), func(d *Deposit) { d.USD = dec("100") })
			w.close()
		},
		"above the maximum": func(w *fixture) { w.deposit("a", "40000", deep) },
		"payout failed": func(w *fixture) {
			w.deposit("a", "100", deep)
			w.send()
			w.must(Failed{Attempt: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, Transfer)
			hold(w)
			if w.p.Status() != StatusNeedsReview {
				t.Fatalf("payment is %s", w.p.Status())
			}
			w.events = nil
			whole := w.rows[0].Amount.String()
			w.deposit("a", whole, reverted)
			w.said("reorged")
			if w.p.Status() != StatusNeedsReview || !w.p.Has(ExceptionReorged) {
				t.Fatalf("payment is %s %s", w.p.Status(), w.p.Exception())
			}
			w.deposit("a", whole, deep)
			if w.p.Has(ExceptionReorged) {
				t.Fatal("the deposit is back")
			}
		})
	}
}

// A payout above the quote waits when a limit has no room. The quote itself, and a share of it, need no room.
func TestNoRoomHoldsWhatPassesTheQuote(t *testing.T) {
	for amount, want := range map[string]Exception{"100": None, "101": None, "99.5": None, "101.01": ExceptionOverLimit, "300": ExceptionOverLimit} {
		w := newFixture(t, Transfer)
		w.policy.NoRoom = true
		w.deposit("a", amount, deep)
		if w.p.Exception() != want {
			t.Errorf("%s of 100: %s %q", amount, w.p.Status(), w.p.Exception())
		}
		if held := w.p.Status() == StatusNeedsReview; held != (want == ExceptionOverLimit) || held && (w.held != nil || w.p.Credit.Frozen) {
			t.Errorf("%s of 100: %s, payout %+v", amount, w.p.Status(), w.held)
		}
	}
	w := newFixture(t, MerchantPayment) // the excess is owed to the payer, and no limit counts it
	w.policy.NoRoom = true
	w.deposit("a", "300", deep)
	w.is(StatusConfirmed, ExceptionOverpaid)
	w.payout("159000")
}

func TestAcceptPaysWhatItShows(t *testing.T) {
	over := func() *fixture {
		w := newFixture(t, Transfer)
		w.policy.NoRoom = true
		w.deposit("a", "300", deep)
		w.is(StatusNeedsReview, ExceptionOverLimit)
		o, ok := w.policy.Offer(w.p, w.rows, w.refunds)
		if !ok || !o.Plain.Equal(dec("159000")) || !o.Most.Equal(dec("479000")) {
			t.Fatalf("offer %+v, %v", o, ok)
		}
		return w
	}
	w := over()
	w.must(Accept{Rows: w.rows})
	w.payout("159000")
	if owed := w.balances["customer:pay_1:USDT"]; !owed.Equal(dec("200")) {
		t.Fatalf("owed to the payer: %s", owed)
	}
	w = over()
	w.must(Accept{Rows: w.rows, Payout: dec("479000")})
	w.payout("479000")
	if owed := w.balances["customer:pay_1:USDT"]; !owed.IsZero() {
		t.Fatalf("owed to the payer: %s", owed)
	}
	w = over()
	refused(t, w.apply(Accept{Rows: w.rows, Payout: dec("479000.01")}), fault.Conflict, "payout_amount_differs",
		"Accepting would pay 159000.00 or 479000.00 NGN now")
	w.must(Accept{Rows: w.rows, Payout: dec("159000")})
	w.payout("159000")

	w = newFixture(t, Transfer)
	w.deposit("a", "40000", deep)
	o, _ := w.policy.Offer(w.p, w.rows, w.refunds)
	if !o.Plain.Equal(dec("159000")) || !o.Most.Equal(o.Plain) {
		t.Fatalf("offer above the maximum %+v", o)
	}
	refused(t, w.apply(Accept{Rows: w.rows, Payout: dec("63999000")}), fault.Conflict, "payout_amount_differs", "Accepting would pay 159000.00 NGN now")
}

// When a held payment has converted a sum above the quote, accept pays more than the quote only if it names the amount.
func TestAcceptOfWhatIsConverted(t *testing.T) {
	held := func() *fixture {
		w := newFixture(t, Transfer)
		w.deposit("a", "150", deep)
		w.payout("239000")
		w.must(Screened{Verdict: Hit, Rows: w.rows})
		return w
	}
	w := held()
	w.must(Accept{Rows: w.rows})
	w.is(StatusConfirmed, ExceptionOverpaid)
	w.payout("159000")
	if owed := w.balances["customer:pay_1:USDT"]; !owed.Equal(dec("50")) {
		t.Fatalf("owed to the payer: %s", owed)
	}
	w = held()
	w.must(Accept{Rows: w.rows, Payout: dec("239000")})
	w.payout("239000")
	w.send()
	w.succeed()
	w.is(StatusSettled, ExceptionOverpaid)

	// A converted transfer that lost its depth, as when it was mined again in another block, is no confirmed money. An
	// accept would convert it again and count no transfer, so that a later loss of the transfer would go unseen.
	for _, amount := range []string{"159000", "239000"} {
		w = held()
		w.deposit("a", "150", shallow)
		if o, ok := w.policy.Offer(w.p, w.rows, w.refunds); ok {
			t.Fatalf("offer while the converted transfer is shallow: %+v, want none", o)
		}
		accept := Accept{Rows: w.rows, Payout: dec(amount)}
		refused(t, w.apply(accept), fault.Conflict, "nothing_confirmed", "")
		w.deposit("a", "150", deep)
		accept.Rows = w.rows
		w.must(accept)
		w.payout(amount)
	}

	// Converted dust whose sender is listed later keeps nobody from accepting the rest.
	w = newFixture(t, Transfer)
	w.deposit("b", "0.05", shallow)
	w.deposit("a", "150", shallow)
	w.deposit("b", "0.05", deep)
	w.deposit("a", "150", deep)
	w.is(StatusConfirmed, ExceptionOverpaid)
	w.rows[0].Screening = Hit
	w.must(Screened{Verdict: Hit, Rows: w.rows})
	w.must(Accept{Rows: w.rows})
	w.payout("159000")
}

func TestRetryPaysNoMoreThanTheMaximum(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100", deep)
	w.send()
	w.must(Failed{Attempt: 1})
	b := w.policy.Limits[money.NGN]
	b.Max = dec("100000")
	w.policy.Limits[money.NGN] = b
	refused(t, w.apply(Retry{}), fault.Conflict, "above_maximum", "")
}

// Dust of a listed sender neither holds the payment nor is converted.
func TestListedDustIsLeftAside(t *testing.T) {
	w := newFixture(t, Transfer, of(t, "5000"))
	w.policy.Screen = true
	clear := func(d *Deposit) { deep(d); d.Screening = Clear }
	w.deposit("a", "3.125", clear)
	w.deposit("b", "0.05", deep, func(d *Deposit) { d.Screening = Hit })
	if v := w.policy.Verdict(w.p, w.rows); v != Clear {
		t.Fatalf("verdict %q", v)
	}
	tally := w.policy.Tally(w.p, w.rows)
	if !tally.Received.Equal(dec("3.175")) || !tally.Ignored.Equal(dec("0.05")) || !tally.Counts.Equal(dec("3.125")) {
		t.Fatalf("tally %+v", tally)
	}
	w.must(Screened{Verdict: Clear, Rows: w.rows})
	w.is(StatusConfirmed, None)
	if owed := w.balances["customer:pay_1:USDT"]; !owed.Equal(dec("0.05")) {
		t.Fatalf("owed to the payer: %s", owed)
	}
	w.rows[1].Screening = Unscreened // counting dust without a verdict waits for one
	if v := w.policy.Verdict(w.p, w.rows); v != Unscreened {
		t.Fatalf("verdict %q", v)
	}
}

func TestWhatIsLeftToPay(t *testing.T) {
	for _, c := range []struct {
		came          []string
		left, ignored string
	}{
		{nil, "3.125", "0"},
		{[]string{"3.09375"}, "0.03125", "0"},
		{[]string{"3.09375", "0.03125"}, "0", "0"},
		{[]string{"3.11"}, "0", "0"}, // within the tolerance nothing is missing
		{[]string{"0.05"}, "3.075", "0.05"},
		{[]string{"1", "0.05"}, "2.075", "0"},
		{[]string{"0.09", "0.09", "0.09", "0.09", "0.09"}, "2.675", "0.45"},
		{[]string{"4"}, "0", "0"},
	} {
		w := newFixture(t, Transfer, of(t, "5000"))
		for i, amount := range c.came {
			w.deposit(string(rune('a'+i)), amount)
		}
		tally := w.policy.Tally(w.p, w.rows)
		if !tally.Left.Equal(dec(c.left)) || !w.p.Ignored.Equal(dec(c.ignored)) || !tally.Received.Equal(w.p.Received) {
			t.Errorf("%v: left %s, ignored %s, received %s", c.came, tally.Left, w.p.Ignored, tally.Received)
		}
	}
}

// Sending the amount in Left pays the payment, whatever was received before.
func TestSendingWhatIsLeftPays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newFixture(t, rapid.SampledFrom([]Type{Transfer, MerchantPayment}).Draw(t, "type"), func(p *Payment) {
			p.Quote = priced(t, "ethereum", "USDT", rapid.SampledFrom([]string{"1", "300", "5000", "160000"}).Draw(t, "fiat"), quote.Fiat)
		})
		for i := range rapid.IntRange(0, 6).Draw(t, "transfers") {
			share := decimal.New(rapid.Int64Range(1, 3_000).Draw(t, "share"), -4)
			w.deposit(string(rune('a'+i)), w.p.Quote.CryptoAmount.Mul(share).RoundUp(6).String(), deep)
		}
		left := w.policy.Tally(w.p, w.rows).Left
		if w.p.Status() == StatusConfirmed {
			return
		}
		if !left.IsPositive() || left.GreaterThan(w.p.Quote.CryptoAmount) {
			t.Fatalf("%s is left of %s after %s", left, w.p.Quote.CryptoAmount, w.p.Received)
		}
		w.deposit("z", left.String(), deep)
		if w.p.Status() != StatusConfirmed || w.p.Has(ExceptionUnderpaid) {
			t.Fatalf("%s %s after the %s that were left", w.p.Status(), w.p.Exception(), left)
		}
	})
}

// Late unmined money changes nothing: its rate is the one at the time of its block.
func TestLateMoneyInAMempoolIsNoOption(t *testing.T) {
	for name, c := range map[string]struct {
		mined  time.Duration // after it was seen
		rate   string
		status Status
		payout string
	}{
		"mined soon":                         {time.Hour, "1584", StatusConfirmed, "157400"},
		"mined later, at a lower rate":       {5 * time.Hour, "1584", StatusConfirmed, "157400"},
		"mined later, at a much lower rate":  {5 * time.Hour, "1200", StatusNeedsReview, ""},
		"mined later, at a higher rate":      {5 * time.Hour, "1610", StatusConfirmed, "159000"},
		"mined after the grace of a day":     {25 * time.Hour, "1600", StatusNeedsReview, ""},
		"mined after it, at a terrible rate": {240 * time.Hour, "800", StatusNeedsReview, ""},
	} {
		for _, steps := range [][]func(*Deposit){{deep}, {shallow, deep}} {
			t.Run(name, func(t *testing.T) {
				w := newFixture(t, Transfer)
				w.close()
				w.now = w.p.ExpiresAt.Add(time.Hour)
				w.deposit("a", "100")
				w.is(StatusExpired, None)
				w.now, w.rate = w.now.Add(c.mined), dec(c.rate)
				mined := w.now
				for _, depth := range steps {
					w.deposit("a", "100", func(d *Deposit) { d.BlockTime = mined }, depth)
				}
				if w.p.Status() != c.status || !w.p.Has(ExceptionPaidLate) || w.p.Reorged {
					t.Fatalf("late money: status %s, exception %s, reorged %t; want %s, paid_late, false", w.p.Status(), w.p.Exception(), w.p.Reorged, c.status)
				}
				if c.payout != "" {
					w.payout(c.payout)
				}
			})
		}
	}
}
