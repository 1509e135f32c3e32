package web

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/feature/plural"
	tags "golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

// languages are the translations, English first; the second tag gives the forms of numbers and plurals. A language is a
// file texts/CODE.json beside each English one, and a line here.
var languages = [][2]string{{"en", "en"}}

// language is one translation: the texts of every area in it.
type language struct {
	Code         string
	tag          tags.Tag
	texts        map[string]phrase
	group, point string
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

// speak reads the texts of the areas in one language. No two areas have a key in common.
func speak(code, tag string, areas []Area) (*language, error) {
	l := &language{Code: code, tag: tags.MustParse(tag), texts: map[string]phrase{}}
	for _, area := range areas {
		raw, err := fs.ReadFile(area.Files, "texts/"+code+".json")
		if err != nil {
			return nil, err
		}
		var texts map[string]phrase
		if err := json.Unmarshal(raw, &texts); err != nil {
			return nil, fmt.Errorf("texts of %s in %s: %w", area.Name, code, err)
		}
		for key, p := range texts {
			if _, twice := l.texts[key]; twice {
				return nil, fmt.Errorf("texts of %s in %s: %s is a key of another area", area.Name, code, key)
			}
			l.texts[key] = p
		}
	}
	gaps := strings.FieldsFunc(message.NewPrinter(l.tag).Sprint(number.Decimal(1234567.5)), unicode.IsDigit)
	l.group, l.point = gaps[0], gaps[len(gaps)-1]
	return l, nil
}

// categories are the plural categories as the files name them.
var categories = map[plural.Form]string{
	plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many", plural.Other: "other",
}

func (l *language) category(n int64) string {
	return categories[plural.Cardinal.MatchPlural(l.tag, int(n%10_000_000), 0, 0, 0, 0)]
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
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && fill[i] == "count" && p[l.category(n)] != "" {
			s = p[l.category(n)]
		}
		pairs = append(pairs, fmt.Sprintf("{%v}", fill[i]), value)
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// has reports whether a key has a text.
func (l *language) has(key string) bool { _, ok := l.texts[key]; return ok }

// word is the text of a value of the API, such as a status: that of prefix.value, or the value itself where there is
// none, so that a new value of the API shows and breaks nothing.
func (l *language) word(prefix string, value any) string {
	v := fmt.Sprint(value)
	if key := prefix + "." + v; l.has(key) {
		return l.text(key)
	}
	return strings.ReplaceAll(v, "_", " ")
}

// number writes a decimal with the separators of the language and with the digits that it has.
func (l *language) number(n any) string {
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

// money writes an amount of a currency with both digits of its minor unit, or none; of a coin as it is.
func (l *language) money(currency string, n any) string {
	text := fmt.Sprint(n)
	if text == "" {
		return "–"
	}
	if _, part, dotted := strings.Cut(text, "."); dotted && len(part) == 1 && len(currency) == 3 {
		text += "0"
	}
	return l.text("money", "currency", currency, "amount", l.number(text))
}

// moment reads a time of the API or of the database.
func moment(of any) (time.Time, bool) {
	switch t := of.(type) {
	case time.Time:
		return t.UTC(), !t.IsZero()
	case *time.Time:
		if t == nil {
			return time.Time{}, false
		}
		return t.UTC(), true
	case string:
		parsed, err := time.Parse(time.RFC3339Nano, t)
		return parsed.UTC(), err == nil
	case json.Number:
		ms, err := t.Int64()
		return time.UnixMilli(ms).UTC(), err == nil
	}
	return time.Time{}, false
}

// date writes a time in UTC, "–" for none.
func (l *language) date(of any) string {
	t, ok := moment(of)
	if !ok {
		return "–"
	}
	return l.text("date", "day", t.Day(), "month", l.text("month."+strconv.Itoa(int(t.Month()))), "year", t.Year(), "time", t.Format("15:04"))
}

// day writes the day of a time in UTC, "–" for none.
func (l *language) day(of any) string {
	t, ok := moment(of)
	if !ok {
		return "–"
	}
	return l.text("day", "day", t.Day(), "month", l.text("month."+strconv.Itoa(int(t.Month()))), "year", t.Year())
}

// stamp is a time as a machine reads it, for the attribute datetime.
func stamp(of any) string {
	if t, ok := moment(of); ok {
		return t.Format(time.RFC3339)
	}
	return ""
}

// Money writes an amount in the visitor's language, as the template function of that name does.
func (v *Visit) Money(currency string, n any) string { return v.speech.money(currency, n) }

// Day writes the day of a time in the visitor's language.
func (v *Visit) Day(of any) string { return v.speech.day(of) }
