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
	// Days says which days are closed.
	Days(ctx context.Context) (Days, error)
	// ClaimDay fixes the last journal of a day that ends at a time. A second claim changes nothing, and neither does one
	// of a day that has not ended by the database's clock.
	ClaimDay(ctx context.Context, day string, end time.Time) error
	// Treasury passes the sums at the end of a claimed day and those of now to build, twice those of now for day "", and
	// stores its reports with the former.
	Treasury(ctx context.Context, day string, build func(of, now Sums) (map[tenant.Mode]Treasury, error)) error
	// TreasuryReport is the report of a closed day, or the last one for day "".
	TreasuryReport(ctx context.Context, mode tenant.Mode, day string) (t Treasury, found bool, err error)
	// KeepReading keeps the newest reading of a network. It refuses one of the future for good.
	KeepReading(ctx context.Context, mode tenant.Mode, r Reading) error
	// Opening are the journals between two days and the sums before them. It fails with ErrMonthNotClosed after the end
	// until that is closed, and with ErrMonthArchived while journals that it needs are archived.
	Opening(ctx context.Context, before, end time.Time) (Month, error)
	// Entries lists the entries of a month after one, in their order. It fails with ErrMonthArchived once one is archived.
	Entries(ctx context.Context, m Month, after Entry, most int) ([]Entry, error)
}

// Days are the days that are closed, and the clock of the database that decides which have ended.
type Days struct {
	Last       string    // the last day that is closed, "" without one
	Unfinished string    // the first day whose close is not complete, "" without one
	First      time.Time // of the first journal, zero without one
	Now        time.Time
}

// Report makes the reports of the treasury anew and shows them. The rails are asked before the ledger is read.
func (a *Books) Report(ctx context.Context, show func(Treasury)) error {
	before := map[tenant.Mode]Treasury{}
	for _, mode := range tenant.Modes() {
		last, _, err := a.Store.TreasuryReport(ctx, mode, "")
		if err != nil {
			return err
		}
		before[mode] = last
	}
	floats, collecting, quiet := a.ask(ctx)
	made := map[tenant.Mode]Treasury{}
	err := a.Store.Treasury(ctx, "", func(_, now Sums) (map[tenant.Mode]Treasury, error) {
		for _, mode := range tenant.Modes() {
			t := a.treasury(mode, now, floats[mode])
			t.Collecting = collecting[mode]
			t.remember(before[mode])
			made[mode] = t
		}
		return made, nil
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
		days, err := a.Store.Days(ctx)
		if err != nil {
			return "", err
		}
		today := days.Now.UTC().Truncate(day)
		if days.Unfinished != "" {
			if err := a.closeDay(ctx, days.Unfinished, today); err != nil {
				return "", err
			}
			continue
		}
		next := today.Add(-day)
		if days.Last != "" {
			closed, err := time.Parse(time.DateOnly, days.Last)
			if err != nil {
				return "", fmt.Errorf("read the last closed day: %w", err)
			}
			next = closed.Add(day)
		} else if first := days.First.UTC().Truncate(day); !first.IsZero() && first.Before(next) && first.After(next.Add(-closedBack)) {
			next = first
		}
		if !next.Before(today) {
			return days.Last, nil
		}
		if err := a.Store.ClaimDay(ctx, next.Format(time.DateOnly), next.Add(day)); err != nil {
			return "", err
		}
	}
}

// closedBack bounds how far before yesterday the first close begins, so that a ledger with a long history is read once.
const closedBack = 40 * day

// closeDay completes the close of a claimed day. A day before yesterday has nothing that chains and rails said.
func (a *Books) closeDay(ctx context.Context, name string, today time.Time) (quiet error) {
	floats, collecting, observed := map[tenant.Mode]floatsRead{}, map[tenant.Mode][]Collecting{}, name == today.Add(-day).Format(time.DateOnly)
	if observed {
		floats, collecting, quiet = a.ask(ctx)
	}
	err := a.Store.Treasury(ctx, name, func(of, now Sums) (map[tenant.Mode]Treasury, error) {
		of.Readings = nil
		out := map[tenant.Mode]Treasury{}
		for _, mode := range tenant.Modes() {
			t := a.treasury(mode, of, floatsRead{})
			if observed {
				t.compared(a.treasury(mode, now, floats[mode]))
			}
			t.Day, t.Collecting = name, collecting[mode]
			out[mode] = t
		}
		return out, nil
	})
	if err != nil {
		return err
	}
	a.Log.InfoContext(ctx, "day closed", "day", name)
	return quiet
}

// treasury makes the report of a mode.
func (a *Books) treasury(mode tenant.Mode, s Sums, floats floatsRead) Treasury {
	return treasuryOf(mode, s, floats, func(asset string) (decimal.Decimal, bool) { return a.price(mode, asset) })
}

// ask asks the rails of both modes for their floats, and reads the cost of collecting.
func (a *Books) ask(ctx context.Context) (floats map[tenant.Mode]floatsRead, collecting map[tenant.Mode][]Collecting, quiet error) {
	floats, collecting = map[tenant.Mode]floatsRead{}, map[tenant.Mode][]Collecting{}
	for _, mode := range tenant.Modes() {
		var silent, missing error
		floats[mode], silent = a.balances(ctx, mode)
		collecting[mode], missing = a.Collecting(ctx, mode)
		quiet = errors.Join(quiet, silent, missing)
	}
	return floats, collecting, quiet
}

// balances asks the real rails of a mode for their floats.
func (a *Books) balances(ctx context.Context, mode tenant.Mode) (out floatsRead, quiet error) {
	for _, bank := range a.Providers[mode].Rails() {
		if bank.Caps().Simulated {
			continue
		}
		for currency := range bank.Caps().Currencies {
			amount, err := balanceOf(ctx, bank, currency)
			switch {
			case errors.Is(err, rail.ErrUnsupported):
			case err != nil:
				quiet, out.silent = errors.Join(quiet, err), append(out.silent, Balance{Rail: bank.Name(), Currency: currency})
			default:
				out.said = append(out.said, Balance{bank.Name(), currency, amount, a.Now()})
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
