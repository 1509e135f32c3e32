package check

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// importRule is a direction of imports that the compiler does not hold. Its fields are regular expressions of
// directories and of import paths; each matches with everything beneath. Paths of this repository have no
// causeway.internal/.
type importRule struct {
	name  string
	in    string // directories that obey
	out   string // directories among them that do not
	tests bool   // tests obey, too
	never string // forbidden imports
	only  string // the imports that are allowed beside the standard library; "" allows all
	why   string
}

const (
	inside = `services/[^/]+/internal/`
	within = `(services/[^/]+|gateway)/internal/`
	noIO   = `net/http|os|log|database/sql`
	pure   = `(alert|payment|quote|ledger|payout|refund|wallet|report|delivery|intent|sweep|people)`
	keys   = `(derivation|evmtx|trontx|soltx|btctx)`
	remote = `(rate|rail|chain|attempt|remote|signer)` // what speaks to another system
	screen = `(web|session|passkey|api|mail)`          // the drivers of a console

	fixture = within + `fixture` // shared by the tests of several packages: its files count as tests
)

var importRules = []importRule{
	{
		name: "pure", why: "a pure package does no I/O", never: noIO,
		in: inside + pure + `|services/wallets/cmd/signer/internal/policy`,
		only: `github.com/shopspring/decimal|libs/(address|fault|id|money|order|tenant)|services/payments/internal/(alert|payment|quote|ledger|payout|refund)|` +
			`services/wallets/internal/(wallet|derivation|evmtx|trontx|soltx|btctx|intent)`,
	},
	{
		name: "address", why: "addresses and their derivation do no I/O", never: noIO, in: inside + keys + `|libs/address`,
		only: `libs/(address|fault|id|money|tenant)|github.com/(btcsuite/btcd|decred/dcrd|mr-tron/base58)|` +
			`golang.org/x/crypto|google.golang.org/protobuf/encoding/protowire|services/wallets/internal/evmtx`,
	},
	{
		name: "app", why: "use cases see interfaces of their own, not a driver", // every package but those that say why not
		in: inside + `.*`, out: inside + `(store|httpapi|messaging|operator|scanner|unseen|network|` + pure + `|` + keys + `|` + remote + `|` + screen + `)`,
		never: `github.com/(jackc/pgx|go-kit|ThreeDotsLabs)|net/http|database/sql|libs/(bus|httpkit)|` +
			inside + `(store|httpapi|messaging|chain/[a-z]+|attempt)`, // package chain has blocks and transfers, and no driver
	},
	{name: "store", why: "drivers never import each other", in: within + `store`, never: within + `(httpapi|messaging|proxy|rate|attempt)`},
	{name: "httpapi", why: "drivers never import each other", in: within + `httpapi`, never: within + `(store|messaging|proxy|chain|attempt)`},
	{name: "messaging", why: "drivers never import each other", in: inside + `messaging`, never: inside + `(store|httpapi|chain|attempt)`},
	{
		name: "drivers", why: "drivers never import each other", in: inside + remote,
		never: inside + `(store|httpapi|messaging)`,
	},
	{
		name: "broker", why: "only libs/bus knows the broker's library", tests: true,
		in: `.*`, out: `libs/(bus|testkit)|deploy/(bench|e2e)`, // the tests of e2e forge messages
		never: `github.com/(ThreeDotsLabs/watermill-amqp|rabbitmq/amqp091-go)`,
	},
	{
		name: "database", why: "only store and the database libraries import pgx", never: `github.com/jackc/pgx|database/sql`,
		in: `.*`, out: within + `store|libs/(postgres|outbox|inbox|discard|erasure|idempotency|testkit)|deploy`,
	},
	{
		name: "toolkit", why: "only httpapi and libs/httpkit import go-kit", tests: true, never: `github.com/go-kit`,
		in: `.*`, out: inside + `httpapi|libs/httpkit`,
	},
	{name: "libs", why: "libs import no service and no tool", tests: true, in: `libs`, never: `services|gateway|deploy`},
	{name: "wire", why: "messages are values", in: `libs/wire`, only: `libs/(money|order|tenant)`},
	{name: "gateway", why: "the gateway calls services over HTTP", tests: true, in: `gateway`, never: `services`},
	{
		name: "console", why: "a console calls the gateway's API and nothing else of the product", tests: true, in: `services/console`,
		never: `services/(payments|wallets|reports|callback-dispatcher)|gateway|libs/(bus|wire)`,
	},
	{
		name: "areas", why: "the pages of one door know nothing of the other's, nor of the database", in: `services/console/internal/web/(merchant|operator)`,
		never: `services/console/internal/(store|session|passkey|mail)`,
	},
	{name: "payments", why: speak, tests: true, in: `services/payments`, never: `services/(wallets|reports|callback-dispatcher)|gateway`},
	{name: "wallets", why: speak, tests: true, in: `services/wallets`, never: `services/(payments|reports|callback-dispatcher)|gateway`},
	{name: "reports", why: speak, tests: true, in: `services/reports`, never: `services/(payments|wallets|callback-dispatcher)|gateway`},
	{name: "dispatcher", why: speak, tests: true, in: `services/callback-dispatcher`, never: `services/(payments|wallets|reports)|gateway`},
	{
		name: "stack", why: "the launcher shares the table of the broker's rights with the product and nothing else", tests: true,
		in: `deploy/stack`, only: `github.com/jackc/pgx|deploy/stack|libs/testkit/port|libs/wire`,
	},
	{name: "auditor", why: "an auditor shares no code with the product", tests: true, in: `deploy/chaos`, never: `libs|services|gateway`},
	{
		name: "measurer", why: "a measurer shares no code with the product", tests: true, in: `deploy/bench`,
		only: `deploy/bench|libs/testkit/receiver|[^/]+\..*`, // receiver imports the standard library alone
	},
	{name: "testkit", why: "testkit and fixtures are for tests", in: `.*`, out: `libs/testkit|deploy`, never: `libs/testkit|` + fixture},
}

const speak = "services speak by message"

// forbidden names the rules that forbid a file of a directory to import a path.
func forbidden(dir string, test bool, imported string) (rules []string) {
	standard := !strings.Contains(strings.Split(imported, "/")[0], ".")
	imported = strings.TrimPrefix(imported, "causeway.internal/")
	for _, r := range importRules {
		if !beneath(r.in, dir) || beneath(r.out, dir) || test && !r.tests {
			continue
		}
		if beneath(r.never, imported) || r.only != "" && !standard && !beneath(r.only, imported) {
			rules = append(rules, r.name)
		}
	}
	return rules
}

var patterns = map[string]*regexp.Regexp{}

// beneath says whether a pattern matches a path or a directory above it.
func beneath(pattern, name string) bool {
	if pattern == "" {
		return false
	}
	if patterns[pattern] == nil {
		patterns[pattern] = regexp.MustCompile(`^(` + pattern + `)(/|$)`)
	}
	return patterns[pattern].MatchString(name)
}

// Every import of every file, whatever its build tags, keeps the rules.
func TestImports(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", ".stack", "bin", "node_modules", "testdata"}, entry.Name()) {
			return fs.SkipDir
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(relative))
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			seen++
			for _, rule := range forbidden(dir, strings.HasSuffix(name, "_test.go") || beneath(fixture, dir), imported) {
				i := slices.IndexFunc(importRules, func(r importRule) bool { return r.name == rule })
				t.Errorf("%s imports %s, which breaks the rule %s: %s", relative, imported, rule, importRules[i].why)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if least := 1000; seen < least {
		t.Errorf("read %d imports, want at least %d", seen, least)
	}
}

// Each rule finds what breaks it, and nothing else.
func TestImports_broken(t *testing.T) {
	const own = "causeway.internal/"
	bites := map[string]int{}
	for _, tc := range []struct {
		dir, imported, want string
		test                bool
	}{
		{dir: "services/payments/internal/payment", imported: "net/http", want: "pure"},
		{dir: "services/payments/internal/payment", imported: "os", want: "pure"},
		{dir: "services/payments/internal/payment", imported: "log/slog", want: "pure"},
		{dir: "services/payments/internal/payment", imported: own + "libs/wire", want: "pure"},
		{dir: "services/payments/internal/payment", imported: "database/sql", want: "pure database"},
		{dir: "services/payments/internal/payment", imported: "os", test: true},
		{dir: "services/payments/internal/payment", imported: "time"},
		{dir: "services/payments/internal/payment", imported: "github.com/shopspring/decimal"},
		{dir: "services/payments/internal/new", imported: "net/http", want: "app"},
		{dir: "services/payments/internal/quote", imported: "net/http", want: "pure"},
		{dir: "services/payments/internal/ledger", imported: "net/http", want: "pure"},
		{dir: "services/payments/internal/payout", imported: "net/http", want: "pure"},
		{dir: "services/payments/internal/refund", imported: "net/http", want: "pure"},
		{dir: "services/wallets/internal/wallet", imported: "net/http", want: "pure"},
		{dir: "services/callback-dispatcher/internal/delivery", imported: "net/http", want: "pure"},
		{dir: "services/reports/internal/report", imported: "net/http", want: "pure"},
		{dir: "services/wallets/cmd/signer/internal/policy", imported: "os", want: "pure"},
		{dir: "libs/address", imported: "net/http", want: "address"},
		{dir: "services/wallets/internal/derivation", imported: "net/http", want: "address"},
		{dir: "services/wallets/internal/evmtx", imported: own + "libs/wire", want: "address"},
		{dir: "services/payments/internal/operators", imported: "github.com/jackc/pgx/v5", want: "app database"},
		{dir: "services/payments/internal/operators", imported: own + "libs/bus", want: "app"},
		{dir: "services/wallets/internal/app", imported: own + "services/wallets/internal/chain/evm", want: "app"},
		{dir: "services/payments/internal/store", imported: own + "services/payments/internal/messaging", want: "store"},
		{dir: "services/payments/internal/httpapi", imported: own + "services/payments/internal/store", want: "httpapi"},
		{dir: "services/payments/internal/messaging", imported: own + "services/payments/internal/store", want: "messaging"},
		{dir: "services/payments/internal/messaging", imported: own + "services/payments/internal/store", test: true},
		{dir: "services/callback-dispatcher/internal/attempt", imported: own + "services/callback-dispatcher/internal/store", want: "drivers"},
		{dir: "services/wallets/internal/chain/evm", imported: own + "services/wallets/internal/chain/rpc"},
		{dir: "gateway/internal/store", imported: own + "gateway/internal/proxy", want: "store"},
		{dir: "services/wallets/internal/scanner", imported: "github.com/rabbitmq/amqp091-go", want: "broker"},
		{dir: "services/payments/internal/messaging", imported: "github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp", want: "broker"},
		{dir: "libs/bus", imported: "github.com/rabbitmq/amqp091-go"},
		{dir: "services/payments/internal/httpapi", imported: "github.com/jackc/pgx/v5", want: "database"},
		{dir: "services/payments/internal/messaging", imported: "github.com/go-kit/kit/endpoint", want: "toolkit"},
		{dir: "libs/id", imported: own + "services/payments/migrations", want: "libs"},
		{dir: "libs/id", imported: own + "deploy/stack", test: true, want: "libs"},
		{dir: "libs/wire", imported: own + "libs/fault", want: "wire"},
		{dir: "services/payments", imported: own + "services/wallets/migrations", test: true, want: "payments"},
		{dir: "services/console/internal/web/merchant", imported: own + "services/console/internal/store", want: "areas"},
		{dir: "services/console/internal/web", imported: own + "libs/bus", want: "console"},
		{dir: "services/console/internal/people", imported: "net/http", want: "pure"},
		{dir: "services/wallets/internal/scanner", imported: own + "services/payments/migrations", want: "wallets"},
		{dir: "services/reports", imported: own + "services/payments/migrations", want: "reports"},
		{dir: "services/callback-dispatcher", imported: own + "gateway/migrations", want: "dispatcher"},
		{dir: "gateway/internal/route", imported: own + "services/payments/migrations", want: "gateway"},
		{dir: "deploy/stack/internal/state", imported: own + "libs/id", want: "stack"},
		{dir: "deploy/stack", imported: "github.com/shopspring/decimal", want: "stack"},
		{dir: "deploy/chaos", imported: own + "libs/testkit/receiver", want: "auditor"},
		{dir: "deploy/bench", imported: own + "libs/id", want: "measurer"},
		{dir: "deploy/bench", imported: own + "libs/testkit/receiver"},
		{dir: "deploy/bench", imported: "github.com/jackc/pgx/v5"},
		{dir: "services/payments/internal/operators", imported: own + "libs/testkit/pg", want: "testkit"},
		{dir: "services/payments/internal/operators", imported: own + "services/payments/internal/fixture", want: "testkit"},
		{dir: "services/payments/internal/operators", imported: own + "libs/testkit/pg", test: true},
	} {
		got := forbidden(tc.dir, tc.test, tc.imported)
		for _, rule := range got {
			bites[rule]++
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s imports %s (test: %t): rules %q, want %q", tc.dir, tc.imported, tc.test, got, tc.want)
		}
	}
	for _, r := range importRules {
		if bites[r.name] == 0 {
			t.Errorf("no case breaks the rule %s", r.name)
		}
	}
}
