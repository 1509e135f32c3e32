package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"causeway.internal/libs/command"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/app"
)

// showUnexplained prints the cases that wait for an operator: balances that the books do not explain, and transactions
// whose effect is unclear.
func (p *process) showUnexplained(ctx context.Context, out io.Writer) error {
	balances, err := p.book.UnexplainedBalances(ctx)
	if err != nil {
		return err
	}
	hints, err := p.book.UnclearHints(ctx)
	if err != nil {
		return err
	}
	return writeJSON(out, map[string]any{"balances": balances, "transactions": hints})
}

// lookAt makes the running service inspect a transaction, also one that it has inspected before.
func lookAt(ctx context.Context, in command.Input) error {
	var network, address, tx string
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&network, "network", "", "network or alias")
		f.StringVar(&address, "address", "", "deposit address that was paid")
		f.StringVar(&tx, "tx", "", "transaction hash")
	})
	if err != nil {
		return err
	}
	n, ok := money.NetworkOf(network)
	if !ok || address == "" || tx == "" {
		return in.Usage()
	}
	return operate(ctx, in, func(p *process) error {
		l := app.LookAt{Mode: tenant.Live, Network: n.Name, Address: address, Asset: n.Coin().Symbol, TxHash: tx}
		if err := p.cases().LookAtTransaction(ctx, l, true); err != nil {
			return err
		}
		_, err := fmt.Fprintln(in.Out, "It is looked at by the running service: see `wallets deposits --tx` and `wallets unexplained`.")
		return err
	})
}
