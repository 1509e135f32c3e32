package books

import (
	"context"
	"errors"
	"fmt"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/ledger"
)

// Outgoing passes the journal of each final transaction of wallets to post: a sweep of deposit addresses, or the cost
// of funding one. The transaction's hash is the journal's key, so a journal that an operator booked by hand stays as it
// is. post writes once per message and once per key.
func Outgoing(post func(ctx context.Context, messageID string, mode tenant.Mode, j ledger.Journal) error) func(ctx context.Context, messageID string, m wire.OutgoingFinal) error {
	return func(ctx context.Context, messageID string, m wire.OutgoingFinal) error {
		j, err := outgoing(m)
		if err != nil {
			return fault.Permanent(fmt.Errorf("outgoing transaction %q: %w", m.TxHash, err))
		}
		if j.Empty() { // the transaction moved nothing and cost nothing
			return nil
		}
		return post(ctx, messageID, m.Mode, j)
	}
}

// outgoing is the journal of a transaction.
func outgoing(m wire.OutgoingFinal) (ledger.Journal, error) {
	n, known := money.NetworkOf(m.Network)
	asset, listed := n.Asset(m.Asset)
	switch {
	case m.Mode != tenant.Live && m.Mode != tenant.Test:
		return ledger.Journal{}, fmt.Errorf("unknown mode %q", m.Mode)
	case !known || !listed:
		return ledger.Journal{}, fmt.Errorf("%q is not listed on %q", m.Asset, m.Network)
	case m.TxHash == "":
		return ledger.Journal{}, errors.New("it has no hash")
	}
	coin := n.Coin()
	amount, err := change.BaseUnits(asset, m.Amount)
	if err != nil {
		return ledger.Journal{}, err
	}
	fee, err := change.BaseUnits(coin, m.Fee)
	if err != nil {
		return ledger.Journal{}, err
	}
	switch m.Kind {
	case wire.OutgoingFund:
		return ledger.GasSpent(m.TxHash, n.Name, coin.Symbol, fee), nil
	case wire.OutgoingSweep:
		if asset.Native && n.Family != money.Solana { // the transaction paid its fee out of the swept coin
			amount = amount.Add(fee)
		}
		returned := decimal.Zero
		if m.Returned != "" {
			if returned, err = change.BaseUnits(coin, m.Returned); err != nil {
				return ledger.Journal{}, err
			}
		}
		key := m.TxHash
		if m.Part != "" {
			key += ":" + m.Part
		}
		return ledger.Swept(key, n.Name, asset.Symbol, amount, coin.Symbol, fee).GasBack(n.Name, coin.Symbol, returned), nil
	}
	return ledger.Journal{}, fmt.Errorf("unknown kind %q", m.Kind)
}
