package books

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail"
)

// Treasurer keeps the closes of days and the reports of the treasury.
type Treasurer interface {
	// Days are the last day that is closed, "" without one; the time of the first journal; and the first day whose close
	// is not complete.
	Days(ctx context.Context) (last string, first time.Time, unfinished string, err error)
	// ClaimDay fixes the last journal of a day that ends at a time. A second claim changes nothing.
	ClaimDay(ctx context.Context, day string, end time.Time) error
	// Treasury passes the sums at the end of a claimed day, or now for day "", to build, and stores its reports with them.
	Treasury(ctx context.Context, day string, build func(Sums) (map[tenant.Mode]Treasury, error)) error
	// TreasuryReport is the report of a closed day, or the last one for day "".
	TreasuryReport(ctx context.Context, mode tenant.Mode, day string) (t Treasury, found bool, err error)
	// KeepReading keeps the newest reading of a network.
	KeepReading(ctx context.Context, mode tenant.Mode, r Reading) error
	// Opening are the journals between two days and the sums before them.
	Opening(ctx context.Context, before, end time.Time) (Month, error)
	// Entries lists the entries after one, in their order.
	Entries(ctx context.Context, after Entry, through int64, most int) ([]Entry, error)
}

// Report makes the reports of the treasury anew and shows them. The rails are asked before the ledger is read.
func (a *Books) Report(ctx context.Context, show func(Treasury)) error {
	build, quiet := a.reporter(ctx, "")
	var made map[tenant.Mode]Treasury
	err := a.Store.Treasury(ctx, "", func(s Sums) (_ map[tenant.Mode]Treasury, err error) {
		made, err = build(s)
		return made, err
	})
	if err != nil {
		return err
	}
	for _, t := range made {
		show(t)
	}
	return quiet
}

// CloseDays closes the days that have ended, one after the other. A close that died goes on. It returns the last closed
// day.
func (a *Books) CloseDays(ctx context.Context) (last string, err error) {
	for {
		last, first, unfinished, err := a.Store.Days(ctx)
		if err != nil {
			return "", err
		}
		if unfinished != "" {
			if err := a.closeDay(ctx, unfinished); err != nil {
				return "", err
			}
			continue
		}
		today := a.Now().UTC().Truncate(day)
		next := today.Add(-day)
		if last != "" {
			closed, err := time.Parse(time.DateOnly, last)
			if err != nil {
				return "", fmt.Errorf("read the last closed day: %w", err)
			}
			next = closed.Add(day)
		} else if first = first.UTC().Truncate(day); !first.IsZero() && first.Before(next) && first.After(next.Add(-closedBack)) {
			next = first
		}
		if !next.Before(today) {
			return last, nil
		}
		if err := a.Store.ClaimDay(ctx, next.Format(time.DateOnly), next.Add(day)); err != nil {
			return "", err
		}
	}
}

// closedBack bounds how far before yesterday the first close begins, so that a ledger with a long history is read once.
const closedBack = 40 * day

// closeDay completes the close of a claimed day.
func (a *Books) closeDay(ctx context.Context, name string) error {
	build, quiet := a.reporter(ctx, name)
	if err := a.Store.Treasury(ctx, name, build); err != nil {
		return err
	}
	a.Log.InfoContext(ctx, "day closed", "day", name)
	return quiet
}

// reporter asks the rails, and returns the function that makes the reports of a day of the ledger's sums. A day before
// yesterday has nothing that chains and rails said at its end.
func (a *Books) reporter(ctx context.Context, name string) (build func(Sums) (map[tenant.Mode]Treasury, error), quiet error) {
	blind := name != "" && name != a.Now().UTC().Add(-day).Format(time.DateOnly)
	floats, collecting := map[tenant.Mode][]Balance{}, map[tenant.Mode][]Collecting{}
	for _, mode := range tenant.Modes() {
		if blind {
			break
		}
		var err, missing error
		floats[mode], err = a.balances(ctx, mode)
		collecting[mode], missing = a.Collecting(ctx, mode)
		quiet = errors.Join(quiet, err, missing)
	}
	return func(s Sums) (map[tenant.Mode]Treasury, error) {
		if blind {
			s.Readings = nil
		}
		out := map[tenant.Mode]Treasury{}
		for _, mode := range tenant.Modes() {
			t := treasuryOf(mode, s, floats[mode], func(asset string) (decimal.Decimal, bool) { return a.price(mode, asset) })
			t.Day, t.Collecting = name, collecting[mode]
			out[mode] = t
		}
		return out, nil
	}, quiet
}

// balances asks the real rails of a mode for their floats. A rail that does not answer has no line of its own words.
func (a *Books) balances(ctx context.Context, mode tenant.Mode) (out []Balance, quiet error) {
	for _, bank := range a.Providers[mode].Rails() {
		if bank.Caps().Simulated {
			continue
		}
		for currency := range bank.Caps().Currencies {
			amount, err := balanceOf(ctx, bank, currency)
			switch {
			case errors.Is(err, rail.ErrUnsupported):
			case err != nil:
				quiet = errors.Join(quiet, err)
			default:
				out = append(out, Balance{bank.Name(), currency, amount, a.Now()})
			}
		}
	}
	return out, quiet
}

func balanceOf(ctx context.Context, bank rail.Provider, currency money.Currency) (decimal.Decimal, error) {
	ctx, cancel := context.WithTimeout(ctx, provider.CallTimeout)
	defer cancel()
	amount, err := bank.Balance(ctx, currency)
	if err != nil && !errors.Is(err, rail.ErrUnsupported) {
		return amount, fmt.Errorf("ask %s for its balance of %s: %w", bank.Name(), currency, err)
	}
	return amount, err
}

// price is the worth of a unit of a crypto or currency in US dollars, before the spread.
func (a *Books) price(mode tenant.Mode, asset string) (decimal.Decimal, bool) {
	set, ok := a.Providers[mode]
	if !ok {
		return decimal.Zero, false
	}
	if currency := money.Currency(asset); currency.Valid() {
		r, err := set.Rates.Quote(currency, fiatOver)
		if err != nil || !r.USD.IsPositive() {
			return decimal.Zero, false
		}
		return decimal.NewFromInt(1).DivRound(r.USD, priceDigits), true
	}
	r, err := set.Rates.Quote(money.NGN, asset)
	return midUSD(r), err == nil && midUSD(r).IsPositive()
}

const (
	fiatOver    = "USDT" // the crypto whose quotes tell the fiat per US dollar
	priceDigits = 12
)
