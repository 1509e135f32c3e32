package app

import (
	"context"
	"fmt"
	"strings"

	"causeway.internal/libs/address"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// Hints keeps the transactions that payers name as payments by contracts.
type Hints interface {
	// AddHint notes a transaction for an address, once, unless the address has too many already; again reopens a closed
	// one. known says whether the address was issued.
	AddHint(ctx context.Context, mode tenant.Mode, network, address, txHash string, again bool) (known, added bool, err error)
}

// LookAt is a transaction that a payer names as having paid an address.
type LookAt struct {
	Mode    tenant.Mode
	Network string
	Address string
	Asset   string
	TxHash  string
}

// LookAtTransaction notes a transaction that is to be inspected for its effect on an address. Only the native coin of
// live EVM networks can arrive unseen; a hint about anything else, or about an address that was not issued here, is a
// permanent fault.
func (a *App) LookAtTransaction(ctx context.Context, l LookAt, again bool) error {
	network, ok := money.NetworkOf(l.Network)
	txHash := strings.ToLower(l.TxHash)
	if l.Mode != tenant.Live || !ok || network.Family != money.EVM || network.Coin().Symbol != l.Asset || !address.IsTransaction(money.EVM, txHash) {
		return fault.Permanent(fmt.Errorf("transaction %.70q for %.20q on %.20q in mode %.10q: want the coin of a live EVM network and a hash",
			l.TxHash, l.Asset, l.Network, l.Mode))
	}
	key, err := address.Parse(network.Family, a.nets[l.Mode], l.Address)
	if err != nil {
		return fault.Permanent(fmt.Errorf("transaction %s: the address %w", txHash, err))
	}
	text, err := address.Encode(network.Family, a.nets[l.Mode], key)
	if err != nil {
		return fault.Permanent(err)
	}
	known, added, err := a.hints.AddHint(ctx, l.Mode, network.Name, text, txHash, again)
	switch {
	case err != nil:
		return err
	case !known:
		return fault.Permanent(fmt.Errorf("transaction %s: %.50q is not an address of %s mode", txHash, l.Address, l.Mode))
	case !added:
		a.log.WarnContext(ctx, "named transaction ignored: repeated or too many for the address", "network", network.Name, "tx", txHash)
	}
	return nil
}
