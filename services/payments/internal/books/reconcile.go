// Package books books transactions of wallets, and compares the ledger with the database and the rails.
package books

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail"
)

// Difference is a figure of the ledger that does not agree with the database or with a rail.
type Difference struct {
	ID         int64
	Kind       string
	Object     string // an asset, an account, a deposit, a payout or a float
	Asset      string
	Owner      string // who has to act
	Expected   decimal.Decimal
	Found      decimal.Decimal
	FirstAt    time.Time
	LastAt     time.Time
	ResolvedAt time.Time
}

// The kinds of differences with who has to look at them.
const (
	DiffTrial     = "trial_balance"     // debits and credits of an asset differ
	DiffBalance   = "account_balance"   // a stored balance differs from its entries
	DiffDeposit   = "deposit_unbooked"  // a deposit is marked as booked, without a journal
	DiffDeposits  = "deposit_total"     // the booked deposits of an asset differ from the ledger
	DiffSwept     = "deposit_overdrawn" // more has left the deposit addresses of an asset than was booked to them
	DiffPayout    = "payout_unbooked"   // a paid payout without a journal, or a journal without one
	DiffClearing  = "clearing"          // the open payouts differ from the ledger
	DiffRefunds   = "refund_clearing"   // the open refunds differ from the ledger
	DiffStatement = "rail_statement"    // the rail contradicts a payout
	DiffFloat     = "rail_float"        // the rail's balance moved by another amount than the ledger's
	ownerBooks    = "engineering"
	ownerTreasury = "treasury"
	ownerPayouts  = "payout operations"
)

// DiffOwner is who looks at a kind of difference.
func DiffOwner(kind string) string {
	switch kind {
	case DiffStatement, DiffPayout, DiffClearing:
		return ownerPayouts
	case DiffFloat, DiffDeposits, DiffDeposit, DiffSwept, DiffRefunds:
		return ownerTreasury
	}
	return ownerBooks
}

// booksKinds lists the kinds that need no rail.
func booksKinds() []string {
	return []string{DiffTrial, DiffBalance, DiffDeposit, DiffDeposits, DiffSwept, DiffPayout, DiffClearing, DiffRefunds}
}

// DiffKinds lists the kinds.
func DiffKinds() []string {
	return append(booksKinds(), DiffStatement, DiffFloat)
}

// Store is the ledger, and the tables that reconciliation compares with it.
type Store interface {
	// BeginDay claims today's reconciliation; false when it was claimed already.
	BeginDay(ctx context.Context) (bool, error)
	// Compare lists the differences inside the database, in one snapshot.
	Compare(ctx context.Context) ([]Difference, error)
	// Conclusive lists payouts with an outcome since a time, after an id.
	Conclusive(ctx context.Context, since time.Time, after string, most int) ([]payout.Payout, error)
	// Float records our float at a rail, and returns how the ledger and the rail moved since the last record; zeros the
	// first time.
	Float(ctx context.Context, mode tenant.Mode, rail string, currency money.Currency, balance decimal.Decimal) (expected, found decimal.Decimal, err error)
	// EndDay stores the differences, and closes those of the compared kinds that were not found again.
	EndDay(ctx context.Context, found []Difference, kinds []string) error
	// Collected sums up the sweeps of a mode that were booked since a time, by network and asset.
	Collected(ctx context.Context, mode tenant.Mode, since time.Time) ([]Collected, error)
	// State is the number of open differences of each kind, and the time of the last comparison.
	State(ctx context.Context) (open map[string]int, at time.Time, err error)
	Treasurer
}

// Books compares the ledger with the database and the rails.
type Books struct {
	Store     Store
	Providers map[tenant.Mode]provider.Set
	Now       func() time.Time
	Log       *slog.Logger
}

// Bounds of one reconciliation with the rails.
const (
	statementBack  = 26 * time.Hour // a day, and the time that the last run took
	statementPage  = 200
	statementsMost = 20_000
)

// Reconcile compares, once a day, the ledger with itself, with the deposits and with the payouts, and the payouts with
// the rails. A rail that does not answer keeps its old differences. Each call reports the open differences of each kind
// and the time of the last comparison, so that a process that starts shows them too.
func (a *Books) Reconcile(ctx context.Context, report func(open map[string]int, at time.Time)) error {
	fresh, err := a.Store.BeginDay(ctx)
	if err == nil && fresh {
		err = a.compare(ctx)
	}
	open, at, stateErr := a.Store.State(ctx)
	if stateErr == nil {
		report(open, at)
	}
	return errors.Join(err, stateErr)
}

func (a *Books) compare(ctx context.Context) error {
	found, err := a.Store.Compare(ctx)
	if err != nil {
		return err
	}
	kinds := booksKinds()
	statements, silent := a.statements(ctx)
	found = append(found, statements...)
	if silent == nil {
		kinds = append(kinds, DiffStatement)
	}
	floats, quiet := a.floats(ctx)
	found = append(found, floats...)
	if quiet == nil {
		kinds = append(kinds, DiffFloat)
	}
	if err := a.Store.EndDay(ctx, found, kinds); err != nil {
		return err
	}
	unreported := a.report(ctx)
	if len(found) > 0 {
		a.Log.ErrorContext(ctx, "books differ from external balances", "code", "reconciliation", "differences", len(found))
	}
	return errors.Join(silent, quiet, unreported)
}

// report logs the cost of collecting, once a day.
func (a *Books) report(ctx context.Context) error {
	all, err := a.Collecting(ctx, tenant.Live)
	for _, c := range all {
		a.Log.InfoContext(ctx, "cost of collecting", "network", c.Network, "asset", c.Asset, "amount", c.Amount, "usd", c.USD,
			"gas", c.Gas, "coin", c.Coin, "cost_usd", c.Cost, "cost_per_usd", c.PerUSD())
	}
	return err
}

// statements asks each rail again about the payouts that got their outcome since the last run.
func (a *Books) statements(ctx context.Context) (found []Difference, err error) {
	since, last := a.Now().Add(-statementBack), ""
	for range statementsMost / statementPage {
		rows, err := a.Store.Conclusive(ctx, since, last, statementPage)
		if err != nil {
			return found, err
		}
		for _, o := range rows {
			bank, ok := a.Providers[o.Mode].Named(o.Rail)
			if last = o.ID; !ok {
				continue
			}
			d, err := a.statement(ctx, bank, o)
			if err != nil {
				return found, err
			}
			if d != nil {
				found = append(found, *d)
			}
		}
		if len(rows) < statementPage {
			break
		}
	}
	return found, nil
}

// statement compares one payout with the rail's answer. No answer is an error and no difference.
func (a *Books) statement(ctx context.Context, r rail.Provider, o payout.Payout) (*Difference, error) {
	ctx, cancel := context.WithTimeout(ctx, provider.CallTimeout)
	defer cancel()
	status, err := r.Query(ctx, o.Currency, o.Reference)
	paid := decimal.Zero
	switch {
	case errors.Is(err, rail.ErrNoSuchRef):
	case err != nil:
		return nil, fmt.Errorf("ask %s about payout %s: %w", r.Name(), o.ID, err)
	case status.State == rail.Succeeded:
		paid = status.Amount
	}
	expected := decimal.Zero
	if o.State == payout.Succeeded {
		expected = o.Amount
	}
	if paid.Equal(expected) {
		return nil, nil
	}
	return &Difference{Kind: DiffStatement, Object: o.ID, Asset: string(o.Currency), Expected: expected, Found: paid}, nil
}

// floats compares the movement of the balance at each real rail with that of the ledger. A simulated bank has no float.
func (a *Books) floats(ctx context.Context) (found []Difference, failed error) {
	for mode, set := range a.Providers {
		for _, bank := range set.Rails() {
			if bank.Caps().Simulated {
				continue
			}
			for currency := range bank.Caps().Currencies {
				d, err := a.float(ctx, mode, bank, currency)
				failed = errors.Join(failed, err)
				if d != nil {
					found = append(found, *d)
				}
			}
		}
	}
	return found, failed
}

// float compares one balance; a rail without a balance has no float.
func (a *Books) float(ctx context.Context, mode tenant.Mode, bank rail.Provider, currency money.Currency) (*Difference, error) {
	balance, err := balanceOf(ctx, bank, currency)
	if errors.Is(err, rail.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, provider.CallTimeout)
	defer cancel()
	expected, got, err := a.Store.Float(ctx, mode, bank.Name(), currency, balance)
	if err != nil || expected.Equal(got) {
		return nil, err
	}
	return &Difference{Kind: DiffFloat, Object: string(mode) + " " + bank.Name(), Asset: string(currency), Expected: expected, Found: got}, nil
}
