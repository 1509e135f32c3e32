package holdings_test

import (
	"context"
	"fmt"
	"math/big"
	"sync/atomic"
	"testing"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/holdings"
	"causeway.internal/services/wallets/internal/sweep"
)

// answers are what a node of solana says about every account.
type answers sweep.SolanaAccount

// Accounts implements holdings.Solana.
func (a answers) Accounts(_ context.Context, of []string, _ bool) ([]sweep.SolanaAccount, int64, error) {
	out := make([]sweep.SolanaAccount, len(of))
	for i := range out {
		out[i] = sweep.SolanaAccount(a)
	}
	return out, 7, nil
}

// Anybody can send coins to the address of a token account that does not exist: it has no tokens. An account that
// cannot be read is at fault alone.
func TestOfSolana_strange(t *testing.T) {
	t.Parallel()
	const system, token = "11111111111111111111111111111111", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
	of := []holdings.Account{{Place: holdings.Treasury, Address: token, Asset: "USDC", Contract: token}, {Place: holdings.Treasury, Address: token, Asset: "SOL"}}
	for name, c := range map[string]struct {
		node   answers
		faulty bool
	}{
		"none":                     {node: answers{}},
		"coins alone":              {node: answers{Coins: 900_000, Program: system}},
		"data of the system":       {node: answers{Coins: 900_000, Program: system, Data: make([]byte, 80)}, faulty: true},
		"data that are no account": {node: answers{Coins: 900_000, Program: token, Data: make([]byte, 80)}, faulty: true},
	} {
		got, err := holdings.OfSolana(c.node).Balances(t.Context(), of, 0)
		if err != nil || len(got) != 2 {
			t.Errorf("read an account with %s: got %d balances, %v, want two", name, len(got), err)
			continue
		}
		if at := got[0]; (at.Fault != nil) != c.faulty || !c.faulty && at.Amount.Sign() != 0 {
			t.Errorf("read the tokens of an account with %s: got %v, %v, want none, and a fault: %t", name, at.Amount, at.Fault, c.faulty)
		}
		if at := got[1]; at.Fault != nil || at.Amount.Uint64() != c.node.Coins {
			t.Errorf("read the coins of an account with %s: got %v, %v, want %d", name, at.Amount, at.Fault, c.node.Coins)
		}
	}
}

// growing is a tron whose newest final block is another one at each question.
type growing struct{ height atomic.Int64 }

// Holds implements holdings.Tron.
func (g *growing) Holds(_ context.Context, of []chain.Account) ([]*big.Int, chain.Header, error) {
	height, sums := g.height.Add(1), make([]*big.Int, len(of))
	for i := range of {
		sums[i] = big.NewInt(height)
	}
	return sums, chain.Header{Height: height, Hash: fmt.Sprint("h", height)}, nil
}

// The treasury and the stations of tron are read of one block, which each balance names, however fast blocks come.
func TestOfTron_oneBlock(t *testing.T) {
	t.Parallel()
	var of []holdings.Account
	for _, place := range []holdings.Place{holdings.Treasury, holdings.GasStation, holdings.RefundStation} {
		of = append(of, holdings.Account{Place: place, Asset: "TRX"}, holdings.Account{Place: place, Asset: "USDT", Contract: "T"})
	}
	for range 25 {
		of = append(of, holdings.Account{Place: holdings.Deposits, Asset: "USDT", Contract: "T"})
	}
	got, err := holdings.OfTron(new(growing)).Balances(t.Context(), of, 0)
	if err != nil || len(got) != len(of) {
		t.Fatalf("read %d accounts: got %d balances, %v", len(of), len(got), err)
	}
	blocks := map[string]bool{}
	for _, b := range got {
		if b.Place != holdings.Deposits {
			blocks[b.Block] = true
		}
		if b.Block != fmt.Sprint("h", b.Height) || b.Amount.Int64() != b.Height {
			t.Errorf("read a balance at the %s: got %v of block %d %q, want one of the block that it names", b.Place, b.Amount, b.Height, b.Block)
		}
	}
	if at := (holdings.Reading{Balances: got}).Settled(); len(blocks) != 1 || !blocks[fmt.Sprint("h", at)] {
		t.Errorf("read the treasury and the stations: got the blocks %v, settled at %d, want one block", blocks, at)
	}
}
