package web

import (
	"encoding/json"
	"time"

	"causeway.internal/libs/language"
)

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
func date(l *language.Language, of any) string {
	if t, ok := moment(of); ok {
		return l.Date(t)
	}
	return "–"
}

// day writes the day of a time in UTC, "–" for none.
func day(l *language.Language, of any) string {
	if t, ok := moment(of); ok {
		return l.Day(t)
	}
	return "–"
}

// stamp is a time as a machine reads it, for the attribute datetime.
func stamp(of any) string {
	if t, ok := moment(of); ok {
		return t.Format(time.RFC3339)
	}
	return ""
}

// Speech is the language of the page.
func (v *Visit) Speech() *language.Language { return v.speech }

// Languages are those that the pages of this door have.
func (v *Visit) Languages() language.List { return v.console.views.languages }

// Money writes an amount in the visitor's language, as the template function of that name does.
func (v *Visit) Money(currency string, n any) string { return v.speech.Money(currency, n) }

// Day writes the day of a time in the visitor's language.
func (v *Visit) Day(of any) string { return day(v.speech, of) }
