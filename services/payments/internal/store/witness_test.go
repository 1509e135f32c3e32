//go:build integration

package store_test

import (
	"fmt"
	"testing"

	"causeway.internal/libs/wire"
)

// A transfer that another host contradicts never counts, also after its conversion. If the host confirms it later, it
// counts.
func TestDeposit_contradicted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(1)
	p := w.made(command())
	see := func(version, depth int64, answer wire.Witness) {
		t.Helper()
		m := w.message(p, coin{key: "t1", amount: "31.25", version: version, depth: depth})
		m.Witness = answer
		if err := w.app.DepositChanged(t.Context(), fmt.Sprint("witness ", version), m); err != nil {
			t.Fatal(err)
		}
	}
	see(1, 1, wire.WitnessPending)
	w.want(p, "confirming")
	see(2, enough, wire.WitnessContradicted)
	w.want(p, "pending reorged")
	see(3, enough, wire.WitnessConfirmed)
	w.want(p, "confirmed")
	see(4, enough, wire.WitnessContradicted)
	w.want(p, "pending reorged")
	if got := ask[string](w, `SELECT witness FROM deposits`); got != "contradicted" {
		t.Errorf("the row says %q", got)
	}
	w.balanced()
}
