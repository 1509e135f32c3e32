//go:build integration

package browser

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"causeway.internal/deploy/e2e/internal/api"
)

// look is a way to look at a page.
type look struct {
	size   size
	scheme string
}

// doorOf is the path of the console that a role belongs to.
func doorOf(role string) string {
	if slices.Contains([]string{"operator", "approver", "auditor"}, role) {
		return "/operators"
	}
	return "/console"
}

// as opens a console as somebody of a role.
func as(t *testing.T, s size, role string) *tab {
	t.Helper()
	b := openConsole(t, s)
	if doorOf(role) == "/operators" {
		b.follow(consoleLink(t, "console-operators", "create-operator", "--role", role, "--name", "ada.n"+once()))
	} else {
		b.follow(consoleLink(t, "console", "create-owner", "--merchant", "local", "--role", role, "--email", role+once()+"@local.example"))
	}
	return b
}

// objects makes one of each thing that pages show, and returns the pages of each door, by name.
func objects(t *testing.T) map[string]map[string]string {
	t.Helper()
	b := owner(t, desktop)
	post := func(path string, body api.Object) *api.Answer {
		return b.api.Call(t, http.MethodPost, path, body).Want(t, http.StatusCreated, http.StatusOK)
	}
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	ref := b.create(nil)
	wallet := post("/v1/wallets", api.Object{"network": "tron", "crypto": "USDT"}).Text(t, "wallet.id")
	account := post("/v1/settlement-accounts", api.Object{
		"currency": "NGN", "receiver": api.Object{"bankCode": "058", "accountNumber": "2" + once()[10:]},
	}).Text(t, "settlementAccount.id")
	link := post("/v1/payment-links", api.Object{"type": "merchant", "title": "Course fee", "fiatCurrency": "NGN", "fiatAmount": 50000}).Text(t, "paymentLink.id")
	report := post("/v1/reports", api.Object{"complaintType": "fraud", "name": "Ada Obi", "phoneNumber": "234" + once()[9:]}).Text(t, "data.report.reportId")
	b.visit("/console/webhooks/new")
	b.enter("#f-url", receiver.URL+"/hook")
	b.submit("main form .button")
	endpoint := strings.TrimPrefix(js[string](b, `location.pathname`), "/console")
	b.submit(`form[action$="/test"] button`)
	delivery := strings.TrimPrefix(js[string](b, `location.pathname`), "/console")
	b.visit("/console/keys")
	key := strings.TrimPrefix(js[string](b, `document.querySelector('main a[href*="/keys/"]:not([href$="/new"])')?.getAttribute("href") ?? ""`), "/console")
	merchants := map[string]string{
		"payment": "/payments/" + ref, "payment-new": "/payments/new", "payment-cancel": "/payments/" + ref + "/cancel", "payment-refund": "/payments/" + ref + "/refund",
		"link": "/links/" + link, "link-new": "/links/new", "wallet": "/wallets/" + wallet, "wallet-new": "/wallets/new",
		"account-new": "/accounts/new", "account-confirm": "/accounts/" + account + "/confirm", "settling": "/settlement-settings",
		"withdrawal-new": "/withdrawals/new", "draw-new": "/crypto-withdrawals/new", "address-new": "/addresses/new",
		"report": "/reports/" + report, "report-new": "/reports/new", "webhook": endpoint, "webhook-new": "/webhooks/new", "webhook-edit": endpoint + "/edit",
		"webhook-secret": endpoint + "/secret", "delivery": delivery, "replay-new": "/replays/new",
		"key-new": "/keys/new", "branding": "/settings/branding", "invite": "/team/invite",
	}
	if key != "" {
		merchants["key"], merchants["key-rotate"], merchants["key-revoke"] = key, key+"/rotate", key+"/revoke"
	}
	for _, name := range []string{
		"overview", "payments", "links", "balances", "withdrawals", "accounts", "wallets", "crypto-withdrawals", "addresses", "reports", "webhooks", "deliveries",
		"settlements", "keys", "team", "settings",
	} {
		merchants[name] = "/" + name
	}
	operators := map[string]string{"payment": "/payments/" + ref, "merchant": "/merchants/local", "search": "/search?q=local", "invite": "/team/invite"}
	for _, name := range []string{"keys", "merchants", "pauses"} {
		operators[name+"-new"] = "/" + name + "/new"
	}
	for _, own := range []string{"account", "account/name", "account/password", "account/app", "account/codes/new"} {
		merchants[own], operators[own] = "/"+own, "/"+own
	}
	return map[string]map[string]string{"/console": merchants, "/operators": operators}
}

// matrix collects a table of role × page × result.
type matrix struct {
	mu         sync.Mutex
	cells      map[string]map[string]string // by door and page, then by role
	looks, axe int
}

func (m *matrix) set(page, role, result string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cells[page] == nil {
		m.cells[page] = map[string]string{}
	}
	m.cells[page][role] = result
}

// write leaves the table beside the screenshots, and prints it.
func (m *matrix) write(t *testing.T) {
	t.Helper()
	var out strings.Builder
	_, _ = fmt.Fprintf(&out, "| page | %s |\n|---|%s\n", strings.Join(matrixRoles, " | "), strings.Repeat("---|", len(matrixRoles)))
	for _, page := range slices.Sorted(maps.Keys(m.cells)) {
		_, _ = fmt.Fprintf(&out, "| %s |", page)
		for _, role := range matrixRoles {
			result := m.cells[page][role]
			if result == "" {
				result = "–"
			}
			_, _ = fmt.Fprintf(&out, " %s |", result)
		}
		_, _ = fmt.Fprintln(&out)
	}
	_, _ = fmt.Fprintf(&out, "\naxe: %d looks, %d with a violation\n", m.looks, m.axe)
	t.Log("\n" + out.String())
	file := filepath.Join(os.Getenv("CAUSEWAY_STACK_DIR"), "screens", "console-matrix.txt")
	if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
		t.Errorf("leave the table: %v", err)
	}
}

// TestConsoleMatrix: every page, as each role sees it or is refused. A page that is shown has no violation of axe in
// any size and scheme, fits a screen of 320 pixels and texts of twice the size, and everything on it has a name.
func TestConsoleMatrix(t *testing.T) {
	t.Parallel()
	pages := objects(t)
	m := &matrix{cells: map[string]map[string]string{}}
	t.Cleanup(func() { m.write(t) })
	for _, role := range matrixRoles {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			b := as(t, desktop, role)
			door := doorOf(role)
			all := maps.Clone(pages[door])
			for _, path := range js[[]string](b, `[...document.querySelectorAll(".menu a")].map((a) => a.getAttribute("href"))`) {
				path = strings.TrimPrefix(path, door)
				all[strings.TrimPrefix(path, "/")] = path
			}
			b.expect("403")
			for _, name := range slices.Sorted(maps.Keys(all)) {
				if len(matrixPages) > 0 && !slices.Contains(matrixPages, name) {
					continue
				}
				m.set(door+" "+name, role, m.see(b, role+"-"+strings.ReplaceAll(name, "/", "-"), door+all[name]))
			}
		})
	}
}

// see looks at a page in every way, and says what came of it.
func (m *matrix) see(b *tab, name, path string) string {
	b.t.Helper()
	b.resize(desktop.width)
	b.visit(path)
	status := js[int](b, `performance.getEntriesByType("navigation")[0].responseStatus`)
	if status == http.StatusForbidden {
		b.shows("Your role does not allow this")
		return "403"
	}
	if status != http.StatusOK {
		b.t.Errorf("%s answers %d:\n%s", name, status, b.text())
		return fmt.Sprint(status)
	}
	bad := 0
	for _, one := range matrixLooks {
		b.media(&emulation.MediaFeature{Name: "prefers-color-scheme", Value: one.scheme})
		b.resize(one.size.width)
		found := b.violations()
		m.mu.Lock()
		if m.looks++; len(found) > 0 {
			m.axe++
			bad++
		}
		m.mu.Unlock()
		for _, v := range found {
			b.t.Errorf("%s %s %s: axe finds %s", name, one.size.name, one.scheme, v)
		}
		b.shoot(name + "-" + one.size.name + "-" + one.scheme)
	}
	b.media()
	b.fits(name)
	b.resize(desktop.width)
	b.named()
	if bad > 0 {
		return "axe"
	}
	return "ok"
}

// TestConsoleLanguages: the pages of both consoles fit and pass axe in other languages; Arabic runs from right to left.
func TestConsoleLanguages(t *testing.T) {
	t.Parallel()
	for _, code := range matrixSpeech {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			b := openConsole(t, phone)
			b.visit("/console/sign-in?lang=" + code)
			b.read320("sign-in-"+code, code)
			b.follow(consoleLink(t, "console", "create-owner", "--merchant", "local", "--email", code+once()+"@local.example"))
			b.visit("/console/account/name")
			b.enter("#f-name", "Ada")
			b.choose("#f-locale", code)
			b.submit("main form .button")
			ref := b.create(nil)
			shown := func(path string) (name string, ok bool) {
				name = strings.Replace(path, ref, "one", 1)
				return name, len(speechPages) == 0 || slices.Contains(speechPages, name)
			}
			for _, path := range []string{
				"/overview", "/payments", "/payments/" + ref, "/payments/new", "/links/new", "/balances", "/webhooks/new", "/keys/new", "/settings", "/team", "/account",
			} {
				if name, ok := shown(path); ok {
					b.resize(phone.width)
					b.visit("/console" + path)
					b.read320(strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", "-")+"-"+code, code)
				}
			}
			o := as(t, phone, "operator")
			for _, path := range []string{"/attention", "/payments", "/payments/" + ref, "/screenings", "/health", "/treasury", "/merchants/local/terms", "/pauses/new"} {
				if name, ok := shown(path); ok {
					o.resize(phone.width)
					o.visit("/operators" + path + "?lang=" + code)
					o.read320("operator"+strings.ReplaceAll(name, "/", "-")+"-"+code, code)
				}
			}
		})
	}
}

// read320 holds a page in a language to what it owes.
func (b *tab) read320(name, code string) {
	b.t.Helper()
	if lang := js[string](b, `document.documentElement.lang`); lang != code {
		b.t.Errorf("%s says that it is in %s", name, lang)
	}
	if direction := js[string](b, `getComputedStyle(document.querySelector("h1")).direction`); (direction == "rtl") != (code == "ar") {
		b.t.Errorf("%s runs %s", name, direction)
	}
	b.accessible(name)
	b.shoot(name)
	b.fits(name)
}
