package books

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
)

// Holdings passes what wallets has read from a chain to keep, which keeps the newest of each network. A message that
// comes again or late changes nothing.
func Holdings(keep func(ctx context.Context, mode tenant.Mode, r Reading) error) func(ctx context.Context, messageID string, m wire.HoldingsRead) error {
	return func(ctx context.Context, _ string, m wire.HoldingsRead) error {
		r, err := readingOf(m)
		if err != nil {
			return fault.Permanent(fmt.Errorf("holdings on %q: %w", m.Network, err))
		}
		return keep(ctx, m.Mode, r)
	}
}

// readingOf is a message in whole units.
func readingOf(m wire.HoldingsRead) (r Reading, err error) {
	n, known := money.NetworkOf(m.Network)
	switch {
	case m.Mode != tenant.Live && m.Mode != tenant.Test:
		return r, fmt.Errorf("unknown mode %q", m.Mode)
	case !known || n.Name != m.Network:
		return r, errors.New("it is no network")
	case m.ReadAt.IsZero():
		return r, errors.New("it has no time")
	}
	r = Reading{Network: n.Name, At: m.ReadAt}
	for _, h := range m.Holdings {
		asset, listed := n.Asset(h.Asset)
		if !listed || h.Unread < 0 {
			return r, fmt.Errorf("%q is not listed, or %d addresses are unread", h.Asset, h.Unread)
		}
		out := Holding{Asset: asset.Symbol, Unread: h.Unread}
		for _, place := range []struct {
			text string
			to   **decimal.Decimal
		}{{h.Deposits, &out.Deposits}, {h.GasStation, &out.GasStation}, {h.RefundStation, &out.RefundStation}, {h.Treasury, &out.Treasury}} {
			if place.text == "" {
				continue
			}
			amount, err := wholeUnits(asset, place.text)
			// Less than nothing is on deposit addresses where the chain lacks more there than the books have left.
			if err != nil || amount.IsNegative() && place.to != &out.Deposits {
				return r, fmt.Errorf("%q is no balance of %s", place.text, h.Asset)
			}
			*place.to = &amount
		}
		if out.Expected, err = wholeUnits(asset, h.Expected); err != nil {
			return r, err
		}
		if out.Standalone, err = wholeUnits(asset, h.Standalone); err != nil {
			return r, err
		}
		r.Holdings = append(r.Holdings, out)
	}
	return r, nil
}

// unitsMost bounds the digits of an amount of base units.
const unitsMost = 79

// wholeUnits is an amount of base units, which may be negative, in whole units.
func wholeUnits(a money.Asset, text string) (decimal.Decimal, error) {
	units, ok := new(big.Int).SetString(text, 10)
	if !ok || len(text) > unitsMost {
		return decimal.Zero, fmt.Errorf("%q is no amount of base units", text)
	}
	return decimal.NewFromBigInt(units, -a.Decimals), nil
}
