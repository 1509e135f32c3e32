package wallet_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	. "causeway.internal/services/wallets/internal/wallet"
)

// In any order of states, the balance holds amount and charge until the withdrawal fails, the charge is earned once it
// arrives, and nothing waits at an end. A step that repeats books nothing.
func TestWithdrawal_Book(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Withdrawal{
			Amount: big.NewInt(rapid.Int64Range(1, 1000).Draw(t, "amount")), Charge: big.NewInt(rapid.Int64Range(0, 50).Draw(t, "charge")),
			Held: new(big.Int), Earned: new(big.Int), Waiting: new(big.Int),
		}
		station := new(big.Int)
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			w.Ended = rapid.Bool().Draw(t, "ended")
			w.Failed = !w.Ended && rapid.Bool().Draw(t, "failed")
			sum := new(big.Int)
			for _, e := range w.Book() {
				net := new(big.Int).Sub(e.Credit, e.Debit)
				sum.Add(sum, net)
				switch e.Account {
				case AccountMerchant:
					w.Held.Sub(w.Held, net)
				case AccountWithdrawalFees:
					w.Earned.Add(w.Earned, net)
				case AccountWithdrawals:
					w.Waiting.Add(w.Waiting, net)
				case AccountStation:
					station.Add(station, net)
				case AccountCustody:
					t.Fatalf("book a withdrawal: got an entry of %s, want none", e.Account)
				}
			}
			all := new(big.Int).Add(w.Amount, w.Charge)
			hold, earn, wait, paid := all, new(big.Int), all, new(big.Int)
			switch {
			case w.Failed:
				hold, wait = new(big.Int), new(big.Int)
			case w.Ended:
				earn, wait, paid = w.Charge, new(big.Int), w.Amount
			}
			if sum.Sign() != 0 || w.Held.Cmp(hold) != 0 || w.Earned.Cmp(earn) != 0 || w.Waiting.Cmp(wait) != 0 || station.Cmp(paid) != 0 {
				t.Fatalf("book %+v: got held %s, earned %s, waiting %s, paid %s, sum %s, want %s, %s, %s, %s, 0",
					w, w.Held, w.Earned, w.Waiting, station, sum, hold, earn, wait, paid)
			}
			if again := w.Book(); len(again) != 0 {
				t.Fatalf("book the same state again: got %v, want nothing", again)
			}
		}
	})
}
