//go:build integration

package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
)

// simGround is the simulated chain of test mode behind the same requests as the other chains' control port. It has no
// process and no provider: its state is in the database of the scan. Its transactions pay one address each, and its
// head never goes back.
type simGround struct {
	t       testing.TB
	network money.Network
	book    *store.Store
}

func (g *simGround) hash() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b)
	return "0x" + hex.EncodeToString(b)
}

// attach gives the chain its database and makes its first block.
func (g *simGround) attach(book *store.Store) error {
	g.book = book
	_, err := book.SimState(context.Background(), g.network.Name)
	return err
}

func (g *simGround) mine(blocks int) error {
	for range blocks {
		if _, err := g.book.SimMine(context.Background(), g.network.Name, g.hash()); err != nil {
			return err
		}
	}
	return nil
}

// do carries a request out as deploy/realchain would.
func (g *simGround) do(path string, body []byte) (map[string]any, error) {
	var r struct {
		To, Amount, Include string
		Mine, Blocks, Depth int
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	out := map[string]any{}
	switch path {
	case "/mine":
		return out, g.mine(r.Blocks)
	case "/transfer":
		key, err := address.Parse(g.network.Family, address.Mainnet, r.To)
		if err != nil {
			return nil, err
		}
		amount, _ := new(big.Int).SetString(r.Amount, 10)
		tx := g.hash()
		out["txHash"] = tx
		err = g.book.Simulate(context.Background(), "", wallet.Simulated{
			RequestID: tx, Network: g.network.Name, TxHash: tx, To: key, Asset: g.network.Assets[0].Symbol, Amount: amount, Sender: "somebody", Confirmations: 1,
		})
		if err == nil {
			err = g.mine(r.Mine)
		}
		return out, err
	case "/reorg": // the branch is a block longer than the blocks that it replaces
		state, err := g.book.SimState(context.Background(), g.network.Name)
		if err == nil {
			err = g.book.SimFork(context.Background(), g.network.Name, state.Height-int64(r.Depth), r.Include == "", g.hash)
		}
		return out, err
	}
	return nil, fmt.Errorf("the simulated chain has no %s", path)
}
