package language_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"causeway.internal/libs/language"
)

// files are texts by name of their language.
func files(texts map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for code, raw := range texts {
		out["texts/"+code+".json"] = &fstest.MapFile{Data: []byte(raw)}
	}
	return out
}

var pages = files(map[string]string{
	"en": `{"language": "English", "direction": "ltr", "hello": "Hello {name}", "n": {"one": "{count} thing", "other": "{count} things"},
		"money": "{currency} {amount}", "date": "{day} {month} {year}, {time} UTC", "day": "{day} {month} {year}", "month.8": "August", "status.good": "Good"}`,
	"fr": `{"language": "Français", "direction": "ltr", "hello": "Bonjour {name}", "money": "{amount} {currency}"}`,
	"ar": `{"language": "العربية", "direction": "rtl", "hello": "مرحبا {name}"}`,
})

func read(t *testing.T) language.List {
	t.Helper()
	all, err := language.Read(pages)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A list of two sources has the languages that both have. No key may be in both.
func TestRead(t *testing.T) {
	if got := read(t).Codes(); got != "en, fr, ar" {
		t.Errorf("read one source: got %s", got)
	}
	all, err := language.Read(pages, files(map[string]string{"en": `{"other": "Other"}`, "ar": `{"other": "آخر"}`, "ha": `{"other": "Sauran"}`}))
	if err != nil || all.Codes() != "en, ar" || all[1].Text("other") != "آخر" || all[1].Name() != "العربية" {
		t.Errorf("read two sources: got %s, %v", all.Codes(), err)
	}
	if _, err := language.Read(pages, files(map[string]string{"en": `{"hello": "Hi"}`})); err == nil || !strings.Contains(err.Error(), "hello") {
		t.Errorf("read a key twice: got %v, want its name", err)
	}
	if _, err := language.Read(files(map[string]string{"fr": `{}`})); err == nil {
		t.Error("texts without English are read")
	}
	if _, err := language.Read(files(map[string]string{"en": `{"n": 1}`})); err == nil {
		t.Error("a number is read as a text")
	}
}

// The reader's choice comes first, then the wishes in their order, then the browser's languages.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		query, accept, want string
		asked               bool
		wishes              []string
	}{
		{want: "en"},
		{query: "fr", accept: "ar", wishes: []string{"ar"}, want: "fr", asked: true},
		{query: "tlh", accept: "fr", want: "fr"},
		{accept: "fr", wishes: []string{"", "ar-EG"}, want: "ar"},
		{accept: "fr", wishes: []string{"?!", "yo"}, want: "fr"},
		{accept: "de, ar;q=0.5", want: "ar"},
		{accept: strings.Repeat("x-", 3000), want: "en"},
	} {
		r := httptest.NewRequest("GET", "/?lang="+c.query, nil)
		r.Header.Set("Accept-Language", c.accept)
		if got, asked := read(t).Choose(r, c.wishes...); got.Code != c.want || asked != c.asked {
			t.Errorf("choose for %+v: got %s, %t", c, got.Code, asked)
		}
	}
}

func TestLanguage(t *testing.T) {
	all := read(t)
	english, arabic := all[0], all[2]
	for _, c := range [][3]string{
		{"a parameter", english.Text("hello", "name", "{name}"), "Hello {name}"},
		{"one", english.Text("n", "count", 1), "1 thing"},
		{"many", english.Text("n", "count", 1001), "1001 things"},
		{"no text", english.Text("none"), "none"},
		{"a word", english.Word("status", "good"), "Good"},
		{"a new word", english.Word("status", "very_new"), "very new"},
		{"fiat", english.Money("NGN", "-1234567.5"), "NGN −1,234,567.50"},
		{"a coin of three letters", english.Money("BTC", "0.5"), "BTC 0.5"},
		{"no amount", english.Money("NGN", ""), "–"},
		{"French money", all[1].Money("NGN", "1234.5"), "1\u00a0234,50 NGN"},
		{"a time", english.Date(time.Date(2026, 8, 3, 1, 5, 0, 0, time.FixedZone("", 3600))), "3 August 2026, 00:05 UTC"},
		{"a day", english.Day(time.Date(2026, 8, 3, 0, 5, 0, 0, time.FixedZone("", 3600))), "2 August 2026"},
		{"a name in Arabic", arabic.Text("hello", "name", "Ada"), "مرحبا \u2068Ada\u2069"},
		{"an address in Arabic", arabic.Text("hello", "name", "https://pay.example/x"), "مرحبا https://pay.example/x"},
	} {
		if c[1] != c[2] {
			t.Errorf("write %s: got %q, want %q", c[0], c[1], c[2])
		}
	}
}

// No comma or point turns an amount into a thousand times the intended one.
func TestDecimal(t *testing.T) {
	all := read(t)
	for _, c := range []struct{ code, typed, want string }{
		{"en", "1500", "1500"},
		{"en", " 1,500.50 ", "1500.50"},
		{"en", "1 234 567.5", "1234567.5"},
		{"en", "12,345,678", "12345678"},
		{"en", "1500,50", ""},
		{"en", "15,9375", ""},
		{"en", "1,50,000", ""},
		{"en", ",500", ""},
		{"en", "1234,567", ""},
		{"en", "1.5.5", ""},
		{"en", "0.005", "0.005"},
		{"en", "1e3", ""},
		{"en", "-5", ""},
		{"en", "", ""},
		{"en", ".", ""},
		{"en", "5.", ""},
		{"en", ".5", ""},
		{"fr", "1500,50", "1500.50"},
		{"fr", "1\u00a0500,5", "1500.5"},
		{"fr", "15,9375", "15.9375"},
		{"fr", "1500.5", "1500.5"},
		{"fr", "1.500", ""},
		{"fr", "1,500", "1.500"},
		{"fr", "1.500,50", ""},
		{"fr", "1,5,5", ""},
		{"ar", "1,500.50", "1500.50"},
	} {
		if got, ok := all.Named(c.code).Decimal(c.typed); got != c.want || ok != (c.want != "") {
			t.Errorf("read %q in %s: got %q, %t, want %q", c.typed, c.code, got, ok, c.want)
		}
	}
}
