package views

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/change"
)

// exportPage is how many payments of an export are in memory at once.
const exportPage = 500

// Export is the body of GET /v1/payments/export: the payments of a filter as CSV, newest first. Like a report of
// settlements it is written page by page, and its first page is read before the first byte is written.
func (a *Reader) Export(ctx context.Context, f Filter) (Report, error) {
	f.Limit = exportPage
	rows, err := a.Store.List(ctx, f)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, out io.Writer) error {
		w := csv.NewWriter(out)
		if err := w.Write(exportColumns()); err != nil {
			return fmt.Errorf("write CSV: %w", err)
		}
		for {
			for _, v := range rows {
				if err := w.Write(a.exported(v)); err != nil {
					return fmt.Errorf("write CSV: %w", err)
				}
			}
			if len(rows) < exportPage {
				break
			}
			f.Before = rows[len(rows)-1].Payment.ID
			if rows, err = a.Store.List(ctx, f); err != nil {
				return err
			}
		}
		w.Flush()
		return w.Error()
	}, nil
}

func exportColumns() []string {
	return []string{
		"reference", "type", "status", "exception", "createdAt", "expiresAt", "confirmedAt", "settledAt", "fiatCurrency", "fiatAmount", "fee", "payoutAmount",
		"crypto", "network", "cryptoAmount", "receivedAmount", "rate", "transactionUsd", "depositAddress", "txHash", "payoutReference", "bankRef",
		"settlementReference", "merchantReference", "description",
	}
}

// exported is the row of a payment. A gift's reference opens the gift, and the merchant has it anyway.
func (a *Reader) exported(v change.View) []string {
	s := a.Render.ShownOf(v)
	or := func(text *string) string {
		if text == nil {
			return ""
		}
		return *text
	}
	exception, fee, payout := "", "", ""
	if s.Exception != nil {
		exception = string(*s.Exception)
	}
	if s.Charge != nil {
		fee = s.Charge.Fiat.String()
	}
	if s.Payout != nil {
		payout = s.Payout.Reference
	}
	return []string{
		s.Reference, string(s.Type), s.Status, exception, s.CreatedAt, s.ExpiresAt, or(s.ConfirmedAt), or(s.SettledAt), s.FiatCurrency,
		money.Canonical(v.Payment.FiatAmount), fee, s.PayoutAmount.String(), s.Crypto, s.Network, s.CryptoAmount.String(), s.ReceivedAmount.String(),
		s.Rate.String(), s.TransactionUSD.String(), s.DepositAddress, s.TxHash, Plain(payout), Plain(s.BankRef), Plain(s.SettlementRef), Plain(s.MerchantReference), Plain(s.Description),
	}
}
