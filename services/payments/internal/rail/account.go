package rail

import (
	"strings"

	"causeway.internal/libs/money"
)

// CheckDigit is the verdict of an account number's check digit. It never refuses a payment: accounts of mobile wallets
// are phone numbers, and even the rails' own sample accounts fail the check.
type CheckDigit string

// The verdicts.
const (
	DigitMatches CheckDigit = "match"
	DigitDiffers CheckDigit = "mismatch"
	DigitUnknown CheckDigit = "unknown" // no check digit in this country, or a bank without a number for it
)

// NUBAN checks the tenth digit of a Nigerian account number (CBN, NUBAN standard, revised 2020). The digits of the
// bank's number, written as 000 and three digits or as 9 and five, and the nine digits of the account have the weights
// 3 7 3 in turn.
func NUBAN(cur money.Currency, bankCode, account string) CheckDigit {
	e, ok := Find(cur, bankCode)
	if cur != money.NGN || !ok || len(account) != 10 || !digits(account) || !digits(e.cbn) {
		return DigitUnknown
	}
	prefix := ""
	switch len(e.cbn) {
	case 3:
		prefix = "000" + e.cbn
	case 5:
		prefix = "9" + e.cbn
	default:
		return DigitUnknown
	}
	sum := 0
	for i, c := range prefix + account[:9] {
		sum += int(c-'0') * []int{3, 7, 3}[i%3]
	}
	if (10-sum%10)%10 == int(account[9]-'0') {
		return DigitMatches
	}
	return DigitDiffers
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Phone reads the number of a mobile wallet in any common format and returns the two formats that rails require: local
// (0241234567), and international without a plus (233241234567).
func Phone(cur money.Currency, number string) (local, international string, ok bool) {
	prefix := map[money.Currency]string{money.GHS: "233", money.KES: "254"}[cur]
	n := strings.TrimPrefix(number, "+")
	if prefix == "" || !digits(n) {
		return "", "", false
	}
	switch {
	case len(n) == 12 && strings.HasPrefix(n, prefix):
		n = n[3:]
	case len(n) == 10 && n[0] == '0':
		n = n[1:]
	}
	if len(n) != 9 || n[0] == '0' {
		return "", "", false
	}
	return "0" + n, prefix + n, true
}
