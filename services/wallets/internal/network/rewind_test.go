//go:build integration

package network_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/command"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/fixture"
	"causeway.internal/services/wallets/internal/network"
	"causeway.internal/services/wallets/internal/operator"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/wallet"
)

// rewound is the output of the operator's verb.
type rewound struct {
	From, Fork, To int64
	Reverted       int
}

// rewind runs the operator's verb beside the scan.
func rewind(l *fixture.Chain, args ...string) rewound {
	l.T.Helper()
	out, err := tryRewind(l, args...)
	if err != nil {
		l.T.Fatalf("rewind %v: %v", args, err)
	}
	return out
}

func tryRewind(l *fixture.Chain, args ...string) (out rewound, err error) {
	l.T.Helper()
	book := fixture.NewBook(l.Pool, nil)
	chains, err := network.Open(network.Options{
		Networks: l.Settings.Networks(), Bitcoin: l.Settings.Net, Depths: wallet.DefaultDepths(), Book: book, Telemetry: telemetrytest.ForTest(l.T),
		Metrics: scanner.NewMetrics(prometheus.NewRegistry()),
	})
	if err != nil {
		return out, err
	}
	reader := func(of scanner.Chain) (scanner.Reader, error) {
		found, ok := chains.Reader(of)
		if !ok {
			return found, fmt.Errorf("%v has no endpoints", of)
		}
		return found, nil
	}
	run := func(ctx context.Context, in command.Input) error {
		do, err := operator.Rewind(in)
		if err != nil {
			return err
		}
		return do(ctx, operator.Parts{Store: book, Reader: reader, Log: l.Log})
	}
	var text bytes.Buffer
	verb := command.Program{Name: "wallets", Verbs: []command.Verb{{Name: "rewind", Args: "--network NETWORK --reason TEXT", Run: run}}}
	if err := verb.Run(l.T.Context(), command.Input{Args: append([]string{"rewind"}, args...), Out: &text}); err != nil {
		return out, err
	}
	return out, json.Unmarshal(text.Bytes(), &out)
}

// work runs the scan by leases, as the service does, until the test ends.
func work(l *fixture.Chain) {
	l.T.Helper()
	job := scanner.Job{Chain: l.Config.Chain, Run: func(ctx context.Context, epoch int64) error {
		watch := scanner.NewWatch(tenant.Live, l.Config.Family, l.Book)
		return scanner.New(l.Config, l.Driver, l.Book, watch, l.Log, l.Metrics).Run(ctx, epoch)
	}}
	if _, err := l.Pool.Exec(l.T.Context(), `UPDATE cursors SET epoch = 0`); err != nil { // leases count from one
		l.T.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.T.Context()))
	done := make(chan struct{})
	worker := scanner.NewWorker(l.Book, "worker", []scanner.Job{job}, l.Log, l.Metrics)
	go func() { defer close(done); _ = worker.Run(ctx) }()
	l.Stop = func() { cancel(); <-done }
}

// One verb rewinds a halted scan to the fork and scans forward on the right chain while the worker runs. Deposits of
// removed blocks are reverted, those that were mined again exist once, later ones are found, and a deposit below the
// fork does not change.
func TestConformance_rewind(t *testing.T) {
	on(t, broadly(servedForks), func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		l.CaughtUp()
		l.Stop()
		l.Config.FinalDepth = 5
		registry := prometheus.NewRegistry()
		l.Metrics = scanner.NewMetrics(registry)
		work(l)
		below := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": s.Coins, "token": false, "mine": 3})
		gone := l.Transfer(map[string]any{"to": l.Addresses[1], "amount": s.Coins, "token": false, "mine": 1})
		again := l.Transfer(map[string]any{"to": l.Addresses[2], "amount": s.Coins, "token": false, "mine": 7})
		for _, tx := range []string{below, gone, again} {
			l.One(tx, "final", func(d wire.DepositChanged) bool { return d.Finalized })
		}
		l.CaughtUp()
		before, stays := l.Scanned(), l.Last
		l.Do("/reorg", map[string]any{"depth": 8, "blocks": 12, "include": again, "includeAfter": 2})
		fixture.Await(t, "the scan to halt", func() bool { return gathered(t, registry, "wallets_scan_halted") == 1 })
		unmoved := stays[l.One(below, "there", fixture.IsConfirmed).Key]

		got := rewind(l, "--network", s.Network, "--reason", "provider was on a fork")
		fork := before - 8
		if s.Chain == "solana" { // every tenth slot of solana is empty
			fork = max(unmoved.BlockHeight, min(got.Fork, fork))
		}
		if got.From != before || got.Fork != fork || got.To != fork || got.Reverted != 2 {
			t.Errorf("%+v from %d", got, before)
		}
		l.One(gone, "reverted", fixture.IsReverted)
		back := l.One(again, "mined again", func(d wire.DepositChanged) bool { return d.Finalized })
		if now := l.One(below, "there", fixture.IsConfirmed); now.Version != unmoved.Version {
			t.Errorf("a deposit below the fork has a new version: %+v", now)
		}
		later := l.Transfer(map[string]any{"to": l.Addresses[3], "amount": s.Coins, "token": false, "mine": s.Depth + 5})
		l.One(later, "final", func(d wire.DepositChanged) bool { return d.Finalized })
		l.CaughtUp()
		if gathered(t, registry, "wallets_scan_halted") != 0 || len(l.Last) != 4 {
			t.Errorf("halted still, or %d deposits", len(l.Last))
		}

		// Repeated, the verb finds nothing to do; with a height it reads blocks again and changes nothing.
		if got := rewind(l, "--network", s.Network, "--reason", "once more"); got.Reverted != 0 || got.Fork != got.From {
			t.Errorf("typed again: %+v", got)
		}
		if got := rewind(l, "--network", s.Network, "--to", fmt.Sprint(before-9), "--reason", "to be sure"); got.Reverted != 0 || got.To != before-9 {
			t.Errorf("with a height: %+v", got)
		}
		l.CaughtUp()
		if now := l.One(again, "as it was", fixture.IsConfirmed); now.Version != back.Version || len(l.Last) != 4 {
			t.Errorf("looking again changed %+v", now)
		}
		var acts int
		if err := l.Pool.QueryRow(t.Context(), `SELECT count(*) FROM audit WHERE action = 'rewind' AND operator LIKE 'cli:%' AND detail->>'reason' <> ''`).Scan(&acts); err != nil || acts != 2 {
			t.Errorf("%d acts in the audit: %v", acts, err)
		}
	})
}
