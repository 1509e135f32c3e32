package sweeper

import (
	"testing"

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
