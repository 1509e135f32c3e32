package rail

import (
	"strings"
	"unicode"

	"causeway.internal/libs/money"
)

// short are common names of institutions that their full names do not contain.
var short = map[string]string{
	"Guaranty Trust Bank": "gtb gtbank gtco", "United Bank for Africa": "uba", "First City Monument Bank": "fcmb", "First Bank of Nigeria": "fbn",
	"Standard Chartered Bank Nigeria": "stanchart scb", "Standard Chartered Bank Kenya": "stanchart scb", "Stanbic IBTC Bank": "ibtc",
	"Moniepoint Microfinance Bank": "monie mfb teamapt", "Kuda Microfinance Bank": "mfb", "OPay": "paycom opay digital services", "Wema Bank": "alat",
	"GCB Bank": "ghana commercial", "AirtelTigo Money": "at airtel tigo momo", "MTN Mobile Money": "momo", "Telecel Cash": "vodafone momo",
	"KCB Bank": "kenya commercial", "Co-operative Bank of Kenya": "coop", "Diamond Trust Bank": "dtb", "Absa Bank Kenya": "barclays",
	"I&M Bank": "i and m", "M-PESA": "safaricom mpesa", "First National Bank": "fnb rmb", "Standard Bank of South Africa": "sbsa", "Absa Bank": "barclays",
	"TymeBank": "tyme",
}

// Search finds banks of a currency in a list by a typed text. Every word of the text must be part of the name or of a
// common name, or one typing error away from a word of either. Case, punctuation and order do not matter. A code finds
// its institution, and an empty text finds all.
func Search(cur money.Currency, list []Bank, text string) []Bank {
	byCode, coded := Find(cur, strings.TrimSpace(text))
	wanted := words(text)
	var found []Bank
	for _, b := range list {
		if (coded && b.Name == byCode.Name) || strings.EqualFold(b.Code, strings.TrimSpace(text)) || holds(append(words(b.Name), words(short[b.Name])...), wanted) {
			found = append(found, b)
		}
	}
	return found
}

// words splits a text into words of letters and digits, in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// slipFrom is the length from which a word may contain a typing error. Shorter words would match each other.
const slipFrom = 5

// holds reports whether the names contain every wanted word. It also reads the names as one word, so that "firstbank"
// finds "First Bank".
func holds(names, wanted []string) bool {
	run := strings.Join(names, "")
	for _, w := range wanted {
		if strings.Contains(run, w) {
			continue
		}
		near := false
		for _, n := range names {
			near = near || (len(w) >= slipFrom && oneSlip(w, n))
		}
		if !near {
			return false
		}
	}
	return true
}

// oneSlip reports whether a and b differ by one added, missing or changed letter, or by two swapped neighbours.
func oneSlip(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	i := 0
	for i < len(x) && x[i] == y[i] {
		i++
	}
	switch rest := string(x[i:]); len(y) - len(x) {
	case 0:
		if i == len(x) || string(x[i+1:]) == string(y[i+1:]) {
			return true
		}
		return i+1 < len(x) && x[i] == y[i+1] && x[i+1] == y[i] && string(x[i+2:]) == string(y[i+2:])
	case 1:
		return rest == string(y[i+1:])
	}
	return false
}
