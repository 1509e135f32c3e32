package tron

import (
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"causeway.internal/services/wallets/internal/chain"
)

// Balances are those of the newest final block, all of the same one. An endpoint that does not serve that view gives
// those of its newest block.
func TestHolds(t *testing.T) {
	t.Parallel()
	of := []chain.Account{{Address: usdt}, {Address: usdt, Contract: usdt}}
	for name, c := range map[string]struct {
		solid string
		want  []int64
		at    chain.Header
	}{
		"the final view":    {blockJSON(3), []int64{12, 9}, chain.Header{Height: 3, Hash: idOf(3, 1)}},
		"the newest blocks": {`{"Error":"not served"}`, []int64{4, 6}, chain.Header{Height: 9, Hash: idOf(9, 1)}},
	} {
		n := serving(t)
		n.Set("/walletsolidity/getnowblock", c.solid)
		n.Set("/walletsolidity/getaccount", `{"balance":7,"frozenV2":[{"amount":5}]}`)
		n.Set("/walletsolidity/triggerconstantcontract", `{"result":{"result":true},"constant_result":["`+word(9)+`"]}`)
		n.Set("/wallet/getaccount", `{"balance":4}`)
		sums, at, err := newDriver(t, n).Holds(t.Context(), of)
		got := make([]int64, len(sums))
		for i, sum := range sums {
			got[i] = sum.Int64()
		}
		if err != nil || !slices.Equal(got, c.want) || at.Height != c.at.Height || at.Hash != c.at.Hash {
			t.Errorf("read two balances of %s: got %v after block %d %s, %v, want %v after block %d %s",
				name, got, at.Height, at.Hash, err, c.want, c.at.Height, c.at.Hash)
		}
	}
}

// Accounts are asked about at once: one after the other, a slow node would never answer about all within one block.
func TestHolds_atOnce(t *testing.T) {
	t.Parallel()
	n := serving(t)
	n.Set("/walletsolidity/getaccount", `{"balance":7}`)
	answer, all, asked := n.Config.Handler, make(chan struct{}), atomic.Int64{}
	n.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/walletsolidity/getaccount" {
			if asked.Add(1) == holdsAtOnce {
				close(all)
			}
			select {
			case <-all:
			case <-r.Context().Done():
			}
		}
		answer.ServeHTTP(w, r)
	})
	of := slices.Repeat([]chain.Account{{Address: usdt}}, holdsAtOnce)
	if sums, _, err := newDriver(t, n).Holds(t.Context(), of); err != nil || len(sums) != len(of) || sums[0].Int64() != 7 {
		t.Errorf("read %d balances from a node that answers once it is asked for all: got %v, %v, want 7 for each", len(of), sums, err)
	}
}
