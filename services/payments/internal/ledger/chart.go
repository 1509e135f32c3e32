package ledger

import (
	"strings"

	"causeway.internal/libs/id"
)

// testPrefix begins the codes of test mode's accounts.
const testPrefix = "test:"

// kindWithdrawal is the kind of the accounts of withdrawals, which owe a merchant its own money.
const kindWithdrawal = "payable:withdrawal"

// Titles of the kinds of accounts, as a reader of the books knows them.
var titles = map[string]string{
	"crypto:deposit":  "Crypto on deposit addresses",
	"crypto:hot":      "Crypto in the treasury and at stations",
	"fiat:float":      "Float at a rail",
	"clearing:payout": "Payouts on their way",
	"clearing:refund": "Refunds on their way",
	"customer":        "Owed to payers",
	"payable":         "Owed to receivers",
	kindWithdrawal:    "Withdrawals of merchants on their way",
	"merchant":        "Owed to a merchant",
	kindSuspense:      "Money without a running payment",
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
	if first == "payable" && strings.HasPrefix(second, id.Withdrawal) {
		return kindWithdrawal
	}
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
	switch kind := Kind(bare); kind {
	case "customer", "payable", kindWithdrawal:
		bare = kind + bare[strings.LastIndex(bare, ":"):]
	}
	if isTest {
		return testPrefix + bare
	}
	return bare
}

// Parts are the parts of an account's code behind its kind, without the asset: a network, a rail or a merchant.
func Parts(code string) string {
	bare := strings.TrimPrefix(code, testPrefix)
	if kind := Kind(code); strings.HasPrefix(bare, kind+":") {
		bare = bare[len(kind)+1:]
	} else {
		_, bare, _ = strings.Cut(bare, ":")
	}
	i := strings.LastIndex(bare, ":")
	if i < 0 {
		return ""
	}
	return bare[:i]
}
