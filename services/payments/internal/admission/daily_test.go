package admission_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/payment"
)

// The limits of a payment are those of settings and those of its merchant, in live mode and in its currency, in the
// order of their locks.
func TestDaily(t *testing.T) {
	t.Parallel()
	of := func(most string) map[money.Currency]decimal.Decimal {
		return map[money.Currency]decimal.Decimal{money.NGN: decimal.RequireFromString(most)}
	}
	terms := admission.NewTerms(func(context.Context) ([]admission.Term, error) {
		return []admission.Term{
			{MerchantID: "bound", DailyLimits: of("20"), Counted: true},
			{MerchantID: "was bound", Counted: true},
			{MerchantID: "other", Suspended: true},
		}, nil
	})
	if err := terms.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys, err := keyring.Parse("k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]map[money.Currency]decimal.Decimal{
		admission.LimitKey: of("10"), admission.LimitPayer: of("30"), admission.LimitReceiver: of("40"),
	}
	live := func(merchant string, currency money.Currency) (p payment.Payment) {
		p.MerchantID, p.Mode, p.Currency, p.KeyID, p.Payer.ChatID = merchant, tenant.Live, currency, 7, "ada"
		p.Receiver.BankCode, p.Receiver.AccountNumber = "058", "0123456789"
		return p
	}
	test := live("bound", money.NGN)
	test.Mode = tenant.Test
	for _, c := range []struct {
		daily  admission.Daily
		of     payment.Payment
		want   string
		counts bool
	}{
		{admission.Daily{Settings: settings, Terms: terms}, live("bound", money.NGN), "key 10, merchant 20, payer 30, receiver 40", true},
		{admission.Daily{Settings: settings, Terms: terms}, live("other", money.NGN), "key 10, payer 30, receiver 40", true},
		{admission.Daily{Settings: settings}, live("bound", money.NGN), "key 10, payer 30, receiver 40", true},
		{admission.Daily{Terms: terms}, live("bound", money.NGN), "merchant 20", true},
		{admission.Daily{Terms: terms}, live("bound", money.KES), "", true},
		{admission.Daily{Terms: terms}, live("was bound", money.NGN), "", true},
		{admission.Daily{Terms: terms}, live("other", money.NGN), "", false},
		{admission.Daily{Settings: settings, Terms: terms}, test, "", false},
		{admission.Daily{}, live("bound", money.NGN), "", false},
	} {
		var got string
		for i, r := range c.daily.Quoted(keys, c.of) {
			if i > 0 {
				got += ", "
			}
			got += fmt.Sprintf("%s %s", r.Kind, r.Most)
		}
		if got != c.want || c.daily.Counts(c.of) != c.counts {
			t.Errorf("limits of a payment of %q in %s, %s: got %q, counts %v; want %q, %v",
				c.of.MerchantID, c.of.Currency, c.of.Mode, got, c.daily.Counts(c.of), c.want, c.counts)
		}
	}
	other := live("bound", money.NGN)
	other.KeyID, other.Payer.ChatID = 8, "ben"
	own := admission.Daily{Terms: terms}
	if a, b := own.Quoted(keys, live("bound", money.NGN)), own.Quoted(keys, other); !bytes.Equal(a[0].Subject, b[0].Subject) {
		t.Error("two keys of one merchant have limits of their own, want one limit")
	}
}
