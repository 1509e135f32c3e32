//go:build integration

package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/command"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/fixture"
)

// rewound is the output of the verb.
type rewound struct {
	From, Fork, To int64
	Reverted       int
}

// typed runs the verb with an operator's arguments.
func typed(t *testing.T, environ map[string]string, args ...string) (out rewound) {
	t.Helper()
	var text bytes.Buffer
	if err := program.Run(t.Context(), command.Input{Args: args, Environ: environ, Out: &text}); err != nil {
		t.Fatalf("run wallets %v: %v", args, err)
	}
	if err := json.Unmarshal(text.Bytes(), &out); err != nil {
		t.Fatalf("read the answer %s: %v", text.Bytes(), err)
	}
	return out
}

// TestService_rewind rewinds the scan of each simulated chain, in the whole service with its worker running.
func TestService_rewind(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	_, _, ops := w.replica()
	for _, family := range money.Families() {
		w.publish(wire.AllocateAddressesV1, wire.AllocateAddresses{RequestID: string(family), Mode: tenant.Test, Family: family, Count: 20})
	}
	w.until("stocked", func() bool { return len(w.addresses) == len(money.Families()) })
	pool, err := pgxpool.New(t.Context(), w.environ["DATABASE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	chain := fixture.NewBook(pool, nil)
	hash := func() string {
		b := make([]byte, 32)
		_, _ = rand.Read(b)
		return hex.EncodeToString(b)
	}
	networks := money.Networks()
	deposit := func(run string) {
		for i, n := range networks {
			w.publish(wire.SimulateDepositV1, wire.SimulateDeposit{
				RequestID: run + n.Name, Address: w.addresses[n.Family][i], Network: n.Name, Asset: n.Assets[0].Symbol, Amount: "1500000",
			})
		}
	}
	count := func(holds func(wire.DepositChanged) bool, want int) func() bool {
		return func() bool {
			n := 0
			for _, d := range w.deposits {
				if holds(d) {
					n++
				}
			}
			return n == want
		}
	}
	isFinal := func(d wire.DepositChanged) bool { return d.Finalized }
	deposit("one ")
	w.until("confirmed on every network", count(fixture.IsConfirmed, len(networks)))
	above := map[string]int64{}
	w.mu.Lock()
	for _, d := range w.deposits {
		above[d.Network] = d.BlockHeight - 1
	}
	w.mu.Unlock()
	for _, n := range networks {
		for range 70 { // deeper than any simulated chain's final block
			if _, err := chain.SimMine(t.Context(), n.Name, hash()); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.until("final on every network", count(isFinal, len(networks)))
	for _, n := range networks {
		if err := chain.SimFork(t.Context(), n.Name, above[n.Name], true, hash); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range networks {
		w.until(n.Name+" to halt", func() bool { return metric(ops, fmt.Sprintf(`wallets_scan_halted{mode="test",network=%q} 1`, n.Name)) })
		got := typed(t, w.environ, "rewind", "--network", n.Name, "--mode", "test", "--reason", "drill")
		if got.Fork != above[n.Name] || got.Reverted != 1 {
			t.Errorf("%s: %+v, the fork is above %d", n.Name, got, above[n.Name])
		}
	}
	w.until("reverted on every network", count(fixture.IsReverted, len(networks)))
	deposit("two ")
	w.until("found on the right chain", count(fixture.IsConfirmed, len(networks)))
	for _, args := range [][]string{
		{"rewind"}, {"rewind", "--network", "tron"}, {"rewind", "--network", "tron", "--reason", " "}, {"rewind", "--network", "tron", "--mode", "x", "--reason", "y"},
	} {
		if err := program.Run(t.Context(), command.Input{Args: args, Environ: w.environ, Out: io.Discard}); !errors.Is(err, command.ErrUsage) {
			t.Errorf("run wallets %v: got %v, want the usage", args, err)
		}
	}
}

// metric reports whether the service shows a line.
func metric(ops, line string) bool {
	res, err := http.Get(ops + "/metrics")
	if err != nil {
		return false
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return err == nil && strings.Contains(string(text), line)
}
