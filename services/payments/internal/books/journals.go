package books

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/views"
)

// Entry is one line of a journal. Its place in the ledger is its journal and line.
type Entry struct {
	Journal int64
	At      time.Time
	Event   string
	Payment string
	Line    int16
	Account string
	Asset   string
	Side    ledger.Side
	Amount  decimal.Decimal
}

// Month is the journals After one up to another, with the sums of the accounts before them. All that was read for it is
// of the days after Base and before End.
type Month struct {
	Base, End      string // Base is "" without a close before the month
	After, Through int64
	Opening        []AccountSum
}

// entriesPage is how many entries of an export are in memory at once.
const entriesPage = 2_000

// Journals is the CSV of GET /v1/admin/journals: the opening balances of a month, every entry of its journals in their
// order, and the closing balances. It is written page by page. The key of a journal is left out, because it may hold a
// payment's reference. The opening balances are read before the first byte is written, so that their failure can still
// become an error.
func (a *Books) Journals(ctx context.Context, mode tenant.Mode, month time.Time) (views.Report, error) {
	m, err := a.Store.Opening(ctx, month, month.AddDate(0, 1, 0))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, out io.Writer) error {
		x := export{w: csv.NewWriter(out), test: mode == tenant.Test, balances: map[[2]string]decimal.Decimal{}}
		return x.write(ctx, m, a.Store.Entries)
	}, nil
}

// export is a CSV under way, with the balances after its last line.
type export struct {
	w        *csv.Writer
	test     bool
	balances map[[2]string]decimal.Decimal // debits less credits, by account and asset
}

func (x *export) write(ctx context.Context, m Month, entries func(context.Context, Month, Entry, int) ([]Entry, error)) error {
	if err := x.w.Write([]string{"kind", "journal", "bookedAt", "event", "paymentId", "line", "account", "accountName", "asset", "debit", "credit"}); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	for _, a := range m.Opening {
		if x.has(a.Account) {
			x.balances[[2]string{a.Account, a.Asset}] = a.Net()
		}
	}
	if err := x.sums("opening"); err != nil {
		return err
	}
	for last := (Entry{Journal: m.After, Line: lineMost}); ; {
		page, err := entries(ctx, m, last, entriesPage)
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := x.entry(e); err != nil {
				return err
			}
		}
		if len(page) < entriesPage {
			break
		}
		last = page[len(page)-1]
	}
	if err := x.sums("closing"); err != nil {
		return err
	}
	x.w.Flush()
	return x.w.Error()
}

// MonthLayout is how a month is written.
const MonthLayout = "2006-01"

// lineMost is at or after every line of a journal.
const lineMost = 32_767

func (x *export) has(account string) bool { return strings.HasPrefix(account, "test:") == x.test }

// entry writes one entry. Its account is the one of the balances; the payment beside it says whose.
func (x *export) entry(e Entry) error {
	if !x.has(e.Account) {
		return nil
	}
	account := ledger.Summed(e.Account)
	amount := e.Amount
	if e.Side == ledger.Credit {
		amount = amount.Neg()
	}
	key := [2]string{account, e.Asset}
	x.balances[key] = x.balances[key].Add(amount)
	return x.line([]string{"entry", strconv.FormatInt(e.Journal, 10), timestamp.Text(e.At), e.Event, e.Payment, strconv.Itoa(int(e.Line))}, key, amount)
}

// sums writes the balances that are not zero.
func (x *export) sums(kind string) error {
	for _, key := range slices.SortedFunc(maps.Keys(x.balances), compareKeys) {
		if amount := x.balances[key]; !amount.IsZero() {
			if err := x.line([]string{kind, "", "", "", "", ""}, key, amount); err != nil {
				return err
			}
		}
	}
	return nil
}

// line writes an amount on its side of an account.
func (x *export) line(head []string, key [2]string, amount decimal.Decimal) error {
	debit, credit := money.Canonical(amount), ""
	if amount.IsNegative() {
		debit, credit = "", money.Canonical(amount.Neg())
	}
	cells := append(head, key[0], ledger.Title(key[0]), key[1], debit, credit)
	for i, cell := range cells {
		cells[i] = views.Plain(cell)
	}
	if err := x.w.Write(cells); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}
