//go:build integration

package store_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/wallet"
)

// sentBy is coin that a contract sent, as a trace shows it.
func sentBy(key []byte, ordinal int, amount int64) chain.Transfer {
	return chain.Transfer{TxHash: "0xaa", Ordinal: ordinal, To: key, Asset: "ETH", Amount: big.NewInt(amount), Senders: []string{"0xsafe"}}
}

// A payment of a contract is one deposit, whatever number a node's way of counting gave it when it was stored.
func TestAgain_countedInAnotherWay(t *testing.T) {
	t.Parallel()
	const first, hint = chain.FirstInternal, chain.FirstHinted
	for name, c := range map[string]struct {
		stored, seen map[int]int64 // amounts by ordinal
		want         map[int]int64
	}{
		"a mode that lists more calls":     {map[int]int64{1_000_003: 5}, map[int]int64{first: 5}, map[int]int64{1_000_003: 5}},
		"a mode that lists fewer calls":    {map[int]int64{1_000_003: 5}, map[int]int64{1_000_002: 5}, map[int]int64{1_000_003: 5}},
		"a node that misses a payment":     {map[int]int64{first + 1: 5}, map[int]int64{first: 5}, map[int]int64{first + 1: 5}},
		"a node that misses no payment":    {map[int]int64{first: 5}, map[int]int64{first: 7, first + 1: 5}, map[int]int64{first: 5, first + 2: 7}},
		"amounts that changed places":      {map[int]int64{first: 5, first + 1: 6}, map[int]int64{first: 6, first + 1: 5}, map[int]int64{first: 5, first + 1: 6}},
		"two equal payments":               {map[int]int64{1_000_003: 5, 1_000_005: 5}, map[int]int64{first: 5, first + 1: 5}, map[int]int64{1_000_003: 5, 1_000_005: 5}},
		"one more of equal payments":       {map[int]int64{1_000_003: 5}, map[int]int64{first: 5, first + 1: 5}, map[int]int64{1_000_003: 5, first + 1: 5}},
		"an equal one beside a known one":  {map[int]int64{first: 5}, map[int]int64{first: 5, first + 1: 5}, map[int]int64{first: 5, first + 1: 5}},
		"known ones in both ways":          {map[int]int64{1_000_003: 5, first: 5}, map[int]int64{first: 5}, map[int]int64{1_000_003: 5, first: 5}},
		"another amount":                   {map[int]int64{1_000_003: 5}, map[int]int64{first: 6}, map[int]int64{1_000_003: 5, first: 6}},
		"the transaction's own value":      {map[int]int64{0: 5}, map[int]int64{0: 5, first: 5}, map[int]int64{0: 5, first: 5}},
		"amounts in another order":         {map[int]int64{1_000_002: 5, 1_000_004: 6}, map[int]int64{first: 6, first + 1: 5}, map[int]int64{1_000_002: 5, 1_000_004: 6}},
		"a transaction that a payer named": {map[int]int64{hint: 11}, map[int]int64{first: 5, first + 1: 6}, map[int]int64{hint: 11}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := open(t)
			ctx := t.Context()
			key := fund(t, s, pool)
			at := begin(t, s)
			transfers := func(amounts map[int]int64) (out []chain.Transfer) {
				for ordinal, amount := range amounts {
					out = append(out, sentBy(key, ordinal, amount))
				}
				slices.SortFunc(out, func(a, b chain.Transfer) int { return a.Ordinal - b.Ordinal })
				return out
			}
			block := header(1, "h1", "h0")
			if err := s.Advance(ctx, lease, at, scanner.Step{Headers: []chain.Header{block}, Transfers: transfers(c.stored)}); err != nil {
				t.Fatal(err)
			}
			for i, found := range []int{len(c.want) - len(c.stored), 0} { // a repetition changes nothing
				if n, err := s.Again(ctx, lease.Chain, block, transfers(c.seen)); err != nil || n != found {
					t.Errorf("look at the block again, time %d: found %d, %v, want %d", i+1, n, err, found)
				}
			}
			list, err := s.DepositsOf(ctx, "0xaa")
			if err != nil {
				t.Fatal(err)
			}
			got := map[int]int64{}
			for _, d := range list {
				got[d.Ordinal] = d.Amount.Int64()
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("look at a block again: got deposits %v, want %v", got, c.want)
			}
		})
	}
}

// A node that shows a payment to another address, which the first one left out, makes it a deposit of its own: it is
// not taken for the stored one that has its number, and that one is not credited again.
func TestAgain_leftOut(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	one := fund(t, s, pool)
	if err := s.Allocate(ctx, "", wallet.Request{ID: "other", Mode: tenant.Test, Family: money.EVM, Count: 1}, source(t, money.EVM)); err != nil {
		t.Fatal(err)
	}
	var other []byte
	if err := pool.QueryRow(ctx, `SELECT key FROM addresses WHERE key <> $1`, one).Scan(&other); err != nil {
		t.Fatal(err)
	}
	at := begin(t, s)
	block := header(1, "h1", "h0")
	const first = chain.FirstInternal
	if err := s.Advance(ctx, lease, at, scanner.Step{Headers: []chain.Header{block}, Transfers: []chain.Transfer{sentBy(one, first, 5)}}); err != nil {
		t.Fatal(err)
	}
	for i, found := range []int{1, 0} {
		if n, err := s.Again(ctx, lease.Chain, block, []chain.Transfer{sentBy(other, first, 7), sentBy(one, first+1, 5)}); err != nil || n != found {
			t.Errorf("look at the block again, time %d: found %d, %v, want %d", i+1, n, err, found)
		}
	}
	list, err := s.DepositsOf(ctx, "0xaa")
	if err != nil || len(list) != 2 {
		t.Fatalf("list the deposits: got %+v, %v, want two", list, err)
	}
	for _, d := range list {
		if want := map[int]int64{first: 5, first + 2: 7}[d.Ordinal]; d.Amount.Int64() != want {
			t.Errorf("deposit %d is %s, want %d", d.Ordinal, d.Amount, want)
		}
	}
	if list[0].Address == list[1].Address {
		t.Errorf("both deposits are to %s", list[0].Address)
	}
}

// A payment that another block holds under another number is the same deposit, found again.
func TestAdvance_countedInAnotherWay(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	key := fund(t, s, pool)
	at := begin(t, s)
	one, other := header(1, "h1", "h0"), header(1, "H1", "h0")
	if err := s.Advance(ctx, lease, at, scanner.Step{Headers: []chain.Header{one}, Transfers: []chain.Transfer{sentBy(key, 1_000_003, 5)}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Rewind(ctx, lease, scanner.Cursor{Header: one}, at.Header); err != nil {
		t.Fatal(err)
	}
	if err := s.Advance(ctx, lease, at, scanner.Step{Headers: []chain.Header{other}, Transfers: []chain.Transfer{sentBy(key, chain.FirstInternal, 5)}}); err != nil {
		t.Fatal(err)
	}
	list, err := s.DepositsOf(ctx, "0xaa")
	if err != nil || len(list) != 1 || list[0].Ordinal != 1_000_003 || list[0].BlockHash != "H1" || list[0].State == "reverted" {
		t.Errorf("find a payment in another block: got %+v, %v, want the deposit 1000003 in H1", list, err)
	}
}

// Hosts are asked for as many equal payments of contracts in a transaction as there are deposits.
func TestUnwitnessed_equal(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	key := fund(t, s, pool)
	at := begin(t, s)
	pay := []chain.Transfer{
		sentBy(key, 0, 5), sentBy(key, 1_000_003, 5), sentBy(key, chain.FirstInternal, 6), sentBy(key, chain.FirstInternal+1, 5), sentBy(key, chain.FirstInternal+2, 5),
	}
	if err := s.Advance(ctx, lease, at, scanner.Step{Headers: []chain.Header{header(1, "h1", "h0")}, Transfers: pay}); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(ctx, `UPDATE deposits SET state = 'confirmed', witness = 'pending'`); err != nil {
		t.Fatal(err)
	}
	list, err := s.Unwitnessed(ctx, lease.Chain, []wallet.Witness{wallet.WitnessPending}, 10)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]int{}
	for _, d := range list {
		got[d.Ordinal] = d.EqualBefore
	}
	if want := map[int]int{0: 0, 1_000_003: 0, chain.FirstInternal: 0, chain.FirstInternal + 1: 1, chain.FirstInternal + 2: 2}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("list deposits to ask hosts about: got %v equal before them, want %v", got, want)
	}
}
