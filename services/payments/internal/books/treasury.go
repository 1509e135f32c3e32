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

// Posting is the journal of a message.
type Posting struct {
	MessageID string
	Mode      tenant.Mode
	Journal   ledger.Journal
}

// Outgoing passes the journals of final transactions of wallets to post: sweeps of deposit addresses, and the costs of
// funding them. The transaction's hash is the journal's key, so a journal that an operator booked by hand stays as it
// is. post writes all of a pack or none, each once per message and once per key.
func Outgoing(post func(ctx context.Context, all []Posting) error) func(ctx context.Context, ids []string, pack []wire.OutgoingFinal) error {
	return func(ctx context.Context, ids []string, pack []wire.OutgoingFinal) error {
		all := make([]Posting, 0, len(pack))
		for n, m := range pack {
			j, err := outgoing(m)
			if err != nil {
				return fault.Permanent(fmt.Errorf("outgoing transaction %q: %w", m.TxHash, err))
			}
			if !j.Empty() { // else the transaction moved nothing and cost nothing
				all = append(all, Posting{ids[n], m.Mode, j})
			}
		}
		if len(all) == 0 {
			return nil
		}
		return post(ctx, all)
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
