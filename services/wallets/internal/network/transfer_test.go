//go:build integration

package network_test

import (
	"strings"
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/fixture"
	"causeway.internal/services/wallets/internal/lookup"
)

// A named transaction is found on every chain with what it brought to an address of somebody else: final or not yet,
// and missing where no block holds it.
func TestConformance_namedTransfer(t *testing.T) {
	on(t, served, func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		l.Stop()
		node, ok := l.Driver.(lookup.Node)
		if !ok {
			t.Fatalf("the driver %T finds no transactions", l.Driver)
		}
		network := lookup.Network{Hosts: []lookup.Node{node}, FinalDepth: s.Money().FinalDepth, Coin: s.Coin}
		find := func(tx, to string) lookup.Finding {
			t.Helper()
			key, err := address.Parse(s.Money().Family, fixture.Nets()[tenant.Live], to)
			if err != nil {
				t.Fatal(err)
			}
			f, err := network.Find(t.Context(), tx, key)
			if err != nil {
				t.Fatalf("Find(%s, %s): %v", tx, to, err)
			}
			return f
		}
		want := func(tx, asset, amount string, state wire.TransferState) {
			t.Helper()
			f := find(tx, l.Foreign[0])
			if f.State != state || f.Sums[asset] == nil || f.Sums[asset].String() != amount || len(f.Sums) != 1 {
				t.Errorf("Find(%s) = %+v, want %s %s, %s", tx, f, amount, asset, state)
			}
		}
		sent := map[string]string{s.Coin: l.Transfer(map[string]any{"to": l.Foreign[0], "amount": s.Coins, "mine": 1})}
		amounts := map[string]string{s.Coin: s.Coins}
		for _, token := range s.Tokens {
			sent[token], amounts[token] = l.Transfer(map[string]any{"to": l.Foreign[0], "amount": "25000000", "token": token, "mine": 1}), "25000000"
		}
		if !s.Final {
			want(sent[s.Coin], s.Coin, s.Coins, wire.TransferNotFinal)
			l.Mine(int(s.Money().FinalDepth))
		} else {
			l.Do("/finality", map[string]any{"depth": 1})
			l.Mine(2)
		}
		for asset, tx := range sent {
			want(tx, asset, amounts[asset], wire.TransferFinal)
		}
		if f := find(sent[s.Coin], l.Addresses[0]); len(f.Sums) != 0 {
			t.Errorf("Find(%s) for an address that it did not pay = %+v, want no sum", sent[s.Coin], f)
		}
		if f := find(unsent(s, sent[s.Coin]), l.Foreign[0]); f.State != wire.TransferMissing {
			t.Errorf("Find() of a transaction that nobody sent = %+v, want it missing", f)
		}
	})
}

// unsent is a hash of the family that no transaction has.
func unsent(s fixture.Subject, like string) string {
	if s.Chain == "solana" {
		return strings.Repeat("1", 63) + "2"
	}
	return like[:len(like)-8] + strings.Repeat("0", 8)
}
