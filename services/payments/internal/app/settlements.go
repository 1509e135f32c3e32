package app

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/payment"
)

// settlementsMost bounds one report.
const settlementsMost = 50_000

var errTooMany = fault.New(fault.Invalid, "range_too_large", "More than %d payments were settled in this time. Ask for a shorter one.", settlementsMost)

// Settlement is one settled payment as an accountant sees it: every figure may be added up with those of its currency.
type Settlement struct {
	Reference string
	Type      payment.Type
	Currency  money.Currency
	Fiat      decimal.Decimal // as priced
	Fee       decimal.Decimal // kept by us of the money that was converted
	Payout    decimal.Decimal // paid to the receiver
	Crypto    string
	Network   string
	Converted decimal.Decimal // crypto that was converted
	Received  decimal.Decimal // crypto that came
	Rate      decimal.Decimal
	PayoutRef string // of the rail, or the caller's own
	ByCaller  bool
	CreatedAt time.Time
	SettledAt time.Time
}

// Settlements reads settled payments.
type Settlements interface {
	// SettledBetween gives an owner's payments that were settled from (included) to (not), in the order of their settlement.
	SettledBetween(ctx context.Context, o Owner, from, to time.Time, most int) ([]Settlement, error)
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
}

func settlementOf(s Settlement) settlementView {
	by := "causeway"
	if s.ByCaller {
		by = "caller"
	}
	return settlementView{
		s.Reference, s.Type, Timestamp(s.CreatedAt), Timestamp(s.SettledAt), s.Currency, money.N(s.Fiat), money.N(s.Fee), money.N(s.Payout),
		s.Crypto, s.Network, money.N(s.Converted), money.N(s.Received), money.N(s.Rate), s.PayoutRef, by,
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

type settlementsAnswer struct {
	Success     bool             `json:"success"`
	From        string           `json:"from"`
	To          string           `json:"to"`
	Settlements []settlementView `json:"settlements"`
	Totals      struct {
		Count  int           `json:"count"`
		Fiat   []fiatTotal   `json:"fiat"`
		Crypto []cryptoTotal `json:"crypto"`
	} `json:"totals"`
}

// SettlementReport is the body of GET /v1/settlements with its totals; as CSV, which has no totals so that its columns can
// be added up, when asCSV.
func (a *App) SettlementReport(ctx context.Context, o Owner, from, to time.Time, asCSV bool) ([]byte, error) {
	rows, err := a.Settlements.SettledBetween(ctx, o, from, to, settlementsMost+1)
	if err != nil {
		return nil, err
	}
	if len(rows) > settlementsMost {
		return nil, errTooMany
	}
	if asCSV {
		return settlementsCSV(rows)
	}
	out := settlementsAnswer{Success: true, From: Timestamp(from), To: Timestamp(to), Settlements: make([]settlementView, 0, len(rows))}
	for _, s := range rows {
		out.Settlements = append(out.Settlements, settlementOf(s))
	}
	out.Totals.Count = len(rows)
	out.Totals.Fiat, out.Totals.Crypto = fiatTotals(rows), cryptoTotals(rows)
	return encode(out)
}

func fiatTotals(rows []Settlement) []fiatTotal {
	out := []fiatTotal{}
	for _, cur := range money.Currencies() {
		var fiat, fee, payout decimal.Decimal
		n := 0
		for _, s := range rows {
			if s.Currency == cur {
				n, fiat, fee, payout = n+1, fiat.Add(s.Fiat), fee.Add(s.Fee), payout.Add(s.Payout)
			}
		}
		if n > 0 {
			out = append(out, fiatTotal{cur, n, money.N(fiat), money.N(fee), money.N(payout)})
		}
	}
	return out
}

func cryptoTotals(rows []Settlement) []cryptoTotal {
	out := []cryptoTotal{}
	for _, network := range money.Networks() {
		for _, asset := range network.Assets {
			var converted, received decimal.Decimal
			n := 0
			for _, s := range rows {
				if s.Network == network.Name && s.Crypto == asset.Symbol {
					n, converted, received = n+1, converted.Add(s.Converted), received.Add(s.Received)
				}
			}
			if n > 0 {
				out = append(out, cryptoTotal{asset.Symbol, network.Name, n, money.N(converted), money.N(received)})
			}
		}
	}
	return out
}

// settlementsCSV writes no text that a payer or a merchant chose but the caller's own reference, which is guarded against
// being read as a formula.
func settlementsCSV(rows []Settlement) ([]byte, error) {
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	lines := [][]string{{
		"reference", "type", "createdAt", "settledAt", "fiatCurrency", "fiatAmount", "fee", "payoutAmount", "crypto", "network", "convertedAmount",
		"receivedAmount", "rate", "payoutReference", "settledBy",
	}}
	for _, s := range rows {
		v := settlementOf(s)
		lines = append(lines, []string{
			v.Reference, string(v.Type), v.CreatedAt, v.SettledAt, string(v.FiatCurrency), money.Canonical(s.Fiat), money.Canonical(s.Fee),
			money.Canonical(s.Payout), v.Crypto, v.Network, money.Canonical(s.Converted), money.Canonical(s.Received), money.Canonical(s.Rate),
			plain(v.PayoutReference), v.SettledBy,
		})
	}
	if err := w.WriteAll(lines); err != nil {
		return nil, fmt.Errorf("write CSV: %w", err)
	}
	return buf.Bytes(), nil
}

// plain keeps a spreadsheet from running a cell.
func plain(text string) string {
	if text != "" && bytes.ContainsRune([]byte("=+-@\t\r"), rune(text[0])) {
		return "'" + text
	}
	return text
}
