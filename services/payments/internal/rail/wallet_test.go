package rail

import (
	"testing"

	"causeway.internal/libs/money"
)

// A mobile wallet takes the mobile numbers of its country, in any common form, also those that came from another
// operator.
func TestEntry_refuses(t *testing.T) {
	for _, c := range []struct {
		cur     money.Currency
		code    string
		account string
		taken   bool
	}{
		{money.KES, "MPESA", "0712345678", true},
		{money.KES, "MPS", "254712345678", true},
		{money.KES, "MPESA", "0110123456", true},
		{money.KES, "MPESA", "174379", false},    // a till, which is no wallet of a person
		{money.KES, "MPESA", "0733123456", true}, // of a block of another operator
		{money.KES, "MPESA", "0123456789", false},
		{money.KES, "MPESA", "0201234567", false},
		{money.KES, "MPESA", "233241234567", false},
		{money.GHS, "MTN", "0241234567", true},
		{money.GHS, "MTN", "+233551234567", true},
		{money.GHS, "MTN", "0201234567", true},
		{money.GHS, "MTN", "0302123456", false}, // a fixed line in Accra
		{money.GHS, "VOD", "0201234567", true},
		{money.GHS, "TIGO", "0271234567", true},
		{money.GHS, "ATL", "0241234567", true},
		{money.GHS, "MTN", "24123456", false},
	} {
		e, ok := WalletOf(c.cur, c.code)
		if !ok {
			t.Errorf("WalletOf(%s, %s) finds none", c.cur, c.code)
			continue
		}
		if problem := e.Refuses(c.account); (problem == "") != c.taken {
			t.Errorf("%s with %s: got %q, want it taken: %t", c.code, c.account, problem, c.taken)
		}
	}
	for _, w := range wallets {
		if problem := w.Refuses(samples[w.Currency]); problem != "" {
			t.Errorf("%s refuses the sample of its refusals: %s", w.Name, problem)
		}
	}
	if _, ok := WalletOf(money.NGN, "058"); ok {
		t.Error("a bank is a mobile wallet")
	}
}
