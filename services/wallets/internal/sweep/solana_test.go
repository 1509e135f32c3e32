package sweep

import (
	"errors"
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
)

// An address keeps nothing, or enough to exist. No more than the sum leaves it.
func TestLeave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sum := rapid.Uint64Range(1, 5*soltx.Bare).Draw(t, "sum")
		balance := rapid.Uint64Range(0, 10*soltx.Bare).Draw(t, "balance")
		got := Leave(balance, sum)
		if got == 0 {
			if balance >= sum && balance > soltx.Bare {
				t.Fatalf("Leave(%d, %d) is nothing", balance, sum)
			}
			return
		}
		if left := balance - got; got > sum || got > balance || (left != 0 && left < soltx.Bare) {
			t.Fatalf("Leave(%d, %d) is %d, and %d stay", balance, sum, got, left)
		}
	})
	for _, c := range [][3]uint64{{1_000_000, 1_000_000, 1_000_000}, {1_000_001, 1_000_000, 109_121}, {soltx.Bare, soltx.Bare - 1, 0}, {7, 8, 0}} {
		if got := Leave(c[0], c[1]); got != c[2] {
			t.Errorf("Leave(%d, %d) is %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

// The parts of a batch add up to what the chain moved, took and gave back; an address whose account stays gets no rent.
func TestParts_solana(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		terms := &intent.Solana{}
		o := Outgoing{Attempts: []Attempt{{Request: intent.Request{Solana: terms}}}}
		sum, closed := new(big.Int), false
		n := rapid.IntRange(1, 8).Draw(t, "moves")
		for i := range n {
			amount := rapid.Int64Range(1, 1_000_000_000).Draw(t, "amount")
			move := intent.SolanaMove{Owner: fmt.Sprint(i), Amount: fmt.Sprint(amount), Close: rapid.Bool().Draw(t, "close")}
			closed = closed || move.Close
			sum.Add(sum, wei(amount))
			terms.Moves = append(terms.Moves, move)
			o.Batch = append([]Sweep{{Address: move.Owner, Amount: wei(amount + 5)}}, o.Batch...)
		}
		out := Outcome{OK: rapid.Bool().Draw(t, "ok"), Amount: sum, Fee: wei(rapid.Int64Range(0, 100_000).Draw(t, "fee")), Returned: new(big.Int)}
		if !out.OK {
			out.Amount = new(big.Int)
		} else if closed {
			out.Returned = wei(rapid.Int64Range(0, 20_000_000).Draw(t, "rent"))
		}
		amounts, fees, rents := new(big.Int), new(big.Int), new(big.Int)
		for i, p := range o.Parts(out) {
			amounts.Add(amounts, p.Amount)
			fees.Add(fees, p.Fee)
			rents.Add(rents, p.Returned)
			m := terms.Moves[i]
			if p.Sweep.Address != m.Owner || (out.OK && p.Amount.String() != m.Amount) || (closed && !m.Close && p.Returned.Sign() != 0) {
				t.Fatalf("part %d is %+v, want that of %+v", i, p, m)
			}
		}
		if amounts.Cmp(out.Amount) != 0 || fees.Cmp(out.Fee) != 0 || rents.Cmp(out.Returned) != 0 {
			t.Fatalf("the parts are %s, %s and %s, want %s, %s and %s", amounts, fees, rents, out.Amount, out.Fee, out.Returned)
		}
	})
}

// A raised price is above the one before, and never lifts the fee above the cap.
func TestRaiseUnit(t *testing.T) {
	terms := Terms{MaxFee: wei(20_000)}
	tx := soltx.Transaction{UnitLimit: 20_000, Moves: make([]soltx.Move, 1)} // 10 000 lamports for two signatures
	rapid.Check(t, func(t *rapid.T) {
		tx.UnitPrice = rapid.Uint64Range(0, 600_000).Draw(t, "old")
		market := rapid.Uint64Range(0, 600_000).Draw(t, "market")
		next, ok := terms.RaiseUnit(tx, market)
		if !ok {
			if tx.UnitPrice < 390_000 {
				t.Fatalf("%d was not raised at %d", tx.UnitPrice, market)
			}
			return
		}
		raised := tx
		raised.UnitPrice = next
		if next <= tx.UnitPrice || next < min(market, 500_000) || raised.Fee().Cmp(terms.MaxFee) > 0 {
			t.Fatalf("%d was raised to %d at %d, for %s lamports", tx.UnitPrice, next, market, raised.Fee())
		}
	})
	if _, err := terms.UnitPrice(tx, 500_001); !errors.Is(err, ErrDear) {
		t.Errorf("above the cap UnitPrice gives %v, want %v", err, ErrDear)
	}
}

// The network's price of a station's accounts is what its own refunds offered: however many of them come, none makes
// another too dear.
func TestRefundPrice_ownRefundsRaiseIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		terms := Terms{MaxFee: wei(rapid.Int64Range(5_100, 5_000_000).Draw(t, "most fee"))}
		market := uint64(0)
		for i, native := range rapid.SliceOfN(rapid.Bool(), 1, 40).Draw(t, "of coin") {
			tx := soltx.Refund{UnitLimit: RefundUnits(native)}
			price, err := terms.RefundPrice(tx, market)
			if tx.UnitPrice = price; err != nil || tx.Fee().Cmp(terms.MaxFee) > 0 {
				t.Fatalf("refund %d at the price %d that those before it offered: got %d, fee %s, %v, want a fee within %s", i, market, price, tx.Fee(), err, terms.MaxFee)
			}
			market = max(market, price)
		}
	})
}
