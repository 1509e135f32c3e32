package rail

import (
	"testing"

	"causeway.internal/libs/money"
)

// The standard's worked examples match, and samples that the rails pay fail.
func TestNUBAN(t *testing.T) {
	for _, c := range []struct {
		cur        money.Currency
		bank, acct string
		want       CheckDigit
	}{
		{money.NGN, "011", "0000014579", DigitMatches},
		{money.NGN, "000016", "0000014579", DigitMatches}, // the same bank by its other code
		{money.NGN, "011", "0000000220", DigitMatches},
		{money.NGN, "044", "0010246780", DigitMatches},
		{money.NGN, "50515", "5012345676", DigitMatches},
		{money.NGN, "044", "0690000031", DigitDiffers},
		{money.NGN, "011", "0000014570", DigitDiffers},
		{money.NGN, "999992", "8012345678", DigitUnknown}, // a wallet
		{money.NGN, "011", "123", DigitUnknown},
		{money.NGN, "nobody", "0000014579", DigitUnknown},
		{money.GHS, "280100", "0000014579", DigitUnknown},
	} {
		if got := NUBAN(c.cur, c.bank, c.acct); got != c.want {
			t.Errorf("%s %s %s: %s, want %s", c.cur, c.bank, c.acct, got, c.want)
		}
	}
}

func TestPhone(t *testing.T) {
	for number, want := range map[string][2]string{
		"0712345678": {"0712345678", "254712345678"}, "254712345678": {"0712345678", "254712345678"}, "+254112345678": {"0112345678", "254112345678"},
		"712345678": {"0712345678", "254712345678"}, "12345": {}, "07123456789": {}, "0712a45678": {}, "": {}, "233241234567": {},
	} {
		local, international, ok := Phone(money.KES, number)
		if ok != (want[0] != "") || local != want[0] || international != want[1] {
			t.Errorf("Phone(KES, %q) = %q, %q, %t; want %q", number, local, international, ok, want)
		}
	}
	if _, _, ok := Phone(money.ZAR, "0712345678"); ok {
		t.Error("there is no mobile money in South Africa")
	}
	if local, _, _ := Phone(money.GHS, "233241234567"); local != "0241234567" {
		t.Errorf("Phone(GHS, 233241234567) = %s, want 0241234567", local)
	}
}
