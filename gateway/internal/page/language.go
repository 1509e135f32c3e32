package page

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	tags "golang.org/x/text/language"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

// texts holds every word that pages show: a file for each language, of the same keys, with the same parameters in
// braces. A text with a count has a form for each plural category that CLDR gives the language.
//
//go:embed texts/*.json
var texts embed.FS

// languages are the translations, English first. The second tag gives the forms of numbers and plurals: Portuguese as
// in Africa and Portugal, Arabic with the digits that wallets and addresses have.
var languages = readLanguages([][2]string{
	{"en", "en"}, {"fr", "fr"}, {"sw", "sw"}, {"ha", "ha"}, {"yo", "yo"}, {"pt", "pt-PT"}, {"ar", "ar-u-nu-latn"},
})

// language is a translation of the pages.
type language struct {
	Code         string // as in ?lang=
	tag          tags.Tag
	texts        map[string]phrase
	group, point string // between the digits of numbers
}

// phrase is a text by plural category; most have "other" alone.
type phrase map[string]string

// UnmarshalJSON reads a text or an object of its plural forms.
func (p *phrase) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*p = phrase{"other": one}
		return nil
	}
	var forms map[string]string
	err := json.Unmarshal(raw, &forms)
	*p = forms
	return err
}

func readLanguages(list [][2]string) (out []*language) {
	for _, names := range list {
		l := &language{Code: names[0], tag: tags.MustParse(names[1])}
		raw, err := texts.ReadFile("texts/" + l.Code + ".json")
		if err == nil {
			err = json.Unmarshal(raw, &l.texts)
		}
		if err != nil {
			panic(fmt.Sprintf("the texts of %s: %v", l.Code, err)) // embedded: found by the first test
		}
		l.group, l.point = separators(l.tag)
		out = append(out, l)
	}
	return out
}

// separators are what a language writes between thousands, and before the fraction of a number.
func separators(tag tags.Tag) (group, point string) {
	gaps := strings.FieldsFunc(message.NewPrinter(tag).Sprint(number.Decimal(1234567.5)), unicode.IsDigit)
	return gaps[0], gaps[len(gaps)-1]
}

// forms are the plural categories as the files name them.
var forms = map[plural.Form]string{
	plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many", plural.Other: "other",
}

// form is the plural category of a whole number.
func (l *language) form(n int64) string {
	return forms[plural.Cardinal.MatchPlural(l.tag, int(n%10_000_000), 0, 0, 0, 0)]
}

// text is the text of a key. The names and values that follow fill its parameters; the one named count chooses the
// plural form. A key without a text returns itself; a test refuses that.
func (l *language) text(key string, fill ...any) string {
	p, ok := l.texts[key]
	if !ok {
		return key
	}
	s, pairs := p["other"], make([]string, 0, len(fill))
	for i := 0; i+1 < len(fill); i += 2 {
		value := fmt.Sprint(fill[i+1])
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && fill[i] == "count" && p[l.form(n)] != "" {
			s = p[l.form(n)]
		}
		pairs = append(pairs, fmt.Sprintf("{%v}", fill[i]), l.isolate(value))
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// isolate keeps a value of Latin letters or digits in one piece amid text that runs from right to left.
func (l *language) isolate(value string) string {
	if l.Direction() == "rtl" {
		return "\u2068" + value + "\u2069"
	}
	return value
}

// Name is the language in its own words.
func (l *language) Name() string { return l.texts["language"]["other"] }

// Direction is ltr, or rtl where lines run from right to left.
func (l *language) Direction() string { return l.texts["direction"]["other"] }

// money writes an amount of a currency with both digits of its minor unit, or none.
func (l *language) money(currency string, n json.Number) string {
	whole, part, dotted := strings.Cut(n.String(), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + l.group + whole[i:]
	}
	switch {
	case dotted && len(part) == 1:
		whole += l.point + part + "0"
	case dotted:
		whole += l.point + part
	}
	return l.text("money", "currency", currency, "amount", whole)
}

// fiat is the price of a payment.
func (l *language) fiat(p payment) string { return l.money(p.FiatCurrency, p.FiatAmount) }

// payout is the amount for the receiver; before it is known, the price.
func (l *language) payout(p payment) string {
	if p.PayoutAmount == "" {
		return l.fiat(p)
	}
	return l.money(p.FiatCurrency, p.PayoutAmount)
}

// date writes a time in UTC.
func (l *language) date(of time.Time) string {
	t := of.UTC()
	return l.text("date", "day", t.Day(), "month", l.text("month."+strconv.Itoa(int(t.Month()))), "year", t.Year(), "time", t.Format("15:04"))
}

// Offer is the languages that payments of live mode are shown in; those of test mode have all.
type Offer []*language

// NewOffer reads a list of languages separated by commas. English is always one of them, because a reader of none of
// the others gets it.
func NewOffer(list string) (Offer, error) {
	offer := Offer{languages[0]}
	for _, code := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		i := slices.IndexFunc(languages, func(l *language) bool { return l.Code == code })
		if i < 0 {
			return nil, fmt.Errorf("%q is none of %s", code, codes(languages))
		}
		if !slices.Contains(offer, languages[i]) {
			offer = append(offer, languages[i])
		}
	}
	return offer, nil
}

// codes lists languages by their codes.
func codes(list []*language) string {
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = l.Code
	}
	return strings.Join(out, ", ")
}

// named is the language that has a code.
func (o Offer) named(code string) *language {
	if i := slices.IndexFunc(o, func(l *language) bool { return l.Code == code }); i >= 0 {
		return o[i]
	}
	return nil
}

// nearest is the language of the first of these tags that has one, whatever its country, or nil. CLDR's matcher would
// take English for Hausa; a reader's next wish says more.
func (o Offer) nearest(wanted []tags.Tag) *language {
	for _, tag := range wanted {
		base, _ := tag.Base()
		if l := o.named(base.String()); l != nil {
			return l
		}
	}
	return nil
}

// speech is the language of one answer, and the others that its reader may choose.
type speech struct {
	*language
	Offered Offer
	Query   string // ?lang= and the reader's choice, for the addresses of the page and of its forms; "" without one
}

// speak chooses the language of an answer: the one that the reader asked for, else the payment's, else the browser's.
// Live mode and pages without a payment have the languages that a speaker has read.
func (p *Pages) speak(r *http.Request, mode, locale string) speech {
	s := speech{Offered: p.offer}
	if mode == "test" {
		s.Offered = languages
	}
	if s.language = s.Offered.named(r.URL.Query().Get("lang")); s.language != nil {
		s.Query = "?lang=" + s.Code
		return s
	}
	if tag, err := tags.Parse(locale); err == nil && locale != "" {
		s.language = s.Offered.nearest([]tags.Tag{tag})
	}
	if s.language == nil {
		wanted, _, _ := tags.ParseAcceptLanguage(r.Header.Get("Accept-Language")) // a malformed header names no language
		s.language = s.Offered.nearest(wanted)
	}
	if s.language == nil {
		s.language = languages[0]
	}
	return s
}
