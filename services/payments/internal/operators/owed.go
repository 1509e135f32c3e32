package operators

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/views"
)

// OwedRow is an amount of one asset that is owed to a payer, a receiver or a merchant, as the last list has it. A stray
// deposit has no payment, and a debt to a merchant none of its own.
type OwedRow struct {
	ID         string
	Mode       string
	To         string
	PaymentID  string
	MerchantID string
	Deposit    string // key of a stray deposit
	Asset      string
	Amount     decimal.Decimal
	Since      time.Time
}

// OwedSum adds up the rows of one mode, kind of creditor and asset.
type OwedSum struct {
	Mode   string
	To     string
	Asset  string
	Count  int64
	Amount decimal.Decimal
	Oldest time.Time
}

// OwedFilter selects rows. An empty text selects all.
type OwedFilter struct {
	Mode, To, Asset string
	Before          time.Time // owed since before this time
	After           string    // key of the last row of the page before
	Most            int
}

// Creditors are the kinds of those to whom money is owed.
func Creditors() []string { return []string{"payer", "receiver", "merchant"} }

type owedView struct {
	Mode       string       `json:"mode"`
	To         string       `json:"to"`
	PaymentID  *string      `json:"paymentId"`
	MerchantID *string      `json:"merchantId"`
	Deposit    *string      `json:"deposit"`
	Asset      string       `json:"asset"`
	Amount     money.Number `json:"amount"`
	Since      string       `json:"since"`
	AgeDays    int64        `json:"ageDays"`
}

func (a *Operators) owedOf(r OwedRow) owedView {
	const day = 24 * time.Hour
	return owedView{
		r.Mode, r.To, orNull(r.PaymentID), orNull(r.MerchantID), orNull(r.Deposit), r.Asset, money.N(r.Amount), timestamp.Text(r.Since),
		int64(a.Now().Sub(r.Since) / day),
	}
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// owedKey is the place of a row in the list.
func owedKey(r OwedRow) string { return r.Since.UTC().Format(time.RFC3339Nano) + " " + r.ID }

// Owed is the body of GET /v1/admin/owed: what was owed when the last list was made, the oldest first.
func (a *Operators) Owed(ctx context.Context, f OwedFilter) ([]byte, error) {
	limit := f.Most
	f.Most++
	rows, made, err := a.Store.Owed(ctx, f)
	if err != nil {
		return nil, err
	}
	rows, p := page(rows, limit, owedKey)
	out := make([]owedView, 0, len(rows))
	for _, r := range rows {
		out = append(out, a.owedOf(r))
	}
	return views.Encode(struct {
		Success    bool             `json:"success"`
		MadeAt     string           `json:"madeAt"`
		Owed       []owedView       `json:"owed"`
		Pagination views.Pagination `json:"pagination"`
	}{true, timestamp.Text(made), out, p})
}

// owedPage is how many rows of a CSV are in memory at once.
const owedPage = 2_000

// OwedCSV writes the rows from the filter's place on, page by page. The first page is read before the first byte is
// written, so that its failure can still become an error.
func (a *Operators) OwedCSV(ctx context.Context, f OwedFilter) (views.Report, error) {
	f.Most = owedPage
	rows, _, err := a.Store.Owed(ctx, f)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, out io.Writer) error {
		w := csv.NewWriter(out)
		if err := w.Write([]string{"mode", "to", "paymentId", "merchantId", "deposit", "asset", "amount", "since", "ageDays"}); err != nil {
			return fmt.Errorf("write CSV: %w", err)
		}
		for {
			for _, r := range rows {
				age := strconv.FormatInt(a.owedOf(r).AgeDays, 10)
				if err := w.Write([]string{r.Mode, r.To, r.PaymentID, r.MerchantID, r.Deposit, r.Asset, money.Canonical(r.Amount), timestamp.Text(r.Since), age}); err != nil {
					return fmt.Errorf("write CSV: %w", err)
				}
			}
			if len(rows) < owedPage {
				w.Flush()
				return w.Error()
			}
			f.After = owedKey(rows[len(rows)-1])
			if rows, _, err = a.Store.Owed(ctx, f); err != nil {
				return err
			}
		}
	}, nil
}
