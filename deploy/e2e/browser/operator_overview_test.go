//go:build integration

package browser

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
)

// TestConsoleOverview: an operator walks the pages of how the product does, at three sizes and in both schemes, without
// anything that axe finds. A rescan is ordered by the form, approved by a passkey, and done.
func TestConsoleOverview(t *testing.T) {
	t.Parallel()
	b := openConsole(t, desktop)
	b.authenticator()
	name := "eve.n" + once()
	b.follow(consoleLink(t, "console-operators", "create-operator", "--name", name))
	for path, says := range map[string][]string{
		"/operators/rails":                                 {"Rails", "sim"},
		"/operators/networks":                              {"Scans", "RPC hosts", "ethereum"},
		"/operators/stock":                                 {"For payments", "Issued by wallets", "evm"},
		"/operators/stations":                              {"Waiting", "Balances"},
		"/operators/health":                                {"Processes", "Queues", "payments", "wallets"},
		"/operators/sweeps":                                {"Sweeps"},
		"/operators/closes":                                {"Daily closes", "CSV"},
		"/operators/screenings":                            {"Screening hits"},
		"/operators/deliveries":                            {"Deliveries"},
		"/operators/deliveries?merchantId=local&mode=test": {"Deliveries"},
		"/operators/dead":                                  {"Dead messages"},
		"/operators/rescans":                               {"Rescans"},
		"/operators/networks/test/ethereum/rescan":         {"Scan again", "First block"},
	} {
		b.visit(path)
		b.shows(says...)
		page := strings.NewReplacer("/operators/", "overview-", "/", "-", "?", "-", "=", "-", "&", "-").Replace(path)
		for _, s := range []size{phone, tablet, desktop} {
			for _, scheme := range []string{"light", "dark"} {
				b.media(&emulation.MediaFeature{Name: "prefers-color-scheme", Value: scheme})
				b.resize(s.width)
				b.accessible(page + " " + s.name + " " + scheme)
				b.shoot(page + "-" + s.name + "-" + scheme)
			}
		}
		b.fits(page)
		b.resize(desktop.width)
		b.named()
	}
	b.visit("/operators/health")
	told := js[[]string](b, `[...document.querySelectorAll('td[data-label="Service"]')].map((cell) => cell.innerText.trim())`)
	for _, service := range []string{"gateway", "payments", "wallets", "reports", "callback-dispatcher", "console", "console-operators"} {
		if !slices.Contains(told, service) {
			t.Errorf("read the health of services: got %v, want %s among them", told, service)
		}
	}
	b.visit("/operators/account")
	b.submit("[data-passkey]")
	b.shows("The passkey is added")
	b.visit("/operators/networks/test/ethereum/rescan")
	b.enter("#f-from", "0")
	b.enter("#f-to", "5")
	b.enter("#f-reason", "ordered by "+name)
	b.submit("main form .button")
	words := strings.Fields(js[string](b, `document.querySelector("#c-add-0").dataset.text`))
	command(t, "gateway", words[1:]...)
	b.visit("/operators/approve")
	b.shows("/v1/admin/networks/ethereum/rescan", "ordered by "+name)
	b.submit("[data-passkey]")
	b.shows("Done")
	b.visit("/operators/rescans")
	b.shows("ordered by " + name)
	b.shoot("overview-rescanned")
}
