package wallet

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"causeway.internal/libs/tenant"
	"pgregory.net/rapid"
)

// Every status has an outcome for every trigger, and the moves are those of docs/api-contract.md#wallets and no others.
func TestLife_isTotal(t *testing.T) {
	moves := map[string]bool{}
	for _, from := range Statuses() {
		for _, on := range Triggers() {
			next, ok := life[from][on]
			if !ok {
				t.Errorf("no outcome for %s when %s", from, on)
			}
			if next != from {
				moves[string(from)+" > "+string(next)] = true
			}
		}
		if len(life[from]) != len(Triggers()) {
			t.Errorf("%s has a trigger that is not listed", from)
		}
	}
	want := map[string]bool{
		"watching > deposit_detected": true, "watching > expired": true, "deposit_detected > confirmed": true, "confirmed > swept": true,
		// a further deposit
		"confirmed > deposit_detected": true, "swept > deposit_detected": true, "expired > deposit_detected": true,
		// what a reorganisation took away
		"deposit_detected > watching": true, "confirmed > watching": true,
	}
	if fmt.Sprint(moves) != fmt.Sprint(want) {
		t.Errorf("moves %v, want %v", moves, want)
	}
}

func fresh() Wallet {
	return Wallet{ID: "w", Mode: tenant.Test, Network: "ethereum", Crypto: "USDT"}.Born()
}

func transfer(tx string, units, height int64) Deposit {
	return Deposit{
		Sighting: Sighting{ID: ID{TxHash: tx}, WalletID: "w", Asset: "USDT", Amount: big.NewInt(units), BlockHeight: height},
		Mode:     tenant.Test, Network: "ethereum", State: Seen, DueHeight: height + 11, Version: 1,
	}
}

func deep(d Deposit) Deposit { d.State, d.DueHeight = Confirmed, 0; return d }
func gone(d Deposit) Deposit { d.State, d.DueHeight = Reverted, 0; return d }

func told(list []Wallet) string {
	var out []string
	for _, w := range list {
		out = append(out, fmt.Sprintf("%d %s %s", w.Sequence, w.Status, w.Amount))
	}
	return strings.Join(out, ", ")
}

func TestTake(t *testing.T) {
	one, two := transfer("a", 5, 10), transfer("b", 7, 12)
	other, elsewhere := one, one
	other.Asset, elsewhere.Network = "USDC", "base"
	tiered := one
	tiered.State = Confirmed // at the first depth of two
	waits := Wait(tenant.Test, ethereum, one.Sighting, 20, one.FirstSeenAt)
	waits.BlockHeight = 0
	for name, steps := range map[string][]struct {
		all  []Deposit
		over bool
		want string
	}{
		"one deposit":                {{all: []Deposit{one}, want: "2 deposit_detected 5"}, {all: []Deposit{deep(one)}, want: "3 confirmed 5"}},
		"deep at first sight":        {{all: []Deposit{deep(one)}, want: "2 deposit_detected 5, 3 confirmed 5"}},
		"the first of two depths":    {{all: []Deposit{tiered}, want: "2 deposit_detected 5"}, {all: []Deposit{tiered}}},
		"two wait for the later":     {{all: []Deposit{one, two}, want: "2 deposit_detected 12"}, {all: []Deposit{deep(one), two}}, {all: []Deposit{deep(one), deep(two)}, want: "3 confirmed 12"}},
		"a second after the first":   {{all: []Deposit{deep(one)}, want: "2 deposit_detected 5, 3 confirmed 5"}, {all: []Deposit{deep(one), two}, want: "4 deposit_detected 12"}, {all: []Deposit{deep(one), deep(two)}, want: "5 confirmed 12"}},
		"reverted before deep":       {{all: []Deposit{one}, want: "2 deposit_detected 5"}, {all: []Deposit{gone(one)}, want: "3 watching 0"}, {over: true, want: "4 expired 0"}},
		"reverted after confirmed":   {{all: []Deposit{deep(one)}, want: "2 deposit_detected 5, 3 confirmed 5"}, {all: []Deposit{gone(one)}, want: "4 watching 0"}, {all: []Deposit{one}, want: "5 deposit_detected 5"}},
		"one of two reverted":        {{all: []Deposit{deep(one), deep(two)}, want: "2 deposit_detected 12, 3 confirmed 12"}, {all: []Deposit{deep(one), gone(two)}, want: "4 deposit_detected 5, 5 confirmed 5"}},
		"nothing":                    {{over: true, want: "2 expired 0"}, {over: true}},
		"late money":                 {{over: true, want: "2 expired 0"}, {all: []Deposit{one}, want: "3 deposit_detected 5"}, {all: []Deposit{deep(one)}, want: "4 confirmed 5"}, {over: true}},
		"over while waiting":         {{all: []Deposit{one}, want: "2 deposit_detected 5"}, {over: true}, {all: []Deposit{deep(one)}, want: "3 confirmed 5"}},
		"another asset":              {{all: []Deposit{deep(other)}}, {over: true, want: "2 expired 0"}},
		"another network":            {{all: []Deposit{deep(elsewhere)}}},
		"another asset beside money": {{all: []Deposit{deep(other), deep(one)}, want: "2 deposit_detected 5, 3 confirmed 5"}},
		"seen in the mempool, mined": {{all: []Deposit{waits}, want: "2 deposit_detected 5"}, {all: []Deposit{one}}, {all: []Deposit{deep(one)}, want: "3 confirmed 5"}},
		"dropped from the mempool":   {{all: []Deposit{waits}, want: "2 deposit_detected 5"}, {all: []Deposit{gone(waits)}, want: "3 watching 0"}, {over: true, want: "4 expired 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := fresh()
			for i, s := range steps {
				var entered []Wallet
				if s.over {
					w, entered = w.Close()
				} else {
					w, entered = w.Take(s.all, 20)
				}
				if got := told(entered); got != s.want {
					t.Errorf("step %d announced %q, want %q", i, got, s.want)
				}
			}
		})
	}
	w, _ := fresh().Take([]Deposit{one, two}, 20)
	if w.Confirmations() != 9 || fresh().Confirmations() != 0 {
		t.Errorf("%d confirmations", w.Confirmations())
	}
	w, _ = fresh().Take([]Deposit{deep(one)}, 20)
	w, entered := w.enter(nil, OnSwept)
	if told(entered) != "4 swept 5" {
		t.Errorf("sweep a wallet: got %s, want 4 swept 5", told(entered))
	}
	if _, entered = w.Take([]Deposit{deep(one), two}, 20); told(entered) != "5 deposit_detected 12" {
		t.Errorf("pay a swept wallet: got %s, want 5 deposit_detected 12", told(entered))
	}
}

// For any events in any order: sequences have no gap, the amount is the sum on the chain, repeating an event changes
// nothing, and the ledger holds the deep deposits.
func TestTake_anyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, sequence := fresh(), int64(1)
		list := []Deposit{transfer("a", 5, 10), transfer("b", 7, 11), transfer("c", 1, 12)}
		present := map[string]Deposit{}
		booked, journals := map[string]*big.Int{}, map[string]int64{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			d := rapid.SampledFrom(list).Draw(t, "deposit")
			change := rapid.SampledFrom([]func(Deposit) Deposit{func(d Deposit) Deposit { return d }, deep, gone}).Draw(t, "change")
			present[d.TxHash] = change(d)
			var all []Deposit
			sum, want := new(big.Int), new(big.Int)
			for _, p := range present {
				all = append(all, p)
				if p.State != Reverted {
					sum.Add(sum, p.Amount)
				}
			}
			next, entered := w.Take(all, 20)
			for _, e := range entered {
				if sequence++; e.Sequence != sequence {
					t.Fatalf("sequence %d after %d", e.Sequence, sequence-1)
				}
			}
			if next.Amount.Cmp(sum) != 0 || next.Sequence != sequence {
				t.Fatalf("take deposits in any order: got %+v, want the sum %s and the sequence %d", next, sum, sequence)
			}
			if w = next; len(all) > 0 {
				if _, again := w.Take(all, 20); len(again) > 0 {
					t.Fatalf("announced again: %s", told(again))
				}
			}
			p := present[d.TxHash]
			if booked[p.TxHash] == nil {
				booked[p.TxHash] = new(big.Int)
			}
			if j, ok := Book(p, booked[p.TxHash], journals[p.TxHash]); ok {
				debit, credit := new(big.Int), new(big.Int)
				for _, e := range j.Entries {
					debit.Add(debit, e.Debit)
					credit.Add(credit, e.Credit)
					if e.Account == AccountCustody {
						booked[p.TxHash].Add(booked[p.TxHash], e.Debit).Sub(booked[p.TxHash], e.Credit)
					}
				}
				if debit.Cmp(credit) != 0 || debit.Sign() <= 0 {
					t.Fatalf("%+v does not balance", j)
				}
				journals[p.TxHash]++
			}
			if p.Deep() {
				want.Set(p.Amount)
			}
			if p.State != Seen && booked[p.TxHash].Cmp(want) != 0 {
				t.Fatalf("%s is booked, want %s", booked[p.TxHash], want)
			}
		}
	})
}
