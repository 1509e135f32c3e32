package audit

import (
	"context"
	"fmt"
	"math/big"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/chaos/internal/livenet"
)

const (
	selectCollected = `SELECT asset, sum(debit - credit)::text FROM custody_entries
WHERE mode = 'live' AND network = $1 AND account = 'treasury' GROUP BY asset ORDER BY asset`

	selectCosts = `SELECT coalesce(sum(e.debit - e.credit) FILTER (WHERE e.account = 'fees' AND j.event NOT LIKE 'refund%'), 0)::text,
	coalesce(sum(e.debit - e.credit) FILTER (WHERE j.event LIKE 'refund%'), 0)::text,
	coalesce(sum(e.credit - e.debit) FILTER (WHERE e.account = 'rent' AND j.event NOT LIKE 'refund%'), 0)::text
FROM custody_entries e JOIN custody_journals j ON j.key = e.journal
WHERE e.mode = 'live' AND e.network = $1 AND e.account IN ('fees', 'rent')`

	selectPrices = `SELECT DISTINCT ON (crypto) crypto, ((price -> 'rate' ->> 'mid')::numeric / (price -> 'rate' ->> 'usd')::numeric)::text
FROM payments WHERE mode = 'live' AND (price -> 'rate' ->> 'usd')::numeric > 0 ORDER BY crypto, created_at DESC`
)

// prices are US dollars per unit of an asset.
type prices map[string]*big.Rat

// readPrices takes the prices of the newest live payments.
func readPrices(ctx context.Context, payments *pgx.Conn) (prices, error) {
	rows, err := list[struct{ Asset, USD string }](ctx, payments, "prices", selectPrices)
	all := prices{}
	for _, row := range rows {
		all[row.Asset] = rat(row.USD)
	}
	return all, err
}

// worth of an amount in US dollars, nil without a price.
func (p prices) worth(amount *big.Rat, asset string) *big.Rat {
	if p[asset] == nil {
		return nil
	}
	return new(big.Rat).Mul(amount, p[asset])
}

// dollars writes a worth.
func dollars(worth *big.Rat, digits int) string {
	if worth == nil {
		return "$?"
	}
	return "$" + worth.FloatString(digits)
}

const (
	worthDigits = 2
	ratioDigits = 6
)

// priced writes an amount and its worth.
func (p prices) priced(amount *big.Rat, asset string) string {
	return text(amount) + " " + asset + " = " + dollars(p.worth(amount, asset), worthDigits)
}

// costs reads what sweeps brought, and what they and refunds cost, from the books of wallets.
func (s side) costs(ctx context.Context, wallets *pgx.Conn, usd prices, n *Network) error {
	var swept, refunds, returned string
	if err := wallets.QueryRow(ctx, selectCosts, n.Name).Scan(&swept, &refunds, &returned); err != nil {
		return fmt.Errorf("reading costs: %w", err)
	}
	brought, err := list[struct{ Asset, Units string }](ctx, wallets, "what sweeps brought", selectCollected, n.Name)
	if err != nil {
		return err
	}
	collected := new(big.Rat)
	for _, b := range brought {
		a, _ := s.chain.Asset(b.Asset)
		worth := usd.worth(units(a, b.Units), b.Asset)
		if worth == nil { // a sum without one of its parts would mislead
			collected = nil
			break
		}
		collected.Add(collected, worth)
	}
	coin := s.chain.Coin()
	n.Collected, n.Cost = dollars(collected, worthDigits), usd.priced(units(coin, swept), coin.Symbol)
	n.RefundCost = usd.priced(units(coin, refunds), coin.Symbol)
	if cost := usd.worth(units(coin, swept), coin.Symbol); cost != nil && collected != nil && collected.Sign() > 0 {
		n.CostPerUSD = dollars(cost.Quo(cost, collected), ratioDigits)
	}
	if rent := units(coin, returned); rent.Sign() != 0 {
		n.Returned = usd.priced(rent, coin.Symbol)
	}
	return nil
}

// units reads base units as an amount.
func units(a livenet.Asset, base string) *big.Rat { return rat(a.Text(rat(base).Num())) }
