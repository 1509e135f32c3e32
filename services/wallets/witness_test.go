//go:build integration

package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/scanner"
)

// hear asks the hosts of the chain about its deposits, as the service does, until the test ends.
func (l *liveChain) hear() *prometheus.Registry {
	l.t.Helper()
	live, network := l.settings.live()
	hosts, err := live.Hosts(network, l.log, l.endpoints)
	if err != nil {
		l.t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	hearing := scanner.Hearing{Chain: l.cfg.Chain, Hosts: hosts, Store: l.book, Log: l.log, Metrics: scanner.NewMetrics(registry)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); _ = hearing.Run(ctx) }()
	l.t.Cleanup(func() { cancel(); <-done })
	return registry
}

func witnessed(w wire.Witness) func(wire.DepositChanged) bool {
	return func(d wire.DepositChanged) bool { return d.State == wire.Confirmed && d.Witness == w }
}

// On every chain a deposit is published as confirmed by two hosts when both have it, and as alone when there is one
// host.
func TestConformance_witness(t *testing.T) {
	on(t, served, func(t *testing.T, s subject) {
		n := s.start(t)
		l := newLiveChain(t, s, n, otherHost(n.RPC))
		registry := l.hear()
		tx := l.transfer(map[string]any{"to": l.addresses[0], "amount": s.coins, "token": false, "mine": s.depth})
		l.one(tx, "witnessed by two", witnessed(wire.WitnessConfirmed))
		if gathered(t, registry, "wallets_rpc_hosts") != 2 {
			t.Error("two hosts are not counted as two")
		}
		alone := newLiveChain(t, s, n)
		registry = alone.hear()
		tx = alone.transfer(map[string]any{"to": alone.addresses[0], "amount": s.coins, "token": false, "mine": s.depth})
		alone.one(tx, "told by one host", witnessed(wire.WitnessAlone))
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
	on(t, func(s subject) bool { return s.chain == "evm" }, func(t *testing.T, s subject) {
		n := s.start(t)
		liar, honest := newSpoiler(t, n.RPC), otherHost(n.RPC)
		n.RPC = liar.url
		l := newLiveChain(t, s, n, honest)
		registry := l.hear()
		real := l.transfer(map[string]any{"to": l.addresses[0], "amount": "30000000000", "token": "USDT", "mine": s.depth})
		l.one(real, "witnessed", witnessed(wire.WitnessConfirmed))

		theirs, ours := strings.ToLower(l.foreign[0][2:]), strings.ToLower(l.addresses[1][2:])
		lie := func(body []byte) []byte { return bytes.ReplaceAll(body, []byte(theirs), []byte(ours)) }
		liar.spoil.Store(&lie)
		coin := l.transfer(map[string]any{"to": l.foreign[0], "amount": s.coins, "token": false, "mine": s.depth})
		l.one(coin, "contradicted", witnessed(wire.WitnessContradicted))
		await(t, "the contradiction to be counted", func() bool { return gathered(t, registry, "wallets_contradicted_deposits") == 1 })

		tokens := l.transfer(map[string]any{"to": l.foreign[0], "amount": "30000000000", "token": "USDT", "mine": s.depth})
		await(t, "the endpoints to contradict each other", func() bool {
			return gathered(t, l.registry, "wallets_rpc_answers_total", "outcome", "contradicted") > 0
		})
		liar.spoil.Store(nil)
		l.caughtUp()
		if list := l.of(tokens); len(list) > 0 {
			t.Errorf("invented tokens were credited: %+v", list)
		}
	})
}
