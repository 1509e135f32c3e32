package rail

import (
	"regexp"

	"causeway.internal/libs/money"
)

// Label is the name that a rail is given where it demands one: the resolved one, or words that are plainly no name. No
// name of a person is ever made up.
func Label(o Order) string {
	if o.AccountName != "" {
		return o.AccountName
	}
	const shown = 4
	return "Account ending " + o.AccountNumber[max(0, len(o.AccountNumber)-shown):]
}

var ours = regexp.MustCompile(`^[a-z0-9-]{5,50}$`)

// IsReference reports whether a text can be a reference of ours; anything else in a webhook names no payout.
func IsReference(text string) bool { return ours.MatchString(text) }

// Reachable lists the known banks of a currency that a rail pays.
func Reachable(p Provider, cur money.Currency) (out []Bank) {
	for _, b := range KnownBanks(cur) {
		if p.Pays(cur, b.Code) {
			out = append(out, b)
		}
	}
	return out
}
