// Package lookup finds which amounts one transaction brought to an address that need not be of this system: the proof
// of a refund that an operator sent from elsewhere. It keeps nothing. The transaction's block is read and matched as
// the scan does it, so whatever the scan credits, a lookup finds.
package lookup

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math/big"
	"strings"
	"time"

	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/chain"
)

// Node is a driver that finds the block of a transaction.
type Node interface {
	chain.Driver
	// Locate is the height of the block that holds a transaction; false where the node knows no such block.
	Locate(ctx context.Context, tx string) (height int64, found bool, err error)
}

// Network is a chain as several hosts show it.
type Network struct {
	Hosts      []Node // each asks one host; all must give the same answer
	FinalDepth int64  // depth that counts as final where a node reports no finality
	Coin       string // symbol of the network's own coin
}

// Finding is the answer about a transaction. Sums are by the symbol of the asset, and empty where the transaction
// brought nothing or failed.
type Finding struct {
	State  wire.TransferState
	Sums   map[string]*big.Int
	Height int64
	Time   time.Time
}

// ErrDiffer means that two hosts give different answers.
var ErrDiffer = errors.New("two hosts differ about the transaction")

// Find asks every host. With an error the state is unknown.
func (n Network) Find(ctx context.Context, tx string, key []byte) (Finding, error) {
	var first Finding
	for i, host := range n.Hosts {
		f, err := n.find(ctx, host, tx, key)
		if err != nil {
			return Finding{State: wire.TransferUnknown}, err
		}
		if i == 0 {
			first = f
			continue
		}
		if f.Height != first.Height || !maps.EqualFunc(f.Sums, first.Sums, func(a, b *big.Int) bool { return a.Cmp(b) == 0 }) {
			return Finding{State: wire.TransferUnknown}, ErrDiffer
		}
		if f.State != wire.TransferFinal { // a host that lags does not call the block final yet
			first.State = f.State
		}
	}
	return first, nil
}

func (n Network) find(ctx context.Context, host Node, tx string, key []byte) (f Finding, err error) {
	height, found, err := host.Locate(ctx, tx)
	if err != nil {
		return f, err
	}
	if !found {
		return Finding{State: wire.TransferMissing}, nil
	}
	block, err := host.Fetch(ctx, height)
	if err != nil {
		return f, err
	}
	transfers, err := block.Match(ctx, only(key))
	if err != nil {
		return f, err
	}
	f = Finding{State: wire.TransferNotFinal, Sums: map[string]*big.Int{}, Height: height, Time: block.Header().Time}
	for _, t := range transfers {
		if strings.EqualFold(t.TxHash, tx) && bytes.Equal(t.To, key) {
			f.add(t.Asset, t.Amount)
		}
	}
	if err := n.effect(ctx, host, tx, key, f); err != nil {
		return f, err
	}
	head, err := host.Head(ctx)
	if err != nil {
		return f, err
	}
	if height <= max(head.Finalized, head.Height-n.FinalDepth+1) {
		f.State = wire.TransferFinal
	}
	return f, nil
}

func (f Finding) add(asset string, amount *big.Int) {
	if amount.Sign() <= 0 {
		return
	}
	if f.Sums[asset] == nil {
		f.Sums[asset] = new(big.Int)
	}
	f.Sums[asset].Add(f.Sums[asset], amount)
}

// effect adds coin that a contract sent, which a block without traces does not show. An effect that may be that of
// another transaction adds nothing.
func (n Network) effect(ctx context.Context, host Node, tx string, key []byte, f Finding) error {
	looker, is := host.(interface {
		chain.Looker
		Traces() bool
	})
	if !is || looker.Traces() || len(f.Sums) > 0 {
		return nil
	}
	e, err := looker.Effect(ctx, tx, key)
	if err != nil {
		return err
	}
	if !e.Failed && !e.Plain && !e.Ours && e.Doubt == "" && e.Amount != nil && e.Height == f.Height {
		f.add(n.Coin, e.Amount)
	}
	return nil
}

// only is the one address whose transfers are looked for.
type only []byte

// Has implements chain.Watched.
func (o only) Has(key []byte) bool { return bytes.Equal(o, key) }
