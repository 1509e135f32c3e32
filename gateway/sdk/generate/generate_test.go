package generate

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// The clients, and who writes their types.
var writers = map[string]func(api) map[string]string{
	"go":         golang,
	"php":        php,
	"python":     python,
	"typescript": typescript,
}

func load(t *testing.T) api {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile("../../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a, err := read(doc)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestClients: the generated files of every client are those of the document. UPDATE=1, as in make docs, writes them.
func TestClients(t *testing.T) {
	a := load(t)
	for _, language := range slices.Sorted(maps.Keys(writers)) {
		for name, text := range writers[language](a) {
			file := filepath.Join("..", language, name)
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if kept, err := os.ReadFile(file); err != nil || string(kept) != text {
				t.Errorf("compare gateway/sdk/%s/%s with gateway/openapi.yaml: it is older than the document: run make docs (%v)", language, name, err)
			}
		}
	}
}

// verifies is a call that verifies a webhook; its last argument is the secret.
var verifies = regexp.MustCompile(`(?m)[ :]= .*[vV]erify(?:Webhook|_webhook|)\(.*, (.*)\);?$`)

// TestSnippets: the guide and the READMEs verify webhooks with one secret. Most of the time a merchant has no second
// one, and the clients refuse an empty one.
func TestSnippets(t *testing.T) {
	for page, want := range map[string]int{
		"../../../docs/merchants.md": 4, "../go/README.md": 1, "../php/README.md": 1, "../python/README.md": 1, "../typescript/README.md": 1,
	} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		calls := verifies.FindAllStringSubmatch(string(text), -1)
		if len(calls) != want {
			t.Errorf("read %s: got %d calls that verify a webhook, want %d", page, len(calls), want)
		}
		for _, call := range calls {
			if secret := strings.TrimPrefix(call[1], "$"); secret != "secret" {
				t.Errorf("read %s: it verifies a webhook with %s, want one secret", page, call[1])
			}
		}
	}
}

// Every operation of merchants has a method, an answer, and a page to walk through where it has a cursor; none of
// operators or pages has one.
func TestRead(t *testing.T) {
	a := load(t)
	seen := map[string]operation{}
	for _, o := range a.operations {
		seen[o.id] = o
		if o.answer.ref == "" && len(o.answer.fields) == 0 {
			t.Errorf("read %s: its answer has no type", o.id)
		}
		if strings.HasPrefix(o.path, "/v1/admin") || !strings.HasPrefix(o.path, "/v1/") {
			t.Errorf("read %s: merchants do not call %s", o.id, o.path)
		}
		if o.list != nil && o.list.items == "" {
			t.Errorf("read %s: no list among the fields of its page", o.id)
		}
	}
	for id, want := range map[string]struct {
		key        string
		repeatable bool
	}{
		"createPayment": {"needed", true}, "listPayments": {"needed", true}, "fulfillRequest": {"none", true}, "lookupReports": {"optional", true},
		"changeWebhookEndpoint": {"needed", false}, "deleteWebhookEndpoint": {"needed", false}, "listBanks": {"optional", true},
	} {
		if o, ok := seen[id]; !ok || o.key != want.key || o.repeatable != want.repeatable {
			t.Errorf("read %s: a key is %s and repeatable %t, want %v", id, o.key, o.repeatable, want)
		}
	}
	if l := seen["lookupReports"].list; l == nil || l.in != "data" || l.items != "reports" || !l.empty || l.item.ref != "Report" {
		t.Errorf("read lookupReports: its pages are %+v", l)
	}
	for _, name := range []string{"pagination.limit", "transfers.confirmations", "data.total", "report.id"} {
		if !slices.Contains(a.integers, name) {
			t.Errorf("read the numbers: %s is not whole, among %v", name, a.integers)
		}
	}
	for _, name := range []string{"payment.fiatAmount", "payment.rate", "charge.fiat", "latencyMs.total"} {
		if slices.Contains(a.integers, name) {
			t.Errorf("read the numbers: %s is whole", name)
		}
	}
	if !slices.Contains(a.events, "PaymentEvent") || !slices.Contains(a.codes, "validation_failed") {
		t.Errorf("read the events %v and the codes %v", a.events, a.codes)
	}
}
