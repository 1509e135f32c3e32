package sweep

import (
	"errors"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/intent"
)

func wei(n int64) *big.Int { return big.NewInt(n) }

var terms = Terms{MaxFee: wei(1_000), Reserve: wei(0), Share: 20}

// Ended states never change, every other state can end, and only a mined transaction becomes final.
func TestMay(t *testing.T) {
	for _, from := range States() {
		ends := false
		for _, to := range States() {
			if may := May(from, to); may && (from.Over() || (to == Final || to == Failed) && from != Mined) {
				t.Errorf("%s to %s", from, to)
			} else if may {
				ends = true
			}
		}
		if ends == from.Over() {
			t.Errorf("%s has steps: %v", from, ends)
		}
	}
}

func TestPrice(t *testing.T) {
	p, err := terms.Price(Market{Base: wei(100), Tip: wei(7)}, 50)
	if err != nil || p.MaxFee.Int64() != 207 || p.Tip.Int64() != 7 || p.Most().Int64() != 10_350 {
		t.Errorf("price a transaction: got %+v, %v, want 207 a unit with a tip of 7, at most 10350", p, err)
	}
	if p, err := terms.Price(Market{Base: wei(900), Tip: wei(100)}, 50); err != nil || p.MaxFee.Int64() != 1_000 {
		t.Errorf("at the cap: %+v, %v", p, err)
	}
	if _, err := terms.Price(Market{Base: wei(900), Tip: wei(101)}, 50); !errors.Is(err, ErrDear) {
		t.Errorf("above the cap: %v", err)
	}
}

func TestWithin(t *testing.T) {
	m := Market{Base: wei(100), Tip: wei(7)}
	p, err := terms.Price(m, 50)
	if err != nil {
		t.Fatal(err)
	}
	if got, missing := terms.Within(p, m, wei(1_000_000)); missing != nil || got.MaxFee.Int64() != 207 {
		t.Errorf("pay within 1000000 wei: got %+v, missing %v, want 207 a unit", got, missing)
	}
	if got, missing := terms.Within(p, m, wei(107*50)); missing != nil || got.MaxFee.Int64() != 107 {
		t.Errorf("just enough: %+v, %v", got, missing)
	}
	if _, missing := terms.Within(p, m, wei(107*50-1)); missing == nil || missing.Int64() != 2*10_350-(107*50-1) {
		t.Errorf("too little: %v is missing", missing)
	}
	if _, missing := terms.Within(p, m, wei(0)); missing == nil || missing.Int64() != 2*10_350 {
		t.Errorf("nothing: %v is missing", missing)
	}
}

func TestCoins(t *testing.T) {
	p := Price{50, wei(100), wei(1)}
	if got, err := terms.Coins(wei(100_000), p); err != nil || got.Int64() != 95_000 {
		t.Errorf("send the coins of 100000 wei: got %v, %v, want 95000", got, err)
	}
	if _, err := terms.Coins(wei(99_999), p); !errors.Is(err, ErrSmall) {
		t.Errorf("send the coins of 99999 wei: got %v, want ErrSmall", err)
	}
}

// Nodes accept every raised price as a replacement, and it is never above the cap.
func TestRaise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := Price{Gas: 21_000, MaxFee: wei(rapid.Int64Range(1, 2_000).Draw(t, "maxFee"))}
		old.Tip = wei(rapid.Int64Range(0, old.MaxFee.Int64()).Draw(t, "tip"))
		m := Market{Base: wei(rapid.Int64Range(0, 2_000).Draw(t, "base")), Tip: wei(rapid.Int64Range(0, 100).Draw(t, "market tip"))}
		next, ok := terms.Raise(old, m)
		if !ok {
			if old.MaxFee.Int64() < 800 && old.Tip.Int64() < 800 {
				t.Fatalf("%+v was not raised", old)
			}
			return
		}
		if next.MaxFee.Cmp(terms.MaxFee) > 0 || next.Tip.Cmp(next.MaxFee) > 0 || next.Gas != old.Gas ||
			next.MaxFee.Int64()*10 < old.MaxFee.Int64()*11 || next.Tip.Int64()*10 < old.Tip.Int64()*11 {
			t.Fatalf("%+v became %+v", old, next)
		}
	})
}

func token() Outgoing {
	r := intent.Request{Kind: intent.Sweep, Amount: "25", To: "T", Asset: "USDT", EVM: &intent.EVM{Contract: "C"}}
	return Outgoing{
		Kind: intent.Sweep, Sweep: Sweep{Asset: "USDT", Contract: "C"}, Sender: "S", Attempts: []Attempt{{Number: 1, Request: r, TxHash: "h"}},
	}
}

// A token has arrived when its contract logged the transfer, not because the transaction succeeded.
func TestArrived(t *testing.T) {
	move := Move{"C", "S", "T", wei(25)}
	for name, c := range map[string]struct {
		r    Receipt
		want bool
	}{
		"moved":            {Receipt{TxHash: "h", OK: true, Moved: []Move{{"X", "S", "T", wei(25)}, move}}, true},
		"failed":           {Receipt{TxHash: "h", Moved: []Move{move}}, false},
		"answered false":   {Receipt{TxHash: "h", OK: true}, false},
		"took a fee":       {Receipt{TxHash: "h", OK: true, Moved: []Move{{"C", "S", "T", wei(24)}}}, false},
		"another token":    {Receipt{TxHash: "h", OK: true, Moved: []Move{{"D", "S", "T", wei(25)}}}, false},
		"to somebody else": {Receipt{TxHash: "h", OK: true, Moved: []Move{{"C", "S", "U", wei(25)}}}, false},
		"another form":     {Receipt{TxHash: "i", OK: true, Moved: []Move{move}}, false},
	} {
		if amount, ok := token().Arrived(c.r); ok != c.want || (ok && amount.Int64() != 25) {
			t.Errorf("read the receipt of %s: got %s, %v, want %v", name, amount, ok, c.want)
		}
	}
}

// Every journal balances in every asset.
func TestBook_balances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := token()
		if rapid.Bool().Draw(t, "coin") {
			o.Sweep.Asset, o.Sweep.Contract = "ETH", ""
		}
		if rapid.Bool().Draw(t, "fund") {
			o.Kind = intent.Fund
		}
		ok := rapid.Bool().Draw(t, "ok")
		draw := func(name string) *big.Int { return wei(rapid.Int64Range(0, 9).Draw(t, name)) }
		part := Part{o.Sweep, Outcome{OK: ok, Amount: draw("amount"), Fee: draw("fee")}, rapid.Bool().Draw(t, "the station sends it")}
		if rapid.Bool().Draw(t, "solana") {
			part.Sweep.Family, part.Returned = money.Solana, draw("returned")
		}
		_, entries := Book(o.Kind, part, "ETH", Custody)
		sums := map[string]*big.Int{}
		for _, e := range entries {
			if sums[e.Asset] == nil {
				sums[e.Asset] = new(big.Int)
			}
			sums[e.Asset].Add(sums[e.Asset], e.Debit).Sub(sums[e.Asset], e.Credit)
			if (e.Debit.Sign() > 0) == (e.Credit.Sign() > 0) {
				t.Fatalf("book a sweep: got %+v, want either a debit or a credit", e)
			}
		}
		for asset, sum := range sums {
			if sum.Sign() != 0 {
				t.Fatalf("book %s: got the sum %s of %+v, want 0", asset, sum, entries)
			}
		}
	})
}

// The parts of a batch add up to the transaction. Where the coin paid its own fee, each part is its whole sweep.
func TestParts_addUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o Outgoing
		sum := new(big.Int)
		for _, n := range rapid.SliceOfN(rapid.Int64Range(1, 1_000_000_000), 1, 100).Draw(t, "sweeps") {
			o.Batch = append(o.Batch, Sweep{Amount: wei(n)})
			sum.Add(sum, wei(n))
		}
		fee := wei(rapid.Int64Range(0, sum.Int64()).Draw(t, "fee"))
		amount, own := sum, rapid.Bool().Draw(t, "the coin pays")
		if own {
			amount = new(big.Int).Sub(sum, fee)
		}
		amounts, fees := new(big.Int), new(big.Int)
		for i, p := range o.Parts(Outcome{OK: true, Amount: amount, Fee: fee}) {
			amounts.Add(amounts, p.Amount)
			fees.Add(fees, p.Fee)
			if p.Amount.Sign() < 0 || p.Fee.Sign() < 0 {
				t.Fatalf("part %d of %s and %s: %s and %s", i, amount, fee, p.Amount, p.Fee)
			}
			whole := p.Amount
			if own {
				whole = new(big.Int).Add(p.Amount, p.Fee)
			}
			if whole.Cmp(o.Batch[i].Amount) != 0 {
				t.Fatalf("part %d is %s, want %s", i, whole, o.Batch[i].Amount)
			}
		}
		if amounts.Cmp(amount) != 0 || fees.Cmp(fee) != 0 {
			t.Fatalf("parts of %s and %s, want %s and %s", amounts, fees, amount, fee)
		}
	})
}

// Sweeps of a refused batch enter smaller ones: no batch is larger than any of its sweeps wants, and each enters one.
func TestSweep_fits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rest []Sweep
		for _, most := range rapid.SliceOfN(rapid.IntRange(0, 5), 1, 20).Draw(t, "bounds") {
			rest = append(rest, Sweep{Together: most})
		}
		for len(rest) > 0 {
			var batch, left []Sweep
			for _, w := range rest {
				if w.Fits(batch) {
					batch = append(batch, w)
				} else {
					left = append(left, w)
				}
			}
			if len(batch) == 0 {
				t.Fatalf("batch %+v: got none", rest)
			}
			for _, w := range batch {
				if w.Together > 0 && len(batch) > w.Together {
					t.Fatalf("batch %+v: got %d sweeps together", rest, len(batch))
				}
			}
			rest = left
		}
	})
}
