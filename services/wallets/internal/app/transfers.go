package app

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/lookup"
)

// Answers publishes the answer to a request once.
type Answers interface {
	Answer(ctx context.Context, messageID string, found wire.TransferFound) error
}

// Finder looks for a transaction on a live network.
type Finder func(ctx context.Context, network, tx string, key []byte) (lookup.Finding, error)

// findMost bounds one look. A chain that does not answer in time answers "unknown", and payments asks again.
const findMost = 20 * time.Second

// FindTransfer answers which amounts a transaction brought to an address. A chain that fails is an answer too, so that
// one network never delays the questions about others.
func (a *App) FindTransfer(ctx context.Context, messageID string, f wire.FindTransfer) error {
	network, ok := money.NetworkOf(f.Network)
	if !ok || !f.Mode.Valid() || f.RequestID == "" || len(f.RequestID) > requestIDMost || !address.IsTransaction(network.Family, f.TxHash) {
		return fault.Permanent(fmt.Errorf("transfer %.70q on %.20q in mode %.10q: want an id, a network and a hash", f.TxHash, f.Network, f.Mode))
	}
	key, err := address.Parse(network.Family, a.nets[f.Mode], f.Address)
	if err != nil {
		return fault.Permanent(fmt.Errorf("transfer %s: the address %w", f.TxHash, err))
	}
	answer := wire.TransferFound{RequestID: f.RequestID, Mode: f.Mode, Network: f.Network, Address: f.Address, TxHash: f.TxHash}
	if f.Mode == tenant.Test {
		pretend(&answer, f.Owed)
		return a.answers.Answer(ctx, messageID, answer)
	}
	looking, cancel := context.WithTimeout(ctx, findMost)
	defer cancel()
	found, err := a.find(looking, network.Name, f.TxHash, key)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		a.log.WarnContext(ctx, "transfer not looked up", "network", network.Name, "tx", f.TxHash, "err", err)
	}
	answer.State, answer.BlockHeight, answer.BlockTime = found.State, found.Height, found.Time.UTC()
	for _, asset := range network.Assets {
		if sum := found.Sums[asset.Symbol]; sum != nil {
			answer.Sums = append(answer.Sums, wire.Sum{Asset: asset.Symbol, Amount: sum.String()})
		}
	}
	return a.answers.Answer(ctx, messageID, answer)
}

// The last digits of a transaction's hash choose the answer of a simulated chain (docs/api-contract.md#sandbox).
const (
	endMissing  = "0000"
	endNotFinal = "0001"
	endLess     = "0002"
)

// pretend is the answer of a simulated chain: it holds the transaction that was asked about.
func pretend(answer *wire.TransferFound, owed []wire.Sum) {
	end := strings.ToLower(answer.TxHash[len(answer.TxHash)-len(endMissing):])
	if end == endMissing {
		answer.State = wire.TransferMissing
		return
	}
	answer.State, answer.Sums = wire.TransferFinal, owed
	switch end {
	case endNotFinal:
		answer.State = wire.TransferNotFinal
	case endLess:
		answer.Sums = nil
		for _, s := range owed {
			if units, ok := new(big.Int).SetString(s.Amount, 10); ok {
				answer.Sums = append(answer.Sums, wire.Sum{Asset: s.Asset, Amount: units.Rsh(units, 1).String()})
			}
		}
	}
}
