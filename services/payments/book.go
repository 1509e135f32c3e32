package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/command"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/store"
)

// booking is an entry that an operator makes: an event of the treasury that no message reports. Traders work outside of
// this system, and people send refunds by hand.
type booking struct {
	ref, rail, currency, network, crypto, merchant string
	amount, gas, overdraw, undo                    string
}

// book books a top-up of a float at a rail, crypto that the trader has sold, the trader's spread, the fee of a
// transaction that a person sent, a sweep that wallets did not report, the product's own crypto that came from
// elsewhere, or money that a person pays to a merchant.
func book(kind string) func(in command.Input) (operation, error) {
	return func(in command.Input) (operation, error) {
		var b booking
		err := in.FlagsOnly(func(f *flag.FlagSet) {
			f.StringVar(&b.ref, "ref", "", "permanent reference: the bank's, or the transaction's hash")
			f.StringVar(&b.amount, "amount", "", "amount")
			switch kind {
			case "topup":
				f.StringVar(&b.rail, "rail", "", "the rail whose float it is")
				f.StringVar(&b.currency, "currency", "", "the fiat currency")
			case "merchant":
				f.StringVar(&b.merchant, "merchant", "", "the merchant that is paid")
				f.StringVar(&b.rail, "rail", "", "the rail from whose float it is paid")
				f.StringVar(&b.currency, "currency", "", "the fiat currency")
				f.StringVar(&b.overdraw, "overdraw", "", "why more may be booked than is available")
				f.StringVar(&b.undo, "undo", "", "reference of a booked payment that did not arrive, instead of all other flags")
			case "spread":
				f.StringVar(&b.currency, "currency", "", "the fiat currency; the amount of a loss is negative")
			case "gas":
				f.StringVar(&b.network, "network", "", "the network; the amount is in its own coin")
			case "sale", "sweep", "capital":
				f.StringVar(&b.network, "network", "", "the network")
				f.StringVar(&b.crypto, "crypto", "", "the asset")
			}
			if kind == "sweep" {
				f.StringVar(&b.gas, "gas", "0", "the fee of the network, in its own coin")
			}
		})
		if err != nil {
			return nil, err
		}
		if b.undo != "" {
			return b.takeBack(in)
		}
		j, err := b.journal(kind)
		if err != nil {
			return nil, fmt.Errorf("book %s: %w", kind, err)
		}
		booked := "booked " + j.Key
		if kind == "capital" || b.overdraw != "" {
			return together(in, booked, func(ctx context.Context, s *store.Store) (bool, error) {
				return s.BookTogether(ctx, b.asks(in, "book_"+kind), j)
			}), nil
		}
		return func(ctx context.Context, s *store.Store) error {
			if err := s.Book(ctx, in.Operator(), j); err != nil {
				return err
			}
			_, err := fmt.Fprintln(in.Out, booked)
			return err
		}, nil
	}
}

// takeBack undoes a payment to a merchant.
func (b booking) takeBack(in command.Input) (operation, error) {
	if b != (booking{undo: b.undo}) {
		return nil, fmt.Errorf("book merchant: --undo takes no other flag, because it undoes what was booked")
	}
	return together(in, "booked back "+ledger.MerchantPaidKey(b.undo), func(ctx context.Context, s *store.Store) (bool, error) {
		return s.TakeBack(ctx, b.asks(in, "book_back"), b.undo)
	}), nil
}

// together books what two operators have typed alike. One alone could hide missing money, or give a merchant money to
// withdraw.
func together(in command.Input, booked string, book func(ctx context.Context, s *store.Store) (waits bool, err error)) operation {
	return func(ctx context.Context, s *store.Store) error {
		waits, err := book(ctx, s)
		if err != nil {
			return err
		}
		if waits {
			booked = "not booked yet: another operator has to type the same within a day"
		}
		_, err = fmt.Fprintln(in.Out, booked)
		return err
	}
}

// asks is the request of the operator who types a booking.
func (b booking) asks(in command.Input, action string) approval.Request {
	return approval.Request{
		Action: action, Operator: in.Operator(), Reason: cmp.Or(b.overdraw, "typed"),
		Digest: []byte(strings.Join([]string{b.network, b.crypto, b.merchant, b.rail, b.currency, b.amount}, "\n")),
	}
}

// signed are the kinds of which an amount may be negative: a loss, and capital that was taken out.
var signed = map[string]bool{"spread": true, "capital": true}

func (b *booking) journal(kind string) (ledger.Journal, error) {
	amount, err := money.Parse(b.amount)
	if err != nil || amount.IsZero() || (amount.IsNegative() && !signed[kind]) || b.ref == "" {
		return ledger.Journal{}, fmt.Errorf("--ref and a positive --amount are needed")
	}
	b.amount = money.Canonical(amount)
	if kind == "topup" || kind == "spread" || kind == "merchant" {
		return b.fiat(kind, amount)
	}
	n, known := money.NetworkOf(b.network)
	if kind != "sale" && n.Family != money.Solana {
		b.ref = strings.ToLower(b.ref) // wallets reports hexadecimal hashes in lower case; one spelling is booked once
	}
	if kind == "gas" {
		if !known {
			return ledger.Journal{}, fmt.Errorf("%q is no network", b.network)
		}
		return ledger.GasBooked(b.ref, n.Name, n.Coin().Symbol, amount), nil
	}
	asset, listed := n.Asset(b.crypto)
	if !known || !listed {
		return ledger.Journal{}, fmt.Errorf("%q is not taken on %q", b.crypto, b.network)
	}
	if kind == "capital" {
		b.network, b.crypto = n.Name, asset.Symbol // one spelling is confirmed by another
		return ledger.CapitalMoved(b.ref, n.Name, asset.Symbol, amount), nil
	}
	if kind == "sale" {
		return ledger.TraderSold(b.ref, n.Name, asset.Symbol, amount), nil
	}
	gas, err := money.Parse(b.gas)
	if err != nil || gas.IsNegative() {
		return ledger.Journal{}, fmt.Errorf("%q is no amount of gas", b.gas)
	}
	return ledger.Swept(b.ref, n.Name, asset.Symbol, amount, n.Coin().Symbol, gas), nil
}

// fiat is the journal of an entry in a fiat currency.
func (b booking) fiat(kind string, amount decimal.Decimal) (ledger.Journal, error) {
	currency := money.Currency(b.currency)
	switch {
	case !currency.Valid() || money.Digits(amount) > money.FiatDigits:
		return ledger.Journal{}, fmt.Errorf("a --currency of NGN, GHS, KES or ZAR and an amount of two digits are needed")
	case kind == "spread":
		return ledger.SpreadClosed(b.ref, currency, amount), nil
	case b.rail == "":
		return ledger.Journal{}, fmt.Errorf("--rail is needed")
	case kind == "merchant" && b.merchant == "":
		return ledger.Journal{}, fmt.Errorf("--merchant is needed")
	case kind == "merchant":
		return ledger.MerchantPaid(b.ref, b.merchant, b.rail, currency, amount), nil
	}
	return ledger.FloatToppedUp(b.ref, b.rail, currency, amount), nil
}
