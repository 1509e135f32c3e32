package operator

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"causeway.internal/libs/command"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/wallet"
)

// deposit is a deposit in the form for an operator.
type deposit struct {
	Key         string    `json:"key"`
	Mode        string    `json:"mode"`
	Network     string    `json:"network"`
	Address     string    `json:"address"`
	WalletID    string    `json:"walletId"`
	MerchantID  string    `json:"merchantId,omitempty"` // of a standalone wallet
	Wallet      string    `json:"walletStatus,omitempty"`
	Asset       string    `json:"asset"`
	Units       string    `json:"units"`
	State       string    `json:"state"`
	Depth       int64     `json:"depth"`
	Final       bool      `json:"final"`
	BlockHeight int64     `json:"blockHeight"`
	BlockHash   string    `json:"blockHash"`
	Version     int64     `json:"version"`
	FirstSeenAt time.Time `json:"firstSeenAt"`
}

// Deposits prints the deposits of a transaction. EVM hashes are stored in lower case with 0x, others unchanged.
func Deposits(in command.Input) (Operation, error) {
	var tx string
	if err := in.FlagsOnly(func(f *flag.FlagSet) { f.StringVar(&tx, "tx", "", "transaction hash") }); err != nil {
		return nil, err
	}
	if tx == "" {
		return nil, in.Usage()
	}
	return func(ctx context.Context, p Parts) error {
		list, err := p.Store.DepositsOf(ctx, tx, strings.ToLower(tx), "0x"+strings.ToLower(tx))
		if err != nil {
			return err
		}
		ids := make([]string, len(list))
		for i, d := range list {
			ids[i] = d.WalletID
		}
		owners, err := p.Store.OwnersOf(ctx, ids)
		if err != nil {
			return err
		}
		byID := make(map[string]wallet.Wallet, len(owners))
		for _, w := range owners {
			byID[w.ID] = w
		}
		shown := make([]deposit, len(list))
		for i, d := range list {
			w := byID[d.WalletID]
			shown[i] = deposit{
				d.Key(), string(d.Mode), d.Network, d.Address, d.WalletID, w.MerchantID, string(w.Status), d.Asset,
				d.Amount.String(), string(d.State), d.Depth, d.Finalized, d.BlockHeight, d.BlockHash, d.Version, d.FirstSeenAt.UTC(),
			}
		}
		return show(in.Out, shown)
	}, nil
}

// Unexplained prints the cases that wait for an operator: balances that the books do not explain, and transactions
// whose effect is unclear.
func Unexplained(in command.Input) (Operation, error) {
	return func(ctx context.Context, p Parts) error {
		balances, err := p.Store.UnexplainedBalances(ctx)
		if err != nil {
			return err
		}
		hints, err := p.Store.UnclearHints(ctx)
		if err != nil {
			return err
		}
		return show(in.Out, map[string]any{"balances": balances, "transactions": hints})
	}, none(in)
}

// Look makes the running service inspect a transaction, also one that it has inspected before.
func Look(in command.Input) (Operation, error) {
	var network, address, tx string
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&network, "network", "", "network or alias")
		f.StringVar(&address, "address", "", "deposit address that was paid")
		f.StringVar(&tx, "tx", "", "transaction hash")
	})
	if err != nil {
		return nil, err
	}
	n, ok := money.NetworkOf(network)
	if !ok || address == "" || tx == "" {
		return nil, in.Usage()
	}
	return func(ctx context.Context, p Parts) error {
		l := app.LookAt{Mode: tenant.Live, Network: n.Name, Address: address, Asset: n.Coin().Symbol, TxHash: tx}
		if err := p.Cases.LookAtTransaction(ctx, l, true); err != nil {
			return err
		}
		_, err := fmt.Fprintln(in.Out, "It is looked at by the running service: see `wallets deposits --tx` and `wallets unexplained`.")
		return err
	}, nil
}

// TellAddresses makes the running service publish every owned address again.
func TellAddresses(in command.Input) (Operation, error) {
	return func(ctx context.Context, p Parts) error {
		if err := p.Store.TellAll(ctx); err != nil {
			return err
		}
		p.Log.InfoContext(ctx, "owned addresses republished by operator", "operator", in.Operator())
		_, err := fmt.Fprintln(in.Out, "The running service sends payments every address again.")
		return err
	}, none(in)
}
