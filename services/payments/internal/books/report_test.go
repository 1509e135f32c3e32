package books

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/ledger"
)

func noPrice(string) (decimal.Decimal, bool) { return decimal.Zero, false }

// add books a journal into sums, as the database does.
func add(sums *Sums, prefix string, j ledger.Journal) {
	for _, e := range j.Entries {
		i := -1
		code := prefix + ledger.Summed(e.Account.Code)
		for k, a := range sums.Accounts {
			if a.Account == code && a.Asset == e.Account.Asset {
				i = k
			}
		}
		if i < 0 {
			sums.Accounts = append(sums.Accounts, AccountSum{Account: code, Asset: e.Account.Asset})
			i = len(sums.Accounts) - 1
		}
		a := &sums.Accounts[i]
		net := e.Amount
		if e.Side == ledger.Debit {
			a.Debit = a.Debit.Add(e.Amount)
		} else {
			a.Credit, net = a.Credit.Add(e.Amount), net.Neg()
		}
		for _, event := range ledger.ByHand() {
			if j.Event == event {
				a.ByHand = a.ByHand.Add(net)
			}
		}
	}
}

// For each asset, after any bookings, crypto and floats are together what is owed, the position and the product's own.
// No account is left out, and none of the other mode counts.
func TestTreasury_whole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Custom(func(t *rapid.T) decimal.Decimal {
			return decimal.New(rapid.Int64Range(1, 1_000_000).Draw(t, "units"), -2)
		})
		var sums Sums
		for range rapid.IntRange(0, 30).Draw(t, "journals") {
			one, two, n := amount.Draw(t, "amount"), amount.Draw(t, "other"), rapid.IntRange(1, 3).Draw(t, "n")
			to := rapid.SampledFrom([]ledger.Account{ledger.Customer("pay_1", "USDT"), ledger.Suspense("USDT")}).Draw(t, "to")
			deposit := ledger.Deposit{Payment: "pay_1", Key: "k", N: n, Network: "tron", Asset: "USDT", Amount: one, To: to}
			payout := ledger.Payout{Payment: "pay_1", Reference: "r", N: n, Rail: "paystack", Currency: "NGN", Amount: one, Residue: two}
			add(&sums, rapid.SampledFrom([]string{"", "test:"}).Draw(t, "mode"), rapid.SampledFrom([]ledger.Journal{
				deposit.Confirmed(), deposit.Reverted(), payout.Held(), payout.Succeeded(two), payout.Returned(),
				ledger.Conversion{Payment: "pay_1", N: n, Asset: "USDT", Crypto: one, Currency: "NGN", Payout: one, Fee: two}.Converted(),
				ledger.Settled("pay_1", "acme", "NGN", one), ledger.MerchantPaid("k", "acme", "paystack", "NGN", one),
				ledger.Swept("t", "tron", "USDT", one, "TRX", two), ledger.GasBooked("t", "tron", "TRX", one), ledger.CapitalMoved("t", "tron", "TRX", one.Neg()),
				ledger.Taking{Withdrawal: "wdr_1", N: n, Merchant: "acme", Currency: "NGN", Amount: one}.Taken(),
				ledger.TraderSold("t", "tron", "USDT", one), ledger.FloatToppedUp("t", "paystack", "NGN", one), ledger.SpreadClosed("t", "NGN", one.Neg()),
			}).Draw(t, "journal"))
		}
		for _, mode := range tenant.Modes() {
			left := map[string]decimal.Decimal{}
			count := func(asset string, d decimal.Decimal) { left[asset] = left[asset].Add(d) }
			r := treasuryOf(mode, sums, floatsRead{}, noPrice)
			for _, l := range r.Crypto {
				count(l.Asset, l.Deposits.Add(l.Hot))
			}
			for _, f := range r.Floats {
				count(f.Currency, f.Ledger)
			}
			for _, o := range append(r.Owed, r.Own...) {
				count(o.Asset, o.Amount.Neg())
			}
			for _, p := range r.Positions {
				count(p.Asset, p.Amount.Neg())
			}
			for asset, d := range left {
				if !d.IsZero() {
					t.Fatalf("%s mode has %s %s more than it owes and owns: %+v of %+v", mode, d, asset, r, sums.Accounts)
				}
			}
		}
	})
}

// However much is on its way, the difference from the chain is what operators moved and did not book, or booked and did
// not move; and observed is the ledger, standalone wallets, on the way and difference together.
func TestTreasury_difference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) decimal.Decimal {
			return decimal.New(rapid.Int64Range(0, 1_000_000).Draw(t, name), -3)
		}
		seen, fees := draw("deposits in blocks"), draw("fees in blocks")
		booked, bookedFees := decimal.Min(seen, draw("booked")), decimal.Min(fees, draw("booked fees"))
		standalone, moved, bookedMove := draw("standalone"), draw("moved by hand"), draw("booked by hand")
		var sums Sums
		add(&sums, "", ledger.Deposit{Key: "k", N: 1, Network: "tron", Asset: "TRX", Amount: booked, To: ledger.Suspense("TRX")}.Confirmed())
		add(&sums, "", ledger.GasSpent("t", "tron", "TRX", bookedFees))
		add(&sums, "", ledger.TraderSold("s", "tron", "TRX", bookedMove))
		expected := seen.Sub(fees).Add(standalone)
		observed := expected.Sub(moved)
		deposits := draw("on deposit addresses")
		treasury, zero := observed.Sub(deposits), decimal.Zero
		sums.Readings = map[tenant.Mode][]Reading{tenant.Live: {{Network: "tron", Holdings: []Holding{{
			Asset: "TRX", Deposits: &deposits, GasStation: &zero, RefundStation: &zero, Treasury: &treasury, Expected: expected, Standalone: standalone,
		}}}}}
		l := treasuryOf(tenant.Live, sums, floatsRead{}, noPrice).Crypto[0]
		if want := bookedMove.Sub(moved); !l.Difference.Equal(want) {
			t.Fatalf("the difference is %s, want %s: booked %s and moved %s by hand", l.Difference, want, bookedMove, moved)
		}
		if sum := l.Deposits.Add(l.Hot).Add(standalone).Add(*l.OnTheWay).Add(*l.Difference); !sum.Equal(observed) {
			t.Fatalf("ledger, standalone wallets, on the way and difference are %s, want the observed %s: %+v", sum, observed, l)
		}
		if want := seen.Sub(fees).Sub(booked).Add(bookedFees); !l.OnTheWay.Equal(want) {
			t.Fatalf("%s is on the way, want what blocks hold and the ledger does not: %s", l.OnTheWay, want)
		}
	})
}

// A place that was not read, and addresses that were not, leave the difference open instead of wrong.
func TestTreasury_unread(t *testing.T) {
	one := decimal.NewFromInt(1)
	for name, h := range map[string]Holding{
		"a treasury":         {Asset: "TRX", Deposits: &one, GasStation: &one, RefundStation: &one},
		"a deposit address":  {Asset: "TRX", Deposits: &one, GasStation: &one, RefundStation: &one, Treasury: &one, Unread: 1},
		"any of the network": {Asset: "TRX"},
	} {
		sums := Sums{Readings: map[tenant.Mode][]Reading{tenant.Live: {{Network: "tron", Holdings: []Holding{h}}}}}
		if l := treasuryOf(tenant.Live, sums, floatsRead{}, noPrice).Crypto[0]; l.Difference != nil || l.OnTheWay != nil {
			t.Errorf("without the balance of %s: difference %v, on the way %v; want neither", name, l.Difference, l.OnTheWay)
		}
	}
}

// A rail may have paid what is on the way or not; anything beyond that is a difference.
func TestTreasury_floats(t *testing.T) {
	var sums Sums
	add(&sums, "", ledger.FloatToppedUp("t", "paystack", "NGN", decimal.NewFromInt(1000)))
	add(&sums, "", ledger.Payout{Payment: "p", Reference: "r", N: 1, Rail: "paystack", Currency: "NGN", Amount: decimal.NewFromInt(300)}.Held())
	sums.Marks = map[tenant.Mode][]Mark{tenant.Live: {{"paystack", "NGN", decimal.NewFromInt(50)}}}
	for observed, want := range map[int64]int64{1050: 0, 750: 0, 900: 0, 1051: 1, 749: -1} {
		r := treasuryOf(tenant.Live, sums, floatsRead{said: []Balance{{Rail: "paystack", Currency: "NGN", Amount: decimal.NewFromInt(observed)}}}, noPrice)
		if got := r.Floats[0].Difference; got == nil || !got.Equal(decimal.NewFromInt(want)) {
			t.Errorf("the rail says %d; difference %v, want %d with 1000 booked, 50 from before and 300 on the way", observed, got, want)
		}
	}
	sums.Marks = nil
	r := treasuryOf(tenant.Live, sums, floatsRead{said: []Balance{{Rail: "paystack", Currency: "NGN", Amount: decimal.NewFromInt(9)}}}, noPrice)
	if r.Floats[0].Difference != nil {
		t.Errorf("a float that was never compared differs by %s, want no difference yet", r.Floats[0].Difference)
	}
}

// A reading that is too old, and a rail that did not answer, say nothing: the line is unread, and keeps the difference
// that was known last, so that no shortage seems to have ended. A network that nobody follows is not unread.
func TestTreasury_stale(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	five, zero := decimal.NewFromInt(5), decimal.Zero
	read := func(at time.Time, followed ...string) Treasury {
		sums := Sums{
			At: now, Followed: map[tenant.Mode][]string{tenant.Live: followed},
			Readings: map[tenant.Mode][]Reading{tenant.Live: {{Network: "tron", At: at, Holdings: []Holding{{
				Asset: "TRX", Deposits: &zero, GasStation: &zero, RefundStation: &zero, Treasury: &zero, Expected: five,
			}}}}},
			Marks: map[tenant.Mode][]Mark{tenant.Live: {{"paystack", "NGN", five}}},
		}
		return treasuryOf(tenant.Live, sums, floatsRead{said: []Balance{{Rail: "paystack", Currency: "NGN"}}}, noPrice)
	}
	fresh := read(now.Add(-readingLife), "tron")
	fresh.remember(Treasury{})
	if l := fresh.Crypto[0]; l.Unread || l.Difference == nil || l.Last == nil || !l.Last.Equal(five.Neg()) {
		t.Fatalf("a fresh reading of 5 too little makes the line %+v, want a difference of -5", l)
	}
	stale := read(now.Add(-readingLife-time.Second), "tron")
	stale.remember(fresh)
	if l := stale.Crypto[0]; !l.Unread || l.Difference != nil || l.Last == nil || !l.Last.Equal(five.Neg()) || l.Chain == nil {
		t.Errorf("a stale reading makes the line %+v, want it unread, with the -5 of before", l)
	}
	if l := read(now.Add(-readingLife-time.Second), "ethereum").Crypto[0]; l.Unread {
		t.Errorf("a network that nobody follows makes the line %+v, want it not unread", l)
	}
	quiet := treasuryOf(tenant.Live, Sums{At: now}, floatsRead{silent: []Balance{{Rail: "paystack", Currency: "NGN"}}}, noPrice)
	quiet.remember(fresh)
	if l := quiet.Floats[0]; !l.Unread || l.Last == nil || !l.Last.Equal(five.Neg()) {
		t.Errorf("a rail without an answer makes the line %+v, want it unread, with the -5 of before", l)
	}
}
