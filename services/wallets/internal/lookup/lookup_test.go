package lookup_test

import (
	"context"
	"errors"
	"math/big"
	"testing"
	"time"

	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/lookup"
)

// host is one provider of a chain whose block 100 holds transaction "0xAA".
type host struct {
	chain.Driver
	head   chain.Head
	sends  []chain.Transfer
	fails  error
	effect *chain.Effect
}

func (h host) Locate(_ context.Context, tx string) (int64, bool, error) {
	return 100, tx == "0xaa", h.fails
}
func (h host) Head(context.Context) (chain.Head, error) { return h.head, nil }
func (h host) Fetch(context.Context, int64) (chain.Block, error) {
	return block(h.sends), nil
}

type block []chain.Transfer

func (b block) Header() chain.Header { return chain.Header{Height: 100, Time: time.Unix(1, 0)} }
func (b block) Match(_ context.Context, watched chain.Watched) (out []chain.Transfer, err error) {
	for _, t := range b {
		if watched.Has(t.To) {
			out = append(out, t)
		}
	}
	return out, nil
}

// blind is a host without traces.
type blind struct{ host }

func (b blind) Traces() bool { return false }
func (b blind) Effect(context.Context, string, []byte) (chain.Effect, error) {
	return *b.effect, nil
}

func TestFind(t *testing.T) {
	at := func(height, final int64) chain.Head {
		return chain.Head{Header: chain.Header{Height: height}, Finalized: final}
	}
	to := func(key, asset string, amount int64) chain.Transfer {
		return chain.Transfer{TxHash: "0xAA", To: []byte(key), Asset: asset, Amount: big.NewInt(amount)}
	}
	other := chain.Transfer{TxHash: "0xbb", To: []byte("payer"), Asset: "USDT", Amount: big.NewInt(9)}
	sent := []chain.Transfer{to("payer", "USDT", 5), to("payer", "USDT", 2), to("stranger", "USDT", 50), other}
	for name, c := range map[string]struct {
		tx    string
		hosts []lookup.Node
		state wire.TransferState
		usdt  int64
		eth   int64
		err   bool
	}{
		"final by the chain":       {tx: "0xaa", hosts: []lookup.Node{host{head: at(101, 100), sends: sent}}, state: wire.TransferFinal, usdt: 7},
		"final by its depth":       {tx: "0xaa", hosts: []lookup.Node{host{head: at(111, 0), sends: sent}}, state: wire.TransferFinal, usdt: 7},
		"one block short":          {tx: "0xaa", hosts: []lookup.Node{host{head: at(110, 0), sends: sent}}, state: wire.TransferNotFinal, usdt: 7},
		"in no block":              {tx: "0xcc", hosts: []lookup.Node{host{head: at(111, 0), sends: sent}}, state: wire.TransferMissing},
		"it paid somebody else":    {tx: "0xaa", hosts: []lookup.Node{host{head: at(111, 0), sends: sent[2:]}}, state: wire.TransferFinal},
		"a host fails":             {tx: "0xaa", hosts: []lookup.Node{host{head: at(111, 0), sends: sent}, host{fails: errors.New("down")}}, state: wire.TransferUnknown, err: true},
		"two hosts agree":          {tx: "0xaa", hosts: []lookup.Node{host{head: at(111, 0), sends: sent}, host{head: at(111, 0), sends: sent}}, state: wire.TransferFinal, usdt: 7},
		"the second host lags":     {tx: "0xaa", hosts: []lookup.Node{host{head: at(111, 0), sends: sent}, host{head: at(105, 0), sends: sent}}, state: wire.TransferNotFinal, usdt: 7},
		"one host invents a sum":   {tx: "0xaa", hosts: []lookup.Node{host{head: at(111, 0), sends: sent}, host{head: at(111, 0), sends: sent[1:]}}, state: wire.TransferUnknown, err: true},
		"a contract sent the coin": {tx: "0xaa", hosts: []lookup.Node{blind{host{head: at(111, 0), effect: &chain.Effect{Header: chain.Header{Height: 100}, Amount: big.NewInt(3)}}}}, state: wire.TransferFinal, eth: 3},
		"perhaps another one did":  {tx: "0xaa", hosts: []lookup.Node{blind{host{head: at(111, 0), effect: &chain.Effect{Header: chain.Header{Height: 100}, Amount: big.NewInt(3), Doubt: "two"}}}}, state: wire.TransferFinal},
	} {
		f, err := lookup.Network{Hosts: c.hosts, FinalDepth: 12, Coin: "ETH"}.Find(t.Context(), c.tx, []byte("payer"))
		if f.State != c.state || sum(f, "USDT") != c.usdt || sum(f, "ETH") != c.eth || (err != nil) != c.err {
			t.Errorf("Find() of %s = %+v, %v; want %s, %d USDT, %d ETH, an error: %t", name, f, err, c.state, c.usdt, c.eth, c.err)
		}
	}
}

func sum(f lookup.Finding, asset string) int64 {
	if f.Sums[asset] == nil {
		return 0
	}
	return f.Sums[asset].Int64()
}
