package network

import (
	"context"
	"fmt"
	"log/slog"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/holdings"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/signer"
)

// Holdings are the live networks whose balances are read for the report of the treasury: those whose nodes tell the
// balance of an address, and bitcoin, whose outputs are followed through its blocks.
func (c *Chains) Holdings(stations func(ctx context.Context) (signer.Stations, error)) (all []holdings.Network, err error) {
	treasuries, live := map[string]string{}, c.Networks.Networks(c.Bitcoin)
	for _, s := range c.sweepable() {
		if s.treasury == "" {
			continue
		}
		if treasuries[s.network], err = s.account(s.treasury); err != nil {
			return nil, fmt.Errorf("treasury of %s: %w", s.network, err)
		}
	}
	for _, n := range money.Networks() {
		of := scanner.Chain{Mode: tenant.Live, Network: n.Name}
		balances := c.balancesOf(n.Name, c.readers[of].Driver)
		if balances == nil || c.Closed[of] != nil {
			continue
		}
		tokens, err := live[n.Name].contracts(n)
		if err != nil {
			return nil, err
		}
		read := holdings.Network{Listed: n, Contracts: tokens, Chain: balances}
		read.Addresses = places(n, c.netOf(n), treasuries[n.Name], stations, c.Telemetry.Log)
		all = append(all, read)
	}
	return all, nil
}

// netOf is the net that the live addresses of a network are written for.
func (c *Chains) netOf(n money.Network) address.Net {
	if n.Family == money.Bitcoin {
		return c.Bitcoin
	}
	return address.Mainnet
}

// balancesOf reads the balances of a driver's chain; nil for a network that is not scanned.
func (c *Chains) balancesOf(network string, driver any) holdings.Chain {
	switch driver := driver.(type) {
	case holdings.EVM:
		return holdings.OfEVM(driver)
	case holdings.Solana:
		return holdings.OfSolana(driver)
	case holdings.Tron:
		return holdings.OfTron(driver)
	case holdings.Bitcoin:
		return holdings.OfBitcoin(network, driver, c.Book.Refunds(), c.Networks.Bitcoin.Sweep.From)
	}
	return nil
}

// places are the treasury and the stations of a network. A network without a treasury has none of them. While the
// signer is silent, the stations are those of its last answer.
func places(
	n money.Network, net address.Net, treasury string, stations func(ctx context.Context) (signer.Stations, error), log *slog.Logger,
) holdings.Addresses {
	var known *signer.Stations
	return func(ctx context.Context) (at map[holdings.Place]string, unknown map[holdings.Place]bool) {
		at, unknown = map[holdings.Place]string{}, map[holdings.Place]bool{}
		if treasury == "" {
			return at, unknown
		}
		at[holdings.Treasury] = treasury
		told, err := stations(ctx)
		if err == nil {
			known = &told
		} else if known == nil {
			log.WarnContext(ctx, "stations unknown: holdings are not whole", "network", n.Name, "err", err)
			unknown[holdings.GasStation], unknown[holdings.RefundStation] = true, true
			return at, unknown
		}
		for place, text := range map[holdings.Place]string{
			holdings.GasStation: known.Of(n.Family), holdings.RefundStation: known.Refunds[n.Family],
		} {
			if text == "" {
				continue
			}
			key, err := address.Parse(n.Family, net, text)
			if err == nil {
				at[place], err = address.Encode(n.Family, net, key)
			}
			unknown[place] = err != nil
		}
		return at, unknown
	}
}
