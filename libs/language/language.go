// Package language holds the texts of pages in several languages, and chooses one for a reader.
package language

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/feature/plural"
	tags "golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"causeway.internal/libs/money"
)

// known are the languages of pages, English first. The second tag gives the forms of numbers and plurals: Portuguese as
// in Africa and Portugal, and Arabic with Latin digits, as in addresses.
var known = [][2]string{
	{"en", "en"}, {"fr", "fr"}, {"sw", "sw"}, {"ha", "ha"}, {"yo", "yo"}, {"pt", "pt-PT"}, {"ar", "ar-u-nu-latn"},
}

// Language is a translation of some pages. It is safe for concurrent use.
type Language struct {
	Code         string // as in ?lang=
	tag          tags.Tag
	texts        map[string]Phrase
	group, point string // between the digits of numbers
}

// Phrase is a text by plural category. Most phrases have only "other".
type Phrase map[string]string

// UnmarshalJSON reads a text or an object of its plural forms.
func (p *Phrase) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*p = Phrase{"other": one}
		return nil
	}
	var forms map[string]string
	err := json.Unmarshal(raw, &forms)
	*p = forms
	return err
}

// List is a list of languages, English first.
type List []*Language

// Read reads the files texts/CODE.json of one or several sources, which have no key in common. It reads the languages
// that every source has; each has English.
func Read(sources ...fs.FS) (List, error) {
	var out List
	for _, names := range known {
		l, err := read(names[0], tags.MustParse(names[1]), sources)
		if errors.Is(err, fs.ErrNotExist) && len(out) > 0 {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the texts of %s: %w", names[0], err)
		}
		out = append(out, l)
	}
	return out, nil
}

func read(code string, tag tags.Tag, sources []fs.FS) (*Language, error) {
	l := &Language{Code: code, tag: tag, texts: map[string]Phrase{}}
	for _, source := range sources {
		raw, err := fs.ReadFile(source, "texts/"+code+".json")
		if err != nil {
			return nil, err
		}
		var texts map[string]Phrase
		if err := json.Unmarshal(raw, &texts); err != nil {
			return nil, err
		}
		for key, p := range texts {
			if _, twice := l.texts[key]; twice {
				return nil, fmt.Errorf("two files have the key %s", key)
			}
			l.texts[key] = p
		}
	}
	gaps := strings.FieldsFunc(message.NewPrinter(tag).Sprint(number.Decimal(1234567.5)), unicode.IsDigit)
	l.group, l.point = gaps[0], gaps[len(gaps)-1]
	return l, nil
}

// Codes lists the languages by their codes.
func (l List) Codes() string {
	out := make([]string, len(l))
	for i, one := range l {
		out[i] = one.Code
	}
	return strings.Join(out, ", ")
}

// Named is the language with a code, or nil.
func (l List) Named(code string) *Language {
	if i := slices.IndexFunc(l, func(one *Language) bool { return one.Code == code }); i >= 0 {
		return l[i]
	}
	return nil
}

// nearest is the language of the first tag for which there is one, whatever the tag's country, or nil. CLDR's matcher
// would choose English for Hausa; the reader's next preference is a better choice.
func (l List) nearest(wanted []tags.Tag) *Language {
	for _, tag := range wanted {
		base, _ := tag.Base()
		if one := l.Named(base.String()); one != nil {
			return one
		}
	}
	return nil
}

// Choose returns the language of an answer: the one that the reader names by ?lang= (the second result is then true);
// else the first known one of wishes, such as the language of a payment; else the browser's; else English.
func (l List) Choose(r *http.Request, wishes ...string) (*Language, bool) {
	if asked := l.Named(r.URL.Query().Get("lang")); asked != nil {
		return asked, true
	}
	for _, wish := range wishes {
		tag, err := tags.Parse(wish)
		if err != nil || wish == "" {
			continue
		}
		if one := l.nearest([]tags.Tag{tag}); one != nil {
			return one, false
		}
	}
	wanted, _, _ := tags.ParseAcceptLanguage(r.Header.Get("Accept-Language")) // a malformed header names no language
	if one := l.nearest(wanted); one != nil {
		return one, false
	}
	return l[0], false
}

// categories are the plural categories as the files name them.
var categories = map[plural.Form]string{
	plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many", plural.Other: "other",
}

// Category is the plural category of a whole number.
func (l *Language) Category(n int64) string {
	return categories[plural.Cardinal.MatchPlural(l.tag, int(n%10_000_000), 0, 0, 0, 0)]
}

// Text is the text of a key. The names and values that follow fill its parameters; the value of count chooses the
// plural form. A key without a text returns itself; a test finds such keys.
func (l *Language) Text(key string, fill ...any) string {
	p, ok := l.texts[key]
	if !ok {
		return key
	}
	s, pairs := p["other"], make([]string, 0, len(fill))
	for i := 0; i+1 < len(fill); i += 2 {
		value := fmt.Sprint(fill[i+1])
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && fill[i] == "count" && p[l.Category(n)] != "" {
			s = p[l.Category(n)]
		}
		pairs = append(pairs, fmt.Sprintf("{%v}", fill[i]), l.isolate(value))
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// isolate keeps a value of Latin letters or digits in one piece within text that runs from right to left. It leaves a
// URL as it is, because mail programs look for its end and would take the mark into the link.
func (l *Language) isolate(value string) string {
	if l.Direction() == "rtl" && !strings.HasPrefix(value, "https://") && !strings.HasPrefix(value, "http://") {
		return "\u2068" + value + "\u2069"
	}
	return value
}

// Has reports whether a key has a text.
func (l *Language) Has(key string) bool { _, ok := l.texts[key]; return ok }

// Word is the text of a value of the API, such as a status: the text of prefix.value, or the value itself if there is
// none, so that a new value of the API appears and breaks nothing.
func (l *Language) Word(prefix string, value any) string {
	v := fmt.Sprint(value)
	if key := prefix + "." + v; l.Has(key) {
		return l.Text(key)
	}
	return strings.ReplaceAll(v, "_", " ")
}

// Texts are the texts by their keys. Do not change them.
func (l *Language) Texts() map[string]Phrase { return l.texts }

// Name is the name of the language in the language itself.
func (l *Language) Name() string { return l.Text("language") }

// Direction is ltr, or rtl where lines run from right to left.
func (l *Language) Direction() string { return l.texts["direction"]["other"] }

// Number writes a decimal with the separators of the language, and with all its digits.
func (l *Language) Number(n any) string {
	text := fmt.Sprint(n)
	sign := ""
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		sign, text = "\u2212", rest
	}
	whole, part, dotted := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + l.group + whole[i:]
	}
	if dotted {
		whole += l.point + part
	}
	return sign + whole
}

// Decimal reads a number as people of the language type it, into plain digits with a point. It refuses a number that
// could also mean a thousand times as much: groups must have three digits, and in a language with a decimal comma a
// point before three digits is ambiguous.
func (l *Language) Decimal(typed string) (string, bool) {
	text := strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "").Replace(strings.TrimSpace(typed))
	point := "."
	if l.point == "," && !strings.Contains(text, ".") {
		point = ","
	}
	whole, part, dotted := strings.Cut(text, point)
	if dotted && (part == "" || point == "." && l.point == "," && len(part) == 3) {
		return "", false
	}
	if l.group == "," && strings.Contains(whole, ",") {
		groups := strings.Split(whole, ",")
		for i, g := range groups {
			if len(g) != 3 && (i > 0 || g == "" || len(g) > 3) {
				return "", false
			}
		}
		whole = strings.Join(groups, "")
	}
	if whole == "" || strings.Trim(whole+part, "0123456789") != "" {
		return "", false
	}
	if dotted {
		whole += "." + part
	}
	return whole, true
}

// Money writes a fiat amount with both digits of its minor unit or with neither, a crypto amount with all its digits,
// and no amount as "–".
func (l *Language) Money(currency string, n any) string {
	text := fmt.Sprint(n)
	if text == "" {
		return "–"
	}
	fiat := money.Currency(currency).Valid() || currency == "USD"
	if _, part, dotted := strings.Cut(text, "."); dotted && len(part) == 1 && fiat {
		text += "0"
	}
	return l.Text("money", "currency", currency, "amount", l.Number(text))
}

// Date writes a time in UTC.
func (l *Language) Date(of time.Time) string {
	t := of.UTC()
	return l.Text("date", "day", t.Day(), "month", l.Text("month."+strconv.Itoa(int(t.Month()))), "year", t.Year(), "time", t.Format("15:04"))
}

// Day writes the day of a time in UTC.
func (l *Language) Day(of time.Time) string {
	t := of.UTC()
	return l.Text("day", "day", t.Day(), "month", l.Text("month."+strconv.Itoa(int(t.Month()))), "year", t.Year())
}
