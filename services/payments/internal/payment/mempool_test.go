package payment_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"causeway.internal/libs/fault"
	. "causeway.internal/services/payments/internal/payment"
)

const hold = 2 * time.Hour

// in puts a transfer into a block of the given time.
func in(at time.Time, depth int64) func(*Deposit) {
	return func(d *Deposit) { d.Reverted, d.BlockHeight, d.BlockTime, d.Depth = false, 100, at, depth }
}

// unmined takes a transfer out of its block.
func unmined(d *Deposit) { d.Reverted, d.BlockHeight, d.BlockTime, d.Depth = false, 0, time.Time{}, 0 }

// look is the timer: it applies the trigger that is due, with the network scanned to now.
func (w *fixture) look() {
	w.t.Helper()
	for due, name := w.p.Timer(); name == OnWindow && !w.now.Before(due.Add(time.Minute)); due, name = w.p.Timer() {
		before := due
		w.must(WindowOver{Rows: w.rows, Rate: w.rate, ScannedTo: w.now})
		if due, name = w.p.Timer(); name == OnWindow && !due.After(before) {
			w.t.Fatalf("the timer runs again at %s", due)
		}
	}
}

// after sets the time to d after the window, and looks.
func (w *fixture) after(d time.Duration) {
	w.t.Helper()
	w.now = w.p.ExpiresAt.Add(d)
	w.look()
}

func (w *fixture) dueAt(want time.Time) {
	w.t.Helper()
	if due, name := w.p.Timer(); !due.Equal(want) || !want.IsZero() && name != OnWindow {
		w.t.Fatalf("timer %q at %s, want %s", name, due, want)
	}
}

// A transfer that a mempool showed in time is on time if a block holds it before the hold ends. Mined later, it is as
// late as its block. A transfer that was first seen after the window is as late as its block too.
func TestMempool_time(t *testing.T) {
	type at = time.Duration // after the window
	for name, e := range map[string]struct {
		seen, mined at
		want        Status
		exception   Exception
	}{
		"mined in the hold":                           {-time.Minute, 90 * time.Minute, StatusConfirming, None},
		"seen at the last moment, mined at the end":   {0, hold, StatusConfirming, None},
		"mined after the hold":                        {-time.Minute, hold + time.Second, StatusConfirming, ExceptionPaidLate},
		"mined a day after":                           {-time.Minute, 24 * time.Hour, StatusConfirming, ExceptionPaidLate},
		"mined more than a day after":                 {-time.Minute, 24*time.Hour + time.Second, StatusNeedsReview, ExceptionPaidLate},
		"seen late, mined soon":                       {time.Minute, 5 * time.Minute, StatusConfirming, ExceptionPaidLate},
		"seen within a day, mined more than a day on": {time.Minute, 25 * time.Hour, StatusNeedsReview, ExceptionPaidLate},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, Transfer)
			w.now = w.p.ExpiresAt.Add(e.seen)
			w.deposit("a", "100")
			if e.seen > 0 {
				w.is(StatusPending, None)
			} else {
				w.is(StatusConfirming, None)
			}
			w.after(max(e.mined, e.seen))
			w.deposit("a", "100", in(w.p.ExpiresAt.Add(e.mined), 1))
			w.look()
			w.is(e.want, e.exception)
			for _, event := range w.events {
				if event.Type == EventReorged {
					t.Error("nothing was reorged")
				}
			}
		})
	}
	w := newFixture(t, Transfer)
	w.close()
	w.deposit("a", "100", seenAt(w.now), in(w.p.ExpiresAt, 1)) // reported late, mined in the window
	w.is(StatusConfirming, None)
}

// Unmined money keeps the window open until the hold ends. Then the payment expires, and the money is late if a block
// holds it afterwards.
func TestMempool_holdIsOver(t *testing.T) {
	w := newFixture(t, Transfer)
	end := w.p.ExpiresAt
	w.dueAt(end)
	w.deposit("a", "100")
	w.said("pending", "confirming")
	w.dueAt(end.Add(hold))
	refused(t, w.apply(Cancel{}), fault.Conflict, "cancel_too_late", "")
	w.now = end.Add(hold + time.Hour)
	w.must(WindowOver{Rows: w.rows, Rate: w.rate, ScannedTo: end.Add(hold + 59*time.Second)})
	w.is(StatusConfirming, None)
	w.must(WindowOver{Rows: w.rows, Rate: w.rate, ScannedTo: end.Add(hold + time.Minute)})
	w.is(StatusExpired, None)
	w.said("expired")
	w.dueAt(time.Time{})
	if !w.p.Received.IsZero() || w.p.Transfers != 1 {
		t.Fatalf("received %s in %d transfers", w.p.Received, w.p.Transfers)
	}
	w.tell()
	w.deposit("a", "100", reverted) // dropped from the mempool
	w.said()
	w.deposit("a", "100", unmined)
	w.said()
	w.rate = dec("1599.2")
	w.deposit("a", "100", in(w.now, 12))
	w.is(StatusConfirmed, ExceptionPaidLate)
	w.said("confirming", "confirmed")
	w.payout("158920")
}

// A late transfer is judged by the rate at the time of its block, and changes nothing before.
func TestMempool_lateSighting(t *testing.T) {
	w := newFixture(t, Transfer)
	w.close()
	w.said("pending", "expired")
	w.rate = dec("1000") // too far from the lock
	w.deposit("a", "50")
	w.is(StatusExpired, None)
	w.rate = dec("1600")
	w.deposit("a", "50", in(w.now, 1))
	w.is(StatusConfirming, ExceptionUnderpaid)
	w.deposit("b", "50")
	w.rate = dec("1584")
	w.deposit("b", "50", in(w.now, 12))
	w.deposit("a", "50", deep)
	w.is(StatusConfirmed, ExceptionUnderpaid)
	w.payout("157400")

	w = newFixture(t, Transfer)
	w.must(Cancel{})
	w.said("pending", "cancelled")
	w.deposit("a", "100")
	w.is(StatusCancelled, None)
	w.deposit("a", "100", in(w.now, 1))
	w.is(StatusNeedsReview, ExceptionPaidLate)
}

// The missing part of a partly paid payment may be unmined as well.
func TestMempool_partlyMined(t *testing.T) {
	begin := func(kind Type) *fixture {
		w := newFixture(t, kind)
		w.deposit("a", "40", in(w.now, 12))
		w.deposit("b", "60")
		w.is(StatusConfirming, None)
		w.after(hold)
		w.is(StatusConfirming, None)
		w.events = nil
		return w
	}
	w := begin(Transfer)
	w.deposit("b", "60", in(w.now, 12))
	w.is(StatusConfirmed, None)
	w.payout("159000")

	w = begin(Transfer)
	w.after(hold + time.Minute)
	w.is(StatusConfirmed, ExceptionUnderpaid)
	w.said("underpaid", "confirmed")
	w.payout("63500")

	w = begin(MerchantPayment)
	w.after(hold + time.Minute)
	w.is(StatusNeedsReview, ExceptionUnderpaid)

	w = begin(Transfer) // dropped without a replacement: the timer judges the remaining money
	w.deposit("b", "60", reverted)
	w.is(StatusPending, ExceptionReorged)
	w.dueAt(w.p.ExpiresAt)
	w.look()
	w.is(StatusConfirmed, ExceptionUnderpaid)

	w = newFixture(t, Transfer)
	w.deposit("a", "60")
	w.is(StatusPending, ExceptionUnderpaid)
	w.after(hold)
	w.is(StatusPending, ExceptionUnderpaid)
	w.after(hold + time.Minute)
	w.is(StatusExpired, None)
}

// A transfer in time whose block left the chain after the window keeps the window open as it did before it was mined:
// most are mined again, and no mempool shows them at once.
func TestMempool_blockLeavesTheChain(t *testing.T) {
	begin := func(kind Type) *fixture {
		w := newFixture(t, kind)
		w.deposit("a", "40", in(w.now, 12))
		w.deposit("b", "60")
		w.after(10 * time.Minute)
		w.deposit("b", "60", in(w.now, 1))
		w.is(StatusConfirming, None)
		w.after(15 * time.Minute)
		w.deposit("b", "60", reverted)
		w.is(StatusPending, ExceptionReorged)
		w.dueAt(w.p.ExpiresAt.Add(hold))
		w.look()
		w.is(StatusPending, ExceptionReorged)
		w.events = nil
		return w
	}
	w := begin(Transfer)
	w.deposit("b", "60", in(w.now, 12))
	w.is(StatusConfirmed, None)
	w.payout("159000")

	w = begin(Transfer) // a mempool shows it first
	w.deposit("b", "60", unmined)
	w.after(hold)
	w.deposit("b", "60", in(w.now, 12))
	w.is(StatusConfirmed, None)
	w.payout("159000")

	w = begin(Transfer) // it leaves the mempool too
	w.deposit("b", "60", unmined)
	w.deposit("b", "60", reverted)
	w.dueAt(w.p.ExpiresAt)

	w = begin(Transfer) // no block holds it again
	w.after(hold + time.Minute)
	w.is(StatusConfirmed, ExceptionUnderpaid)
	w.payout("63500")

	w = begin(MerchantPayment)
	w.after(hold + time.Minute)
	w.is(StatusNeedsReview, ExceptionReorged)

	w = newFixture(t, Transfer) // money that came late is waited for by nobody
	w.after(30 * time.Second)
	w.deposit("a", "100", in(w.now, 1))
	w.deposit("a", "100", reverted)
	w.dueAt(w.p.ExpiresAt)
	w.after(time.Minute)
	w.is(StatusExpired, None)
}

// A replacement with a larger amount is no overpayment until a block holds it.
func TestMempool_replacedByAHigherFee(t *testing.T) {
	w := newFixture(t, Transfer)
	w.deposit("a", "100")
	w.deposit("b", "100")
	w.is(StatusConfirming, None)
	w.deposit("a", "100", reverted)
	w.is(StatusConfirming, None)
	w.deposit("b", "100", in(w.now, 12))
	w.is(StatusConfirmed, None)
	w.deposit("c", "100")
	w.said("pending", "confirming", "confirmed")
	w.deposit("c", "100", in(w.now, 1))
	w.is(StatusConfirmed, ExceptionOverpaid)
}

// A gift that is claimed on unmined money waits unpaid, and its claim is void when the hold ends.
func TestMempool_claimedGift(t *testing.T) {
	w := newFixture(t, Gift)
	w.deposit("a", "100")
	w.must(ClaimGift{Receiver: account})
	w.is(StatusSettling, ExceptionUnfunded)
	w.dueAt(w.p.ExpiresAt.Add(hold))
	refused(t, w.apply(Sending{Attempt: 1}), fault.Conflict, "payout_not_due", "")
	w.after(hold)
	w.is(StatusSettling, ExceptionUnfunded)
	w.said("pending", "confirming", "settling")
	w.after(hold + time.Minute)
	w.is(StatusExpired, None)
	w.said("expired")
	if w.p.Claim != ClaimVoid || w.p.Receiver.Known() {
		t.Fatalf("claim %s", w.p.Claim)
	}
}

// fate is the later history of a transfer that was seen, in minutes after the start of the payment; -1 is never.
type fate struct {
	key                           string
	seen, gone, back, mined, lost int
}

// snapshot is the transfer as wallets reports it at a minute, and the number of its changes before.
func (f fate) snapshot(minute int) (change func(*Deposit), version int) {
	reached := func(m int) bool { return m >= 0 && m <= minute }
	switch {
	case reached(f.lost):
		return reverted, 5
	case reached(f.mined):
		return in(start.Add(time.Duration(f.mined)*time.Minute), int64(minute-f.mined)+1), 4
	case reached(f.back):
		return unmined, 3
	case reached(f.gone):
		return reverted, 2
	case reached(f.seen):
		return unmined, 1
	}
	return nil, 0
}

// Transfers wait, are mined, replaced or dropped, and the messages of a minute arrive in any order. Unmined money is
// never paid out, no payment waits for it longer than the hold and the margin, and the final state is the same.
func TestMempool_anyFate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]Type{Transfer, Gift, MerchantPayment}).Draw(t, "type")
		screen, claimAt := rapid.Bool().Draw(t, "screening"), -1
		if kind == Gift {
			claimAt = rapid.IntRange(-1, 200).Draw(t, "claimed")
		}
		minute := func(name string, from int) int {
			if n := rapid.OneOf(rapid.Just(-1), rapid.IntRange(0, 3), rapid.IntRange(0, 100)).Draw(t, name); n >= 0 {
				return from + 2 + 2*n // even, so that no message comes in the minute in which another transfer becomes deep
			}
			return -1
		}
		fates, minutes := []fate{}, []int{29, 30, 31, 149, 150, 151, 500, claimAt}
		amounts := rapid.SampledFrom([][]string{{"100"}, {"40", "60"}, {"30", "30", "30"}, {"60", "39.5"}, {"0.05", "99.95"}}).Draw(t, "amounts")
		for i := range amounts {
			f := fate{key: string(rune('a' + i)), seen: 2 * rapid.IntRange(0, 30).Draw(t, "seen"), back: -1, mined: -1, lost: -1}
			if f.gone = minute("gone", f.seen); f.gone >= 0 {
				f.back = minute("back", f.gone)
			}
			if f.gone < 0 || f.back >= 0 {
				f.mined = minute("mined", max(f.seen, f.back))
			}
			if f.mined >= 0 {
				f.lost = minute("lost", f.mined)
			}
			fates, minutes = append(fates, f), append(minutes, f.seen, f.gone, f.back, f.mined, f.mined+11, f.lost)
		}
		slices.Sort(minutes)
		minutes = slices.Compact(minutes)
		run := func(order func(a, b fate) int) *fixture {
			w := newFixture(t, kind)
			w.policy.Screen = screen
			told := map[string]int{}
			for _, m := range minutes {
				if m < 0 {
					continue
				}
				w.now = start.Add(time.Duration(m) * time.Minute)
				for _, f := range slices.SortedFunc(slices.Values(fates), order) {
					change, version := f.snapshot(m)
					if change == nil || version != 4 && told[f.key] == version {
						continue
					}
					told[f.key] = version
					i := slices.Index([]string{"a", "b", "c"}, f.key)
					w.deposit(f.key, amounts[i], change, func(d *Deposit) { d.Network, d.Screening = "ethereum", Clear })
					if v := w.policy.Verdict(w.p, w.rows); screen && v == Clear && w.p.Screening == Unscreened {
						w.must(Screened{Verdict: v, Rows: w.rows})
					}
				}
				if m == claimAt {
					_ = w.apply(ClaimGift{Receiver: account})
				}
				w.look()
				if w.p.Payout != NoPayout && w.p.Credit.Crypto.GreaterThan(depth(w.rows)) {
					t.Fatalf("minute %d: %s is paid on %s in blocks", m, w.p.Credit.Crypto, depth(w.rows))
				}
				if over := w.p.ExpiresAt.Add(hold + time.Minute); !w.now.Before(over) && !w.p.Closed && w.p.Funding != Seen && w.p.Funding != Confirmed {
					t.Fatalf("minute %d: %s is still open", m, w.p.Status())
				}
				if s := w.p.Status(); !w.now.Before(w.p.ExpiresAt.Add(hold+time.Minute)) && (s == StatusPending || w.p.Funding == Seen && depth(w.rows).IsZero()) {
					t.Fatalf("minute %d: %s rests on nothing that is mined", m, s)
				}
			}
			return w
		}
		end := func(w *fixture) string {
			// Reorged depends on the order: it says that the merchant saw money for a moment.
			return fmt.Sprint(w.p.Status(), w.p.Has(ExceptionUnderpaid), w.p.Overpaid, w.p.Claim, w.p.Received, w.p.Credit.Payout, w.p.Credit.Crypto, w.p.Timing, w.p.Closed)
		}
		one := end(run(func(a, b fate) int { return cmp.Compare(a.key, b.key) }))
		other := end(run(func(a, b fate) int { return cmp.Compare(b.key, a.key) }))
		if one != other && !meet(fates, amounts[0] == "0.05") {
			t.Fatalf("it ends as %s, in another order as %s", one, other)
		}
	})
}

// meet reports that two transfers change in one minute where the order of the messages decides. After the window,
// either a transfer that is on time is paid in part and late money is too much, or late money opens the payment for
// both. Before the end of the window, a sufficient conversion takes no dust of the same minute.
func meet(fates []fate, dust bool) bool {
	changes := map[int]bool{}
	for _, f := range fates {
		own := map[int]bool{}
		for _, m := range []int{f.gone, f.back, f.mined, f.lost} {
			if m > 29 || dust && m == f.mined {
				own[m] = true
			}
		}
		delete(own, -1)
		for m := range own {
			if changes[m] {
				return true
			}
			changes[m] = true
		}
	}
	return false
}

// depth is the amount in blocks.
func depth(rows []Deposit) (sum decimal.Decimal) {
	for _, d := range rows {
		if !d.Reverted && d.BlockHeight > 0 {
			sum = sum.Add(d.Amount)
		}
	}
	return sum
}
