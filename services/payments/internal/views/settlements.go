package views

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/payment"
)

// settlementsPage is how many payments of a report are in memory at once.
const settlementsPage = 2_000

// Settlement is one settled payment for an accountant: its figures may be added to those of the same currency.
type Settlement struct {
	ID        string
	Reference string
	Type      payment.Type
	Currency  money.Currency
	Fiat      decimal.Decimal // as priced
	Fee       decimal.Decimal // our fee on the converted money
	Payout    decimal.Decimal // paid to the receiver
	Crypto    string
	Network   string
	Converted decimal.Decimal // crypto that was converted
	Received  decimal.Decimal // crypto that was received
	Rate      decimal.Decimal
	PayoutRef string // of the rail, or the caller's own
	ByCaller  bool
	BankRef   string // of the create
	Merchant  string // the merchant's own reference
	CallerRef string // of the caller's settlement
	CreatedAt time.Time
	SettledAt time.Time
}

type settlementView struct {
	Reference       string         `json:"reference"`
	Type            payment.Type   `json:"type"`
	CreatedAt       string         `json:"createdAt"`
	SettledAt       string         `json:"settledAt"`
	FiatCurrency    money.Currency `json:"fiatCurrency"`
	FiatAmount      money.Number   `json:"fiatAmount"`
	Fee             money.Number   `json:"fee"`
	PayoutAmount    money.Number   `json:"payoutAmount"`
	Crypto          string         `json:"crypto"`
	Network         string         `json:"network"`
	ConvertedAmount money.Number   `json:"convertedAmount"`
	ReceivedAmount  money.Number   `json:"receivedAmount"`
	Rate            money.Number   `json:"rate"`
	PayoutReference string         `json:"payoutReference"`
	SettledBy       string         `json:"settledBy"`
	BankRef         string         `json:"bankRef,omitempty"`
	SettlementRef   string         `json:"settlementReference,omitempty"`
	Merchant        string         `json:"merchantReference,omitempty"`
}

func settlementOf(s Settlement) settlementView {
	by := "causeway"
	if s.ByCaller {
		by = "caller"
	}
	return settlementView{
		s.Reference, s.Type, timestamp.Text(s.CreatedAt), timestamp.Text(s.SettledAt), s.Currency, money.N(s.Fiat), money.N(s.Fee), money.N(s.Payout),
		s.Crypto, s.Network, money.N(s.Converted), money.N(s.Received), money.N(s.Rate), s.PayoutRef, by, s.BankRef, s.CallerRef, s.Merchant,
	}
}

type fiatTotal struct {
	FiatCurrency money.Currency `json:"fiatCurrency"`
	Count        int            `json:"count"`
	FiatAmount   money.Number   `json:"fiatAmount"`
	Fee          money.Number   `json:"fee"`
	PayoutAmount money.Number   `json:"payoutAmount"`
}

type cryptoTotal struct {
	Crypto          string       `json:"crypto"`
	Network         string       `json:"network"`
	Count           int          `json:"count"`
	ConvertedAmount money.Number `json:"convertedAmount"`
	ReceivedAmount  money.Number `json:"receivedAmount"`
}

// settlementTotals adds up the rows while they are written.
type settlementTotals struct {
	count  int
	fiat   map[money.Currency]*fiatTotal
	crypto map[[2]string]*cryptoTotal
}

func (t *settlementTotals) add(s Settlement) {
	t.count++
	f := t.fiat[s.Currency]
	if f == nil {
		f = &fiatTotal{FiatCurrency: s.Currency}
		t.fiat[s.Currency] = f
	}
	f.Count++
	f.FiatAmount, f.Fee, f.PayoutAmount = plus(f.FiatAmount, s.Fiat), plus(f.Fee, s.Fee), plus(f.PayoutAmount, s.Payout)
	pair := [2]string{s.Network, s.Crypto}
	c := t.crypto[pair]
	if c == nil {
		c = &cryptoTotal{Crypto: s.Crypto, Network: s.Network}
		t.crypto[pair] = c
	}
	c.Count++
	c.ConvertedAmount, c.ReceivedAmount = plus(c.ConvertedAmount, s.Converted), plus(c.ReceivedAmount, s.Received)
}

func plus(n money.Number, d decimal.Decimal) money.Number { return money.N(n.Decimal.Add(d)) }

type totalsView struct {
	Count  int           `json:"count"`
	Fiat   []fiatTotal   `json:"fiat"`
	Crypto []cryptoTotal `json:"crypto"`
}

// view lists the totals in the order of the currencies and the networks.
func (t *settlementTotals) view() totalsView {
	v := totalsView{t.count, []fiatTotal{}, []cryptoTotal{}}
	for _, currency := range money.Currencies() {
		if f := t.fiat[currency]; f != nil {
			v.Fiat = append(v.Fiat, *f)
		}
	}
	for _, network := range money.Networks() {
		for _, asset := range network.Assets {
			if c := t.crypto[[2]string{network.Name, asset.Symbol}]; c != nil {
				v.Crypto = append(v.Crypto, *c)
			}
		}
	}
	return v
}

// Report writes a report of any length.
type Report func(ctx context.Context, w io.Writer) error

// SettlementReport is the body of GET /v1/settlements: JSON with totals, or with asCSV a CSV, which has no totals so
// that its columns can be added up. It is written page by page, so that a slow reader holds neither memory nor a
// connection of the database. The first page is read before the first byte is written, so that its failure can still
// become an error.
func (a *Reader) SettlementReport(ctx context.Context, o tenant.Owner, from, to time.Time, asCSV bool) (Report, error) {
	first, err := a.Store.SettledBetween(ctx, o, from, "", to, settlementsPage)
	if err != nil {
		return nil, err
	}
	each := func(ctx context.Context, write func(Settlement) error) error {
		rows := first
		for {
			for _, s := range rows {
				if err := write(s); err != nil {
					return err
				}
			}
			if len(rows) < settlementsPage {
				return nil
			}
			last := rows[len(rows)-1]
			if rows, err = a.Store.SettledBetween(ctx, o, last.SettledAt, last.ID, to, settlementsPage); err != nil {
				return err
			}
		}
	}
	if asCSV {
		return func(ctx context.Context, w io.Writer) error { return settlementsCSV(ctx, w, each) }, nil
	}
	return func(ctx context.Context, w io.Writer) error { return settlementsJSON(ctx, w, from, to, each) }, nil
}

type settlementRows func(ctx context.Context, write func(Settlement) error) error

func settlementsJSON(ctx context.Context, w io.Writer, from, to time.Time, each settlementRows) error {
	totals := settlementTotals{fiat: map[money.Currency]*fiatTotal{}, crypto: map[[2]string]*cryptoTotal{}}
	if _, err := fmt.Fprintf(w, `{"success":true,"from":%q,"to":%q,"settlements":[`, timestamp.Text(from), timestamp.Text(to)); err != nil {
		return fmt.Errorf("write settlements: %w", err)
	}
	err := each(ctx, func(s Settlement) error {
		row, err := Encode(settlementOf(s))
		if err != nil {
			return err
		}
		if totals.count > 0 {
			row = append([]byte{','}, row...)
		}
		totals.add(s)
		_, err = w.Write(row)
		return err
	})
	if err != nil {
		return fmt.Errorf("write settlements: %w", err)
	}
	end, err := Encode(totals.view())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, `],"totals":%s}`, end)
	return err
}

// settlementsCSV writes no text of payers or merchants except the caller's own references, which Plain escapes.
func settlementsCSV(ctx context.Context, out io.Writer, each settlementRows) error {
	w := csv.NewWriter(out)
	err := w.Write([]string{
		"reference", "type", "createdAt", "settledAt", "fiatCurrency", "fiatAmount", "fee", "payoutAmount", "crypto", "network", "convertedAmount",
		"receivedAmount", "rate", "payoutReference", "settledBy", "bankRef", "settlementReference", "merchantReference",
	})
	if err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	err = each(ctx, func(s Settlement) error {
		v := settlementOf(s)
		return w.Write([]string{
			v.Reference, string(v.Type), v.CreatedAt, v.SettledAt, string(v.FiatCurrency), money.Canonical(s.Fiat), money.Canonical(s.Fee),
			money.Canonical(s.Payout), v.Crypto, v.Network, money.Canonical(s.Converted), money.Canonical(s.Received), money.Canonical(s.Rate),
			Plain(v.PayoutReference), v.SettledBy, Plain(v.BankRef), Plain(v.SettlementRef), Plain(v.Merchant),
		})
	})
	if err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	w.Flush()
	return w.Error()
}

// Plain keeps a spreadsheet from reading a cell as a formula.
func Plain(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
