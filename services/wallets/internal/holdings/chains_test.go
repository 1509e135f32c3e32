package holdings_test

import (
	"context"
	"testing"

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
