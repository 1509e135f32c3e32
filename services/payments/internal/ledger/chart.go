package ledger

import "strings"

// testPrefix begins the codes of test mode's accounts.
const testPrefix = "test:"

// Titles of the kinds of accounts, as a reader of the books knows them.
var titles = map[string]string{
	"crypto:deposit":  "Crypto on deposit addresses",
	"crypto:hot":      "Crypto in the treasury and at stations",
	"fiat:float":      "Float at a rail",
	"clearing:payout": "Payouts on their way",
	"clearing:refund": "Refunds on their way",
	"customer":        "Owed to payers",
	"payable":         "Owed to receivers",
	"merchant":        "Owed to a merchant",
	"suspense":        "Money without a running payment",
	"unclaimed":       "Unclaimed money",
	"fx":              "Exchange position",
	"fees":            "Fee income",
	"spread":          "Exchange result",
	"provider_fees":   "Fees of rails",
	"rounding":        "Rounding",
	"gas":             "Fees of networks",
	"capital":         "Capital paid in",
}

// Kind is the kind of an account of either mode, with the second part of the code where the first one has several.
func Kind(code string) string {
	code = strings.TrimPrefix(code, testPrefix)
	first, rest, _ := strings.Cut(code, ":")
	second, _, _ := strings.Cut(rest, ":")
	if _, two := titles[first+":"+second]; two {
		return first + ":" + second
	}
	return first
}

// Title names an account for a reader of the books: its kind in words, and the code of a kind that has no words.
func Title(code string) string {
	if title, ok := titles[Kind(code)]; ok {
		return title
	}
	return Kind(code)
}

// Summed is the account under which the sums of a close count an account: all accounts of payments of one kind and
// asset are one.
func Summed(code string) string {
	bare, isTest := strings.CutPrefix(code, testPrefix)
	kind, rest, _ := strings.Cut(bare, ":")
	if kind == "customer" || kind == "payable" {
		_, asset, _ := strings.Cut(rest, ":")
		bare = kind + ":" + asset
	}
	if isTest {
		return testPrefix + bare
	}
	return bare
}

// Parts are the parts of an account's code behind its kind, without the asset: a network, a rail or a merchant.
func Parts(code string) string {
	bare := strings.TrimPrefix(strings.TrimPrefix(code, testPrefix), Kind(code))
	bare = strings.TrimPrefix(bare, ":")
	i := strings.LastIndex(bare, ":")
	if i < 0 {
		return ""
	}
	return bare[:i]
}
