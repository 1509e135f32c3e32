package page

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/libs/testkit/translations"
)

// same are texts that are the same word in English and in another language, or hold no word.
var same = map[string]string{
	"fr": "receipt.date transaction sum.rate.value date direction", "sw": "money sum.rate.value direction",
	"ha": "money sum.rate.value date direction", "yo": "money sum.rate.value direction", "pt": "sum.rate.value direction", "ar": "sum.rate.value",
}

// Every language has every text, in its own words.
func TestLanguages_whole(t *testing.T) {
	if want := "en, fr, sw, ha, yo, pt, ar"; languages.Codes() != want {
		t.Errorf("read the texts: got %s, want %s", languages.Codes(), want)
	}
	translations.Whole(t, languages, same)
}

// A language of another script holds Latin letters in names and in the terms of wallets alone.
func TestLanguages_script(t *testing.T) {
	translations.Script(t, languages, "Causeway", "QR", "hash", "0x")
}

func TestLanguage_money(t *testing.T) {
	for code, want := range map[string]string{
		"en": "NGN 1,234,567.50", "fr": "1\u00a0234\u00a0567,50 NGN", "sw": "NGN 1,234,567.50", "ha": "NGN 1,234,567.50", "yo": "NGN 1,234,567.50",
		"pt": "1\u00a0234\u00a0567,50 NGN", "ar": "\u20681,234,567.50\u2069 \u2068NGN\u2069",
	} {
		if got := languages.Named(code).Money("NGN", "1234567.5"); got != want {
			t.Errorf("write 1234567.5 naira in %s: got %q, want %q", code, got, want)
		}
	}
}

// No amount gains, loses or changes a digit, in any language.
func TestLanguage_moneyKeepsDigits(t *testing.T) {
	digits := func(s string) string {
		return strings.TrimLeft(regexp.MustCompile(`[^0-9]`).ReplaceAllString(s, ""), "0")
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.StringMatching(`(0|[1-9][0-9]{0,14})(\.[0-9]{2})?`).Draw(t, "amount")
		for _, l := range languages {
			if got := l.Money("KES", json.Number(n)); digits(got) != digits(n) {
				t.Fatalf("write %s in %s: got %q", n, l.Code, got)
			}
		}
	})
}

func TestLanguage_date(t *testing.T) {
	at := time.Date(2026, 8, 3, 1, 5, 0, 0, time.FixedZone("", 3600))
	for code, want := range map[string]string{
		"en": "3 August 2026, 00:05 UTC", "fr": "3 août 2026, 00:05 UTC", "pt": "3 de agosto de 2026, 00:05 UTC", "sw": "3 Agosti 2026, saa 00:05 UTC",
	} {
		if got := languages.Named(code).Date(at); got != want {
			t.Errorf("write a date in %s: got %q, want %q", code, got, want)
		}
	}
}

func TestLanguage_plurals(t *testing.T) {
	for _, c := range []struct {
		code string
		n    int
		want string
	}{
		{"en", 1, "1 network"},
		{"en", 2, "2 networks"},
		{"fr", 1, "1 réseau"},
		{"fr", 2, "2 réseaux"},
		{"yo", 1, "Nẹ́tíwọ́ọ̀kì 1"},
		{"ar", 1, "شبكة واحدة"},
		{"ar", 2, "شبكتان"},
		{"ar", 3, "\u20683\u2069 شبكات"},
		{"ar", 11, "\u206811\u2069 شبكة"},
	} {
		if got := languages.Named(c.code).Text("choose.networks", "count", c.n); got != c.want {
			t.Errorf("count %d networks in %s: got %q, want %q", c.n, c.code, got, c.want)
		}
	}
}

// The reader's choice goes before the payment's language, and that before the browser's; live mode has the languages of
// the offer, and test mode all.
func TestSpeak(t *testing.T) {
	for _, c := range []struct{ offer, mode, locale, query, accept, want string }{
		{"", "live", "", "", "", "en"},
		{"", "live", "fr", "fr", "fr", "en"},
		{"fr,sw", "live", "", "", "fr-CI,fr;q=0.9,en;q=0.5", "fr"},
		{"fr,sw", "live", "", "", "de, sw;q=0.8, fr;q=0.5", "sw"},
		{"fr,sw", "live", "", "", "ar", "en"},
		{"fr,sw", "live", "sw", "", "fr", "sw"},
		{"fr,sw", "live", "ha", "", "fr", "fr"},
		{"fr,sw", "live", "sw", "fr", "en", "fr"},
		{"fr,sw", "live", "sw", "ar", "fr", "sw"},
		{"", "test", "", "", "ar-EG", "ar"},
		{"", "test", "pt_BR", "", "en", "pt"},
		{"", "test", "pt-AO", "yo", "en", "yo"},
		{"", "test", "?!", "FR", "ha-NG", "ha"},
		{"", "test", "", "", "zh-CN", "en"},
		{"", "test", "", "", strings.Repeat("x-", 3000), "en"},
		{"", "test", "", "", "es-GQ, *;q=0.1", "en"},
		{"fr", "", "", "", "fr", "fr"},
	} {
		offer, err := NewOffer(c.offer)
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(broken{}, brands{}, offer, slog.New(slog.DiscardHandler), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("GET", "/pay/x?lang="+url.QueryEscape(c.query), nil)
		r.Header.Set("Accept-Language", c.accept)
		if got := p.speak(r, c.mode, c.locale).Code; got != c.want {
			t.Errorf("choose for %+v: got %s", c, got)
		}
	}
	if _, err := NewOffer("en,tlh"); err == nil || !strings.Contains(err.Error(), "tlh") {
		t.Errorf("offer a language without texts: got %v, want its name", err)
	}
}

// The choice of a language stays through every form and link of a page, and every page has the switch.
func TestPages_keepTheLanguage(t *testing.T) {
	banking := map[string]proxy.Reply{"GET /v1/banks": banks}
	for name, c := range map[string]struct {
		path    string
		changes map[string]any
	}{
		"send":   {"/pay/", map[string]any{"takesTransactionHash": true}},
		"refund": {"/pay/", map[string]any{"status": "needs_review", "takesRefundAddress": true}},
		"gift":   {"/pay/", map[string]any{"type": "gift", "status": "confirmed"}},
		"claim":  {"/claim/", map[string]any{"type": "gift", "status": "confirmed", "claimed": false}},
	} {
		c.changes["mode"] = "test"
		banking[checkout] = checkoutOf(c.changes)
		_, h := pages(t, banking)
		w := get(h, c.path+reference+"?lang=ar")
		page := w.Body.String()
		if !strings.Contains(page, `<html lang="ar" dir="rtl">`) || !strings.Contains(page, `data-self="`+c.path+reference+`?lang=ar"`) {
			t.Errorf("show %s in Arabic: the page lacks its language, direction or address", name)
		}
		for _, l := range languages {
			if !strings.Contains(page, `href="`+c.path+reference+"?lang="+l.Code+`" lang="`+l.Code+`"`) {
				t.Errorf("show %s: no link to %s", name, l.Code)
			}
		}
		for _, m := range regexp.MustCompile(`(?:method="post" action|class="button quiet" href)="([^"]+)"`).FindAllStringSubmatch(page, -1) {
			if !strings.HasSuffix(m[1], "?lang=ar") {
				t.Errorf("show %s in Arabic: %s leads to a page of another language", name, m[1])
			}
		}
		if english := get(h, c.path+reference); english.Header().Get("ETag") == w.Header().Get("ETag") {
			t.Errorf("show %s in two languages: both have the tag %s", name, w.Header().Get("ETag"))
		}
	}
	s, h := pages(t, map[string]proxy.Reply{checkout: checkoutOf(map[string]any{"mode": "test", "takesTransactionHash": true})})
	s.answers["POST /v1/checkout/"+reference+"/transaction"] = proxy.Reply{Status: 200, Body: []byte(`{}`)}
	if w := post(h, "/pay/"+reference+"/transaction?lang=sw", url.Values{"tx": {"0xab"}}); w.Header().Get("Location") != "/pay/"+reference+"?lang=sw&named" {
		t.Errorf("name a transaction in Swahili: led to %q, want the page in Swahili", w.Header().Get("Location"))
	}
	if page := get(h, "/pay/"+reference, "Accept-Language", "fr").Body.String(); strings.Contains(page, `action="/pay/`+reference+`/transaction?lang`) {
		t.Error("a language that the browser wishes is written into the forms")
	}
	s.answers[checkout] = checkoutOf(nil)
	if page := get(h, "/pay/"+reference, "Accept-Language", "fr").Body.String(); !strings.Contains(page, `<html lang="en"`) || strings.Contains(page, "?lang=") {
		t.Error("a live payment is shown in a language that no speaker has signed off")
	}
}

// A page with all that it loads stays light for a phone on a slow network, in every language: in bytes as they are, and
// compressed as browsers get them.
func TestPages_weight(t *testing.T) {
	const most, mostPacked = 30 << 10, 12 << 10
	packed := func(body []byte) int {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, _ = w.Write(body) // a buffer takes everything
		_ = w.Close()
		return out.Len()
	}
	_, h := pages(t, map[string]proxy.Reply{checkout: checkoutOf(map[string]any{"mode": "test"})})
	for _, l := range languages {
		page := get(h, "/pay/"+reference+"?lang="+l.Code).Body.String()
		weight, onTheWire := len(page), packed([]byte(page))
		for _, m := range regexp.MustCompile(`"(/assets/[^"]+)"`).FindAllStringSubmatch(page, -1) {
			if strings.Count(page[:strings.Index(page, m[0])+len(m[0])], m[0]) == 1 {
				body := get(h, m[1]).Body.Bytes()
				weight, onTheWire = weight+len(body), onTheWire+packed(body)
			}
		}
		if weight > most || onTheWire > mostPacked {
			t.Errorf("show a payment in %s: the page and its files have %d bytes and %d compressed, want %d and %d at most",
				l.Code, weight, onTheWire, most, mostPacked)
		}
	}
}
