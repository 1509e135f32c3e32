package web_test

import (
	"encoding/json"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/language"
	"causeway.internal/libs/testkit/translations"
	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/web"
	"causeway.internal/services/console/internal/web/merchant"
	"causeway.internal/services/console/internal/web/operator"
)

// doors are the areas of the two consoles.
var doors = map[people.Door]web.Area{people.Merchants: merchant.Area(), people.Operators: operator.Area()}

func pagesOf(t *testing.T, door people.Door) []*web.Page {
	t.Helper()
	c, err := web.New(web.Parts{
		Door: door, Origin: &url.URL{Scheme: "https", Host: "pay.example"}, Area: doors[door], Log: slog.New(slog.DiscardHandler),
		Registry: prometheus.NewRegistry(), Now: time.Now, Stopping: func() error { return nil }, SignUp: true,
	})
	if err != nil {
		t.Fatalf("make the console of the door %s: %v", door, err)
	}
	return c.Pages()
}

// A form comes back filled in at its own path, and every line of the navigation leads to a page.
func TestPages_whole(t *testing.T) {
	for door, area := range doors {
		have := map[string]*web.Page{}
		for _, p := range pagesOf(t, door) {
			have[p.Name()] = p
		}
		for name, p := range have {
			if p.Method != "POST" || p.Alone {
				continue
			}
			get := have["GET "+p.Path]
			if get == nil {
				t.Errorf("%s of the door %s has no page at its own path", name, door)
				continue
			}
			if get.Permission != p.Permission || get.Fresh != p.Fresh || get.Public != p.Public {
				t.Errorf("%s of the door %s asks for something else than its page", name, door)
			}
		}
		for _, item := range area.Menu {
			if have["GET "+item.Path] == nil {
				t.Errorf("the navigation of the door %s leads to %s, which is no page", door, item.Path)
			}
		}
	}
}

var (
	inTemplate = []*regexp.Regexp{
		regexp.MustCompile(`[({ ]t "([^"]+)"`), regexp.MustCompile(`"(?:Label|Hint|Empty)" "([^"]+)"`), regexp.MustCompile(`template "empty" "([^"]+)"`),
	}
	inSource = []*regexp.Regexp{
		regexp.MustCompile(`\b(?:T|Notice)\("([a-z0-9_.]+)"[,)]`), regexp.MustCompile(`\b(?:Render|Refuse)\("[^"]+", "([a-z0-9_.]+)"`),
		regexp.MustCompile(`render\([^,]+, "[^"]+", "([a-z0-9_.]+)"`),
	}
	prefixes = []*regexp.Regexp{regexp.MustCompile(`word "([^"]+)"`), regexp.MustCompile(`"Words" "([^"]+)"`), regexp.MustCompile(`\bword\("([^"]+)"`)}
	comment  = regexp.MustCompile(`(?s)\{\{/\*.*?\*/\}\}`)
	quoted   = regexp.MustCompile(`"([a-z0-9_]+(?:\.[a-zA-Z0-9_]+)*)"`)
)

// byCode are the beginnings of keys that the code puts together.
var byCode = []string{"=language", "=direction", "list.", "board.", "table.", "col.", "filter.", "field.", "decide.", "case.", "fact.", "treasury.", "value.", "month.", "menu.", "mode.", "password.", "error."}

// Every text that a page asks for exists, and every text that exists is used.
func TestTexts_whole(t *testing.T) {
	known, used, words := map[string]bool{}, map[string]bool{}, slices.Clone(byCode)
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := comment.ReplaceAllString(string(raw), "")
		var wanted []*regexp.Regexp
		switch {
		case strings.HasSuffix(path, "texts/en.json"):
			var texts map[string]any
			if err := json.Unmarshal(raw, &texts); err != nil {
				return err
			}
			for key := range texts {
				known[key] = true
			}
			return nil
		case strings.HasSuffix(path, ".html"):
			wanted = inTemplate
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			wanted = inSource
		default:
			return nil
		}
		for _, pattern := range wanted {
			for _, m := range pattern.FindAllStringSubmatch(text, -1) {
				used[m[1]] = true
			}
		}
		for _, pattern := range prefixes {
			for _, m := range pattern.FindAllStringSubmatch(text, -1) {
				words = append(words, m[1]+".")
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], ".") || wanted != nil && len(m[1]) > 2 {
				words = append(words, "="+m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key := range used {
		if !known[key] && !strings.Contains(key, "%") {
			t.Errorf("a page asks for the text %s, which texts/en.json does not have", key)
		}
	}
	for key := range known {
		if used[key] || slices.ContainsFunc(words, func(w string) bool { return w == "="+key || w[0] != '=' && strings.HasPrefix(key, w) }) {
			continue
		}
		t.Errorf("no page asks for the text %s", key)
	}
}

// same are texts that are the same word in English and in another language, or hold no word.
var same = map[string]string{
	"fr": "direction network. payment.rate.value account.sessions actions branding.logo code.label country. date day delivery.took " +
		"dimension.type form.act invite.link keys.permissions links.description menu menu.webhooks mode mode.test pager " +
		"payment.confirmations.final payment.confirmations.label payment.description payments.type reports.notes time.hours time.minutes " +
		"time.seconds wallets.hash wallets.note webhooks.description webhooks.secret webhooks.title",
	"sw": "direction network. payment.rate.value money overview.tip.volume",
	"ha": "direction network. payment.rate.value country.KE date money overview.tip.volume",
	"yo": "direction network. payment.rate.value money overview.tip.volume",
	"pt": "direction network. payment.rate.value delivery.took menu menu.webhooks overview.tip.count overview.tip.volume role.auditor " +
		"time.hours time.minutes time.seconds webhooks.title",
	"ar": "network. payment.rate.value day overview.tip.count overview.tip.volume",
}

// sameOfOperators are further texts of operators that are the same word in English and in another language.
var sameOfOperators = map[string]string{
	"fr": " board.stations.title col.message col.messages col.mode col.pause col.permissions col.service col.transaction col.type " +
		"col.version fact.confirmations fact.description fact.logo fact.maximum fact.mode fact.permissions fact.txHash fact.type " +
		"fact.version field.mode field.permissions field.txHash filter.mode filter.txHash list.pauses.title menu.pauses menu.stations " +
		"treasury.crypto treasury.positions value.csv value.test",
	"sw": " value.csv", "ha": " value.csv", "yo": " value.csv", "pt": " value.csv", "ar": " value.csv",
}

// Both consoles have every text in every language, in its own words.
func TestLanguages_whole(t *testing.T) {
	both := maps.Clone(same)
	for code, more := range sameOfOperators {
		both[code] += more
	}
	for area, same := range map[string]map[string]string{"merchant": same, "operator": both} {
		all, err := language.Read(os.DirFS("."), os.DirFS(area))
		if err != nil {
			t.Fatal(err)
		}
		if want := "en, fr, sw, ha, yo, pt, ar"; all.Codes() != want {
			t.Errorf("read the texts of %s: got %s, want %s", area, all.Codes(), want)
		}
		translations.Whole(t, all, same)
		translations.Script(t, all, "Causeway", "QR", "CSV", "API", "TLS", "PNG", "JPEG", "Bitcoin", "Ethereum", "ERC20", "BNB Smart Chain", "BEP20",
			"Polygon", "Base", "Arbitrum One", "TRON", "TRC20", "Solana", "RPC", "NGN", "KES", "callback-dispatcher", "docs/runbooks/dead-messages.md", "unrouted")
	}
}
