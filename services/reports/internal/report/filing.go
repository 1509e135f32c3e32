package report

import (
	"slices"
	"strings"
	"unicode/utf8"

	"causeway.internal/libs/fault"
)

// NeitherFiled is the text of docs/api-contract.md#fixed-texts for a filing without phone and wallet.
const NeitherFiled = "At least one of phoneNumber or walletAddress must be provided"

// Filing is the body of a report as it was sent; "" is not supplied.
type Filing struct {
	Kind      string
	Name      string
	Phone     string
	Wallet    string
	Session   string
	Fraudster string
	Text      string
}

// Fields of the body, as errors name them.
const (
	fieldKind      = "complaintType"
	fieldName      = "name"
	fieldPhone     = "phoneNumber"
	fieldWallet    = "walletAddress"
	fieldSession   = "sessionReference"
	fieldFraudster = "fraudsterWalletAddress"
	fieldText      = "description"
)

// Check cleans a filing into a pending report and adds a problem for every broken rule. The report is valid only
// without problems. It lacks the service's own fields (ids, owner, times). unread names fields that were sent but
// unreadable, so that they count as supplied.
func (f Filing) Check(problems *fault.Problems, unread ...string) Report {
	r := Report{
		Kind: Kind(f.Kind), Name: f.Name, Session: Trim(f.Session), Wallet: Trim(f.Wallet), Fraudster: Trim(f.Fraudster),
		Text: f.Text, Status: Pending, Version: 1, Sequence: 1,
	}
	switch {
	case f.Kind == "":
		problems.Add(fieldKind, "is required")
	case !slices.Contains(Kinds(), r.Kind):
		problems.Add(fieldKind, "must be one of %s", list(Kinds()))
	}
	if strings.TrimSpace(f.Name) == "" {
		problems.Add(fieldName, "is required")
	}
	atMost(problems, fieldName, f.Name, NameMax)
	if blank := strings.TrimSpace(f.Phone) == ""; !blank {
		var ok bool
		if r.Phone, ok = Phone(f.Phone); !ok {
			problems.Add(fieldPhone, "must have %d to %d digits; spaces, -, ., brackets and a leading + are dropped", PhoneMin, PhoneMax)
		}
	} else if r.Wallet == "" && !slices.Contains(unread, fieldPhone) && !slices.Contains(unread, fieldWallet) {
		problems.Say(NeitherFiled)
		problems.Add(fieldPhone, "is required unless walletAddress is given")
		problems.Add(fieldWallet, "is required unless phoneNumber is given")
	}
	atMost(problems, fieldWallet, r.Wallet, AddressMax)
	atMost(problems, fieldFraudster, r.Fraudster, AddressMax)
	atMost(problems, fieldSession, r.Session, SessionMax)
	atMost(problems, fieldText, f.Text, TextMax)
	return r
}

func atMost(problems *fault.Problems, field, text string, limit int) {
	if utf8.RuneCountInString(text) > limit {
		problems.Add(field, "must have at most %d characters", limit)
	}
}

func list[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = string(one)
	}
	return strings.Join(words, ", ")
}
