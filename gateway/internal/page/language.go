package page

import (
	"embed"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"causeway.internal/libs/language"
)

// texts holds every word that pages show: a file for each language, of the same keys, with the same parameters in
// braces. A text with a count has a form for each plural category that CLDR gives the language.
//
//go:embed texts/*.json
var texts embed.FS

// languages are the translations, English first.
var languages = func() language.List {
	all, err := language.Read(texts)
	if err != nil {
		panic(err) // embedded: found by the first test
	}
	return all
}()

// fiat is the price of a payment.
func fiat(l *language.Language, p payment) string { return l.Money(p.FiatCurrency, p.FiatAmount) }

// payout is the amount for the receiver; before it is known, the price.
func payout(l *language.Language, p payment) string {
	if p.PayoutAmount == "" {
		return fiat(l, p)
	}
	return l.Money(p.FiatCurrency, p.PayoutAmount)
}

// NewOffer reads a list of languages separated by commas: those that payments of live mode are shown in; those of test
// mode have all. English is always one of them, because a reader of none of the others gets it.
func NewOffer(list string) (language.List, error) {
	offer := language.List{languages[0]}
	for _, code := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		l := languages.Named(code)
		if l == nil {
			return nil, fmt.Errorf("%q is none of %s", code, languages.Codes())
		}
		if !slices.Contains(offer, l) {
			offer = append(offer, l)
		}
	}
	return offer, nil
}

// speech is the language of one answer, and the others that its reader may choose.
type speech struct {
	*language.Language
	Offered language.List
	Query   string // ?lang= and the reader's choice, for the addresses of the page and of its forms; "" without one
}

// speak chooses the language of an answer: the one that the reader asked for, else the payment's, else the browser's.
// Live mode and pages without a payment have the languages that a speaker has read.
func (p *Pages) speak(r *http.Request, mode, locale string) speech {
	s := speech{Offered: p.offer}
	if mode == "test" {
		s.Offered = languages
	}
	var asked bool
	if s.Language, asked = s.Offered.Choose(r, locale); asked {
		s.Query = "?lang=" + s.Code
	}
	return s
}
