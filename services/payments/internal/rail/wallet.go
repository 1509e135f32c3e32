package rail

import (
	"fmt"
	"slices"
	"strings"

	"causeway.internal/libs/money"
)

// mobiles are the first digits of a country's mobile numbers, as they follow the 0 of a local number. The other numbers
// are of fixed lines. The blocks of the operators say nothing about a number's operator of today: people of both
// countries may take their numbers to another one.
var mobiles = map[money.Currency][]string{money.GHS: {"2", "5"}, money.KES: {"7", "10", "11"}}

// countries name the currencies' countries in refusals, samples the form of their mobile numbers.
var (
	countries = map[money.Currency]string{money.GHS: "Ghana", money.KES: "Kenya"}
	samples   = map[money.Currency]string{money.GHS: "0241234567", money.KES: "0712345678"}
)

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
	if !ok || !slices.ContainsFunc(mobiles[e.Currency], func(first string) bool { return strings.HasPrefix(local[1:], first) }) {
		return fmt.Sprintf("must be a mobile number of %s, such as %s", countries[e.Currency], samples[e.Currency])
	}
	return ""
}
