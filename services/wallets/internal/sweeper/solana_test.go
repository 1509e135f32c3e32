package sweeper

import (
	"context"
	"testing"

	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
	"causeway.internal/services/wallets/internal/sweep"
)

// One transaction has one asset and one treasury: after a change of the treasury a batch mixes no destinations.
func TestAlike(t *testing.T) {
	ready := []sweep.Sweep{
		{ID: "a", Asset: "USDC", Contract: "mint", Treasury: "earlier"},
		{ID: "b", Asset: "USDC", Contract: "mint", Treasury: "present"},
		{ID: "c", Asset: "USDC", Contract: "another mint", Treasury: "earlier"},
		{ID: "d", Asset: "SOL", Treasury: "earlier"},
	}
	for range soltx.Most(false) {
		ready = append(ready, sweep.Sweep{ID: "e", Asset: "USDC", Contract: "mint", Treasury: "earlier"})
	}
	batch, rest := alike(ready)
	if len(batch) != soltx.Most(false) || len(batch)+len(rest) != len(ready) {
		t.Fatalf("part %d sweeps: got %d and %d, want %d in the batch", len(ready), len(batch), len(rest), soltx.Most(false))
	}
	for _, w := range batch {
		if w.Treasury != "earlier" || w.Contract != "mint" {
			t.Errorf("sweep %s to %s of %s is beside the first one", w.ID, w.Treasury, w.Contract)
		}
	}
}

// node answers trials with these faults, and then with none.
type node struct {
	Solana
	faults []*sweep.Fault
}

func (n *node) Try(context.Context, []byte) (fault *sweep.Fault, err error) {
	if len(n.faults) > 0 {
		fault, n.faults = n.faults[0], n.faults[1:]
	}
	return fault, nil
}

// A payment that comes between the reading of a balance and the trial blocks no sweep: its token account stays open.
func TestTried_paymentAfterTheBalance(t *testing.T) {
	account := func(n byte) string { return soltx.Account{n}.String() }
	d := draft{sweeps: make([]sweep.Sweep, 2), request: intent.Request{
		Kind: intent.Sweep, Network: "solana", Asset: "USDC", To: account(1),
		Solana: &intent.Solana{
			Station: account(2), NonceAt: account(3), Nonce: account(4), Mint: account(5), Decimals: 6,
			Moves: []intent.SolanaMove{{Owner: account(6), Amount: "1", Close: true}, {Owner: account(7), Amount: "2", Close: true}},
		},
	}}
	d.sum()
	// The nonce and two terms come first; each move has a call that transfers and one that closes.
	n := &node{faults: []*sweep.Fault{{Call: 6, Account: -1, Text: `{"InstructionError":[6,{"Custom":11}]}`}}}
	err := solana{chain: n}.tried(t.Context(), &d)
	if moves := d.request.Solana.Moves; err != nil || len(d.sweeps) != 2 || !moves[0].Close || moves[1].Close {
		t.Errorf("try two sweeps: got %v, %d sweeps, moves %+v, want both, the second account open", err, len(d.sweeps), moves)
	}
}

// After the signer refused a batch, its sweeps enter smaller ones.
func TestAlike_afterRefusal(t *testing.T) {
	ready := make([]sweep.Sweep, 5)
	for i := range ready {
		ready[i] = sweep.Sweep{Asset: "USDC", Contract: "mint", Together: 3}
	}
	ready[4].Together = 1
	for _, want := range []int{3, 1, 1} {
		var batch []sweep.Sweep
		if batch, ready = alike(ready); len(batch) != want {
			t.Fatalf("part the sweeps of a refused batch: got %d together, want %d", len(batch), want)
		}
	}
}
