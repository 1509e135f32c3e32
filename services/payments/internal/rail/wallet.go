package rail

import (
	"fmt"
	"slices"
	"strings"

	"causeway.internal/libs/money"
)

// operators are the blocks of numbers of each mobile wallet's operator, as they follow the 0 of a local number. A
// number that its owner took to another operator is refused: nobody but the operators knows of it, and money that goes
// to another person's wallet does not come back.
var operators = map[string][]string{
	"MTN Mobile Money": {"24", "25", "53", "54", "55", "59"},
	"Telecel Cash":     {"20", "50"},
	"AirtelTigo Money": {"26", "27", "56", "57"},
	"M-PESA": {
		"70", "71", "72", "740", "741", "742", "743", "745", "746", "748", "757", "758", "759", "768", "769", "79",
		"110", "111", "112", "113", "114", "115", "116", "117", "118", "119",
	},
}

// countries name the currencies' countries in refusals.
var countries = map[money.Currency]string{money.GHS: "Ghana", money.KES: "Kenya"}

// WalletOf is the mobile wallet that has a code.
func WalletOf(cur money.Currency, code string) (Entry, bool) {
	i := slices.IndexFunc(banks[cur], func(e Entry) bool { return e.Wallet && e.Known(code) })
	if i < 0 {
		return Entry{}, false
	}
	return banks[cur][i], true
}

// Refuses says why a number is none of a mobile wallet, or "".
func (e Entry) Refuses(account string) string {
	local, _, ok := Phone(e.Currency, account)
	if !ok {
		return fmt.Sprintf("must be a phone number of %s, such as %s", countries[e.Currency], map[money.Currency]string{money.GHS: "0241234567", money.KES: "0712345678"}[e.Currency])
	}
	if !slices.ContainsFunc(operators[e.Name], func(block string) bool { return strings.HasPrefix(local[1:], block) }) {
		return "is no number of the operator of " + e.Name
	}
	return ""
}
