package ledger

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"causeway.internal/libs/money"
)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// Every event of docs/architecture.md#ledger has its postings, Dr → Cr.
func TestPostings(t *testing.T) {
	d := Deposit{Payment: "p", Key: "ethereum/0x1/0", N: 1, Network: "ethereum", Asset: "USDT", Amount: dec("100"), To: Customer("p", "USDT")}
	c := Conversion{Payment: "p", N: 1, Asset: "USDT", Crypto: dec("100"), Currency: money.NGN, Payout: dec("159000"), Fee: dec("1000")}
	o := Payout{Payment: "p", Reference: "cw-x-1", N: 1, Rail: "sim", Currency: money.NGN, Amount: dec("159000")}
	r := Refund{Payment: "p", N: 1, Parts: []RefundPart{{"ethereum", "USDT", dec("100"), Customer("p", "USDT")}}}
	partly := d
	partly.Gone = dec("40")
	b := Payback{
		Payment: "p", Refund: "rfd_1", N: 2, Network: "ethereum", Asset: "USDT", Coin: "ETH", Fee: dec("0.001"),
		Parts: []PaybackPart{{Customer("p", "USDT"), dec("60")}, {Suspense("USDT"), dec("40")}},
	}
	l := Lapse{ID: "unc_1", Payment: "p", Asset: "USDT", Parts: []LapsePart{{Customer("p", "USDT"), dec("3")}, {Suspense("USDT"), dec("4")}}}
	for _, c := range []struct {
		j    Journal
		key  string
		want string
	}{
		{
			partly.Reverted(), "undep:ethereum/0x1/0#1",
			"customer:p:USDT > crypto:deposit:ethereum:USDT 60; suspense:USDT > crypto:deposit:ethereum:USDT 40",
		},
		{b.Held(), "rhold:rfd_1", "customer:p:USDT > clearing:refund:ethereum:USDT 60; suspense:USDT > clearing:refund:ethereum:USDT 40"},
		{b.GivenBack(), "rback:rfd_1", "clearing:refund:ethereum:USDT > customer:p:USDT 60; clearing:refund:ethereum:USDT > suspense:USDT 40"},
		{
			b.Confirmed(), "rdone:rfd_1#2", "clearing:refund:ethereum:USDT > crypto:hot:ethereum:USDT 60; " +
				"clearing:refund:ethereum:USDT > crypto:hot:ethereum:USDT 40; gas:ETH > crypto:hot:ethereum:ETH 0.001",
		},
		{
			b.Reversed(), "rundo:rfd_1#2", "crypto:hot:ethereum:USDT > clearing:refund:ethereum:USDT 60; " +
				"crypto:hot:ethereum:USDT > clearing:refund:ethereum:USDT 40; crypto:hot:ethereum:ETH > gas:ETH 0.001",
		},
		{d.Confirmed(), "dep:ethereum/0x1/0#1", "crypto:deposit:ethereum:USDT > customer:p:USDT 100"},
		{d.Reverted(), "undep:ethereum/0x1/0#1", "customer:p:USDT > crypto:deposit:ethereum:USDT 100"},
		{d.Released(), "rel:ethereum/0x1/0#1", "suspense:USDT > customer:p:USDT 100"},
		{d.Absorbed(), "abs:ethereum/0x1/0#1", "customer:p:USDT > suspense:USDT 100"},
		{c.Converted(), "conv:p#1", "customer:p:USDT > fx:USDT 100; fx:NGN > payable:p:NGN 159000; fx:NGN > fees:NGN 1000"},
		{c.Unconverted(), "unconv:p#1", "fx:USDT > customer:p:USDT 100; payable:p:NGN > fx:NGN 159000; fees:NGN > fx:NGN 1000"},
		{o.Held(), "hold:cw-x-1#1", "payable:p:NGN > clearing:payout:sim:NGN 159000"},
		{o.Voided(), "void:cw-x-1#1", "clearing:payout:sim:NGN > payable:p:NGN 159000"},
		{o.Succeeded(dec("10")), "done:cw-x-1", "clearing:payout:sim:NGN > fiat:float:sim:NGN 159000; provider_fees:NGN > fiat:float:sim:NGN 10"},
		{o.Succeeded(decimal.Zero), "done:cw-x-1", "clearing:payout:sim:NGN > fiat:float:sim:NGN 159000"},
		{o.Returned(), "rev:cw-x-1", "fiat:float:sim:NGN > payable:p:NGN 159000"},
		{Settled("p", "m", money.NGN, dec("5")), "self:p", "payable:p:NGN > merchant:m:NGN 5"},
		{l.Booked(), "unclaim:unc_1", "customer:p:USDT > unclaimed:USDT 3; suspense:USDT > unclaimed:USDT 4"},
		{l.Returned(), "reclaim:unc_1", "unclaimed:USDT > customer:p:USDT 3; unclaimed:USDT > suspense:USDT 4"},
		{r.Sent(), "ref:p#1", "customer:p:USDT > crypto:hot:ethereum:USDT 100"},
		{
			Swept("0x2", "ethereum", "USDT", dec("100"), "ETH", dec("0.001")), "sweep:0x2",
			"crypto:hot:ethereum:USDT > crypto:deposit:ethereum:USDT 100; gas:ETH > crypto:hot:ethereum:ETH 0.001",
		},
		{
			Swept("0x3", "ethereum", "ETH", dec("1.001"), "ETH", dec("0.001")), "sweep:0x3",
			"crypto:hot:ethereum:ETH > crypto:deposit:ethereum:ETH 1.001; gas:ETH > crypto:hot:ethereum:ETH 0.001",
		},
		{
			Swept("s5", "solana", "USDC", dec("25"), "SOL", dec("0.00001")).GasBack("solana", "SOL", dec("0.00203928")), "sweep:s5",
			"crypto:hot:solana:USDC > crypto:deposit:solana:USDC 25; gas:SOL > crypto:hot:solana:SOL 0.00001; crypto:hot:solana:SOL > gas:SOL 0.00203928",
		},
		{GasBooked("0x4", "ethereum", "ETH", dec("0.001")), "gas:0x4", "gas:ETH > crypto:hot:ethereum:ETH 0.001"},
		{CapitalMoved("c", "tron", "TRX", dec("50")), "capital:c", "crypto:hot:tron:TRX > capital:TRX 50"},
		{CapitalMoved("c", "tron", "TRX", dec("-5")), "capital:c", "capital:TRX > crypto:hot:tron:TRX 5"},
		{GasSpent("0x4", "ethereum", "ETH", dec("0.001")), "gas:0x4", "gas:ETH > crypto:hot:ethereum:ETH 0.001"},
		{SpreadClosed("d", money.NGN, dec("7")), "spread:d", "fx:NGN > spread:NGN 7"},
		{SpreadClosed("d", money.NGN, dec("-7")), "spread:d", "spread:NGN > fx:NGN 7"},
		{TraderSold("7", "ethereum", "USDT", dec("100")), "sold:7", "fx:USDT > crypto:hot:ethereum:USDT 100"},
		{FloatToppedUp("7", "sim", money.NGN, dec("9")), "float:7", "fiat:float:sim:NGN > fx:NGN 9"},
	} {
		if err := c.j.Check(); err != nil {
			t.Error(err)
		}
		if c.j.Key != c.key || postings(c.j) != c.want {
			t.Errorf("%s: %s, want %s: %s", c.j.Key, postings(c.j), c.key, c.want)
		}
	}
}

// postings writes the pairs of a journal as debit > credit amount.
func postings(j Journal) string {
	var pairs []string
	for i := 0; i+1 < len(j.Entries); i += 2 {
		a, b := j.Entries[i], j.Entries[i+1]
		if a.Side == Credit {
			a, b = b, a
		}
		pairs = append(pairs, a.Account.Code+" > "+b.Account.Code+" "+a.Amount.String())
	}
	return strings.Join(pairs, "; ")
}

func TestEveryJournalBalancesAndReversesToNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := func(name string) decimal.Decimal {
			return decimal.New(rapid.Int64Range(0, 1<<60).Draw(t, name), -rapid.Int32Range(0, 18).Draw(t, name+" digits"))
		}
		d := Deposit{Payment: "p", Key: "k", N: 1, Network: "bsc", Asset: "USDT", Amount: amount("deposit"), To: Suspense("USDT")}
		c := Conversion{Payment: "p", N: 1, Asset: "USDT", Crypto: amount("crypto"), Currency: money.KES, Payout: amount("payout"), Fee: amount("fee")}
		o := Payout{Payment: "p", Reference: "r", N: 1, Rail: "sim", Currency: money.KES, Amount: amount("out")}
		for _, pair := range [][2]Journal{{d.Confirmed(), d.Reverted()}, {c.Converted(), c.Unconverted()}, {o.Held(), o.Voided()}} {
			sums := map[string]decimal.Decimal{}
			for _, j := range pair {
				if j.Empty() {
					continue
				}
				if err := j.Check(); err != nil {
					t.Fatal(err)
				}
				for _, e := range j.Entries {
					v := e.Amount
					if e.Side == Credit {
						v = v.Neg()
					}
					sums[e.Account.Code] = sums[e.Account.Code].Add(v)
				}
			}
			for code, sum := range sums {
				if !sum.IsZero() {
					t.Fatalf("%s keeps %s after a reversal", code, sum)
				}
			}
		}
	})
}

func TestCheckRefuses(t *testing.T) {
	good := Entry{Suspense("USDT"), Debit, dec("1")}
	for name, j := range map[string]Journal{
		"no key":      {Entries: []Entry{good, {Customer("p", "USDT"), Credit, dec("1")}}},
		"one entry":   {Key: "k", Entries: []Entry{good}},
		"unbalanced":  {Key: "k", Entries: []Entry{good, {Customer("p", "USDT"), Credit, dec("2")}}},
		"two assets":  {Key: "k", Entries: []Entry{good, {Customer("p", "BTC"), Credit, dec("1")}}},
		"zero amount": {Key: "k", Entries: []Entry{good, {Customer("p", "USDT"), Credit, decimal.Zero}}},
		"no side":     {Key: "k", Entries: []Entry{good, {Customer("p", "USDT"), "", dec("1")}}},
	} {
		if j.Check() == nil {
			t.Errorf("a journal with %s passes", name)
		}
	}
}

func TestAccounts(t *testing.T) {
	if a := Customer("p", "USDT"); a.Shared() || a.Kind() != "customer" {
		t.Errorf("Customer() = %+v, want an account of kind customer that is not shared", a)
	}
	if a := FiatFloat("sim", money.NGN); !a.Shared() || a.Kind() != "fiat" || a.Normal != Debit {
		t.Errorf("FiatFloat() = %+v, want a shared account of kind fiat with debit as its normal side", a)
	}
}

// Every account of the chart has a name and a kind, and those of payments count as one.
func TestTitle(t *testing.T) {
	for _, c := range []struct{ code, kind, parts, summed string }{
		{CryptoDeposit("tron", "USDT").Code, "crypto:deposit", "tron", "crypto:deposit:tron:USDT"},
		{CryptoHot("tron", "USDT").Code, "crypto:hot", "tron", "crypto:hot:tron:USDT"},
		{FiatFloat("sim", "NGN").Code, "fiat:float", "sim", "fiat:float:sim:NGN"},
		{PayoutClearing("sim", "NGN").Code, "clearing:payout", "sim", "clearing:payout:sim:NGN"},
		{RefundClearing("tron", "USDT").Code, "clearing:refund", "tron", "clearing:refund:tron:USDT"},
		{Customer("pay_1", "USDT").Code, "customer", "pay_1", "customer:USDT"},
		{Payable("pay_1", "NGN").Code, "payable", "pay_1", "payable:NGN"},
		{Payable("wdr_1", "NGN").Code, "payable:withdrawal", "wdr_1", "payable:withdrawal:NGN"},
		{"payable:withdrawal:NGN", "payable:withdrawal", "", "payable:withdrawal:NGN"}, // of a close
		{Merchant("acme", "NGN").Code, "merchant", "acme", "merchant:acme:NGN"},
		{Suspense("USDT").Code, "suspense", "", "suspense:USDT"},
		{Unclaimed("USDT").Code, "unclaimed", "", "unclaimed:USDT"},
		{Position("USDT").Code, "fx", "", "fx:USDT"},
		{Fees("NGN").Code, "fees", "", "fees:NGN"},
		{Spread("NGN").Code, "spread", "", "spread:NGN"},
		{ProviderFees("NGN").Code, "provider_fees", "", "provider_fees:NGN"},
		{Rounding("NGN").Code, "rounding", "", "rounding:NGN"},
		{Gas("TRX").Code, "gas", "", "gas:TRX"},
		{Capital("TRX").Code, "capital", "", "capital:TRX"},
	} {
		for _, prefix := range []string{"", "test:"} {
			code := prefix + c.code
			if Kind(code) != c.kind || Title(code) == c.kind || Parts(code) != c.parts || Summed(code) != prefix+c.summed {
				t.Errorf("%s is %q of kind %q with parts %q, summed as %q; want kind %q with a name, parts %q, summed as %q",
					code, Title(code), Kind(code), Parts(code), Summed(code), c.kind, c.parts, prefix+c.summed)
			}
		}
	}
}
