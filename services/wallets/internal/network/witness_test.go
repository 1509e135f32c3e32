//go:build integration

package network_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/fixture"
	"causeway.internal/services/wallets/internal/scanner"
)

// hear asks the hosts of the chain about its deposits, as the service does, until the test ends.
func hear(l *fixture.Chain) *prometheus.Registry {
	l.T.Helper()
	live, network := l.Settings.Live()
	hosts, err := live.Hosts(network, l.Log, l.Endpoints)
	if err != nil {
		l.T.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	hearing := scanner.Hearing{Chain: l.Config.Chain, Hosts: hosts, Store: l.Book, Log: l.Log, Metrics: scanner.NewMetrics(registry)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.T.Context()))
	done := make(chan struct{})
	go func() { defer close(done); _ = hearing.Run(ctx) }()
	l.T.Cleanup(func() { cancel(); <-done })
	return registry
}

func witnessed(w wire.Witness) func(wire.DepositChanged) bool {
	return func(d wire.DepositChanged) bool { return d.State == wire.Confirmed && d.Witness == w }
}

// On every chain a deposit is published as confirmed by two hosts when both have it, and as alone when there is one
// host.
func TestConformance_witness(t *testing.T) {
	on(t, served, func(t *testing.T, s fixture.Subject) {
		n := s.Start(t)
		l := fixture.NewChain(t, s, n, otherHost(n.RPC))
		registry := hear(l)
		tx := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": s.Coins, "token": false, "mine": s.Depth})
		l.One(tx, "witnessed by two", witnessed(wire.WitnessConfirmed))
		if gathered(t, registry, "wallets_rpc_hosts") != 2 {
			t.Error("two hosts are not counted as two")
		}
		alone := fixture.NewChain(t, s, n)
		registry = hear(alone)
		tx = alone.Transfer(map[string]any{"to": alone.Addresses[0], "amount": s.Coins, "token": false, "mine": s.Depth})
		alone.One(tx, "shown by one host", witnessed(wire.WitnessAlone))
		if gathered(t, registry, "wallets_rpc_hosts") != 1 {
			t.Error("one host is not counted as one")
		}
	})
}

// otherHost is the same node under another host name, which identifies a provider.
func otherHost(url string) string { return strings.Replace(url, "127.0.0.1", "localhost", 1) }

// An endpoint of an EVM chain invents 30 000 USDT and some coin: it reports payments to foreign addresses as payments
// to deposit addresses. The other host contradicts the coin; the tokens are not even credited, because two endpoints
// list the logs.
func TestConformance_lyingEndpoint(t *testing.T) {
	on(t, func(s fixture.Subject) bool { return s.Chain == "evm" }, func(t *testing.T, s fixture.Subject) {
		n := s.Start(t)
		liar, honest := newSpoiler(t, n.RPC), otherHost(n.RPC)
		n.RPC = liar.url
		l := fixture.NewChain(t, s, n, honest)
		registry := hear(l)
		real := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": "30000000000", "token": "USDT", "mine": s.Depth})
		l.One(real, "witnessed", witnessed(wire.WitnessConfirmed))

		foreign, issued := strings.ToLower(l.Foreign[0][2:]), strings.ToLower(l.Addresses[1][2:])
		lie := func(body []byte) []byte { return bytes.ReplaceAll(body, []byte(foreign), []byte(issued)) }
		liar.spoil.Store(&lie)
		coin := l.Transfer(map[string]any{"to": l.Foreign[0], "amount": s.Coins, "token": false, "mine": s.Depth})
		l.One(coin, "contradicted", witnessed(wire.WitnessContradicted))
		fixture.Await(t, "the contradiction to be counted", func() bool { return gathered(t, registry, "wallets_contradicted_deposits") == 1 })

		tokens := l.Transfer(map[string]any{"to": l.Foreign[0], "amount": "30000000000", "token": "USDT", "mine": s.Depth})
		fixture.Await(t, "the endpoints to contradict each other", func() bool {
			return gathered(t, l.Registry, "wallets_rpc_answers_total", "outcome", "contradicted") > 0
		})
		liar.spoil.Store(nil)
		l.CaughtUp()
		if list := l.Of(tokens); len(list) > 0 {
			t.Errorf("invented tokens were credited: %+v", list)
		}
	})
}
