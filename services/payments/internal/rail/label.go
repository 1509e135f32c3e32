package rail

import "regexp"

// Label is the receiver's name in an order to a rail that requires one: the resolved name, or a text that is clearly
// not a name. Causeway never invents a person's name.
func Label(o Order) string {
	if o.AccountName != "" {
		return o.AccountName
	}
	const shown = 4
	return "Account ending " + o.AccountNumber[max(0, len(o.AccountNumber)-shown):]
}

var reference = regexp.MustCompile(`^[a-z0-9-]{5,50}$`)

// IsReference reports whether a text in a webhook has the format of a payout's reference.
func IsReference(text string) bool { return reference.MatchString(text) }
