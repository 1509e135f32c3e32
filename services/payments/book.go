package main

import (
	"context"
	"flag"
	"fmt"

	"causeway.internal/libs/command"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/store"
)

// booking is what an operator books: the events of the treasury that no message tells.
type booking struct {
	ref, rail, currency, network, crypto string
	amount, gas                          string
}

// book books a top-up of a float at a rail, crypto that the desk has sold, or a sweep of deposit addresses to the treasury.
func book(kind string) operation {
	return func(ctx context.Context, s *store.Store, in command.Input) error {
		var b booking
		err := in.FlagsOnly(func(f *flag.FlagSet) {
			f.StringVar(&b.ref, "ref", "", "what names it for ever: the bank's reference, or the transaction")
			f.StringVar(&b.amount, "amount", "", "how much")
			if kind == "topup" {
				f.StringVar(&b.rail, "rail", "", "the rail whose float it is")
				f.StringVar(&b.currency, "currency", "", "the fiat currency")
				return
			}
			f.StringVar(&b.network, "network", "", "the network")
			f.StringVar(&b.crypto, "crypto", "", "the asset")
			if kind == "sweep" {
				f.StringVar(&b.gas, "gas", "0", "what the network took, in its own coin")
			}
		})
		if err != nil {
			return err
		}
		j, err := b.journal(kind)
		if err != nil {
			return fmt.Errorf("book %s: %w", kind, err)
		}
		if err := s.Book(ctx, commandLine(), j); err != nil {
			return err
		}
		_, err = fmt.Fprintf(in.Out, "booked %s\n", j.Key)
		return err
	}
}

func (b booking) journal(kind string) (ledger.Journal, error) {
	amount, err := money.Parse(b.amount)
	if err != nil || !amount.IsPositive() || b.ref == "" {
		return ledger.Journal{}, fmt.Errorf("--ref and a positive --amount are needed")
	}
	if kind == "topup" {
		currency := money.Currency(b.currency)
		if !currency.Valid() || b.rail == "" || money.Digits(amount) > money.FiatDigits {
			return ledger.Journal{}, fmt.Errorf("--rail, a --currency of NGN, GHS, KES or ZAR and an amount of two digits are needed")
		}
		return ledger.FloatToppedUp(b.ref, b.rail, currency, amount), nil
	}
	n, known := money.NetworkOf(b.network)
	asset, listed := n.Asset(b.crypto)
	if !known || !listed {
		return ledger.Journal{}, fmt.Errorf("%q is not taken on %q", b.crypto, b.network)
	}
	if kind == "sale" {
		return ledger.DeskSold(b.ref, n.Name, asset.Symbol, amount), nil
	}
	gas, err := money.Parse(b.gas)
	if err != nil || gas.IsNegative() {
		return ledger.Journal{}, fmt.Errorf("%q is no amount of gas", b.gas)
	}
	return ledger.Swept(b.ref, n.Name, asset.Symbol, amount, coinOf(n), gas), nil
}

// coinOf is the coin in which a network is paid.
func coinOf(n money.Network) string {
	for _, a := range n.Assets {
		if a.Native {
			return a.Symbol
		}
	}
	return ""
}
