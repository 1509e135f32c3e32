package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"causeway.internal/gateway/internal/credential"
	"causeway.internal/libs/tenant"
)

// Each command makes its call.
func TestCommands_ask(t *testing.T) {
	a := serve(t)
	for want, line := range map[string]string{
		`GET /v1/payments/CW-A `:                                                    `payments get CW-A`,
		`GET /v1/payments?limit=20&status=settled `:                                 `payments list --status settled`,
		`GET /v1/payments?from=2026-11-01T00%3A00%3A00Z&limit=100 `:                 `payments list --all --from 2026-11-01T00:00:00Z`,
		`POST /v1/payments/CW-A/cancel {}`:                                          `payments cancel CW-A`,
		`POST /v1/payments/CW-A/refunds {"amount":0.10,"reason":"late"}`:            `payments refund CW-A --amount 0.10 --reason late`,
		`POST /v1/wallets {"crypto":"USDT","expiresInMinutes":5,"network":"tron"}`:  `wallets create --network tron --crypto USDT --expires-in 5`,
		`GET /v1/wallets/wal_1 `:                                                    `wallets get wal_1`,
		`GET /v1/wallets?cursor=&limit=20 `:                                         `wallets list`,
		`GET /v1/wallets/wal_1/deposits?limit=3 `:                                   `wallets deposits wal_1 --limit 3`,
		`GET /v1/reports/RPT-ABC123 `:                                               `reports get RPT-ABC123`,
		`POST /v1/reports {"complaintType":"fraud","name":"A","phoneNumber":"234"}`: `reports create --type fraud --name A --phone 234`,
		`GET /v1/payments?limit=20&payerChatId=p1&txHash=0x1 `:                      `payments list --payer p1 --tx 0x1`,
		`GET /v1/reports?limit=20&status=pending `:                                  `reports list --status pending`,
		`GET /v1/reports/lookup?cursor=&limit=20&phoneNumber=234 `:                  `reports lookup --phone 234`,
		`GET /v1/webhooks/deliveries?limit=20&status=exhausted `:                    `webhooks deliveries --status exhausted`,
		`GET /v1/webhooks/deliveries/del_1 `:                                        `webhooks delivery del_1`,
		`POST /v1/webhooks/deliveries/del_1/retry {}`:                               `webhooks resend del_1`,
		`POST /v1/webhooks/replays {"dryRun":true,"from":"2026"}`:                   `webhooks replay --from 2026 --dry-run`,
		`GET /v1/balances `:                                                         `get /v1/balances`,
		`POST /v1/x {"a":1.50}`:                                                     `post /v1/x --data {"a":1.50}`,
		`GET /v1/payments/..%2Fme `:                                                 `payments get ../me`,
	} {
		if status, _, errs := a.call(t, strings.Fields(line)...); !a.saw(want) {
			t.Errorf("type %q: got the status %d, %s; want the call %s among\n%s", line, status, errs, want, strings.Join(a.asked, "\n"))
		}
	}
}

// A list prints what is asked for and no more, over as many pages as that takes, and every digit of an amount.
func TestList_pages(t *testing.T) {
	answers := map[string]string{
		"":   `{"payments":[{"reference":"CW-A","fiatAmount":1234567.89,"status":"settled"}],"pagination":{"nextCursor":"c1"}}`,
		"c1": `{"payments":[{"reference":"CW-B","fiatAmount":0.10,"status":"needs_review"}],"pagination":{"nextCursor":null}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, answers[r.URL.Query().Get("cursor")])
	}))
	defer server.Close()
	environ := map[string]string{"CAUSEWAY_URL": server.URL, "CAUSEWAY_API_KEY": "sk_test_x"}
	defer http.DefaultClient.CloseIdleConnections()
	for line, want := range map[string]string{
		"payments list --all --json":     `{"reference":"CW-A","fiatAmount":1234567.89,"status":"settled"}` + "\n" + `{"reference":"CW-B","fiatAmount":0.10,"status":"needs_review"}` + "\n",
		"payments list --limit 1 --json": `{"reference":"CW-A","fiatAmount":1234567.89,"status":"settled"}` + "\n",
	} {
		if status, out, errs := typed(t, environ, "", strings.Fields(line)...); status != 0 || out != want {
			t.Errorf("type %q: got the status %d, %s%s; want %s", line, status, out, errs, want)
		}
	}
	if _, out, _ := typed(t, environ, "", "payments", "list"); !strings.Contains(out, "REFERENCE  CREATED") || !strings.Contains(out, "1234567.89") || !strings.Contains(out, "needs_review") {
		t.Errorf("list payments for a person: got\n%s\nwant a head, amounts with every digit and both pages", out)
	}
}

// A replay to callbackUrls says that it leaves out the merchant's endpoints.
func TestReplay_endpoints(t *testing.T) {
	a := serve(t)
	for line, want := range map[string]bool{"webhooks replay --from 2026": true, "webhooks replay --from 2026 --endpoint whe_1": false} {
		if status, _, errs := a.call(t, strings.Fields(line)...); status != 0 || strings.Contains(errs, "--endpoint") != want {
			t.Errorf("type %q beside an endpoint: got the status %d, %q; want --endpoint named: %t", line, status, errs, want)
		}
	}
}

// get prints what is no JSON as it comes, however long it is, and says so where an answer is cut short or too long.
func TestGet_otherTypes(t *testing.T) {
	table := "reference,note\r\n" + strings.Repeat("CW-A,\x1b[2J\n", answerMax/10) + strings.Repeat("x", 200_000) + "\nthe end"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/payments/export":
			w.Header().Set("Content-Type", "text/csv; charset=utf-8")
			_, _ = io.WriteString(w, table)
		case "/v1/short":
			w.Header().Set("Content-Type", "text/csv")
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "a,b\n")
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `["`+strings.Repeat("x", answerMax)+`"]`)
		}
	}))
	defer server.Close()
	environ := map[string]string{"CAUSEWAY_URL": server.URL, "CAUSEWAY_API_KEY": "sk_test_x"}
	if status, out, errs := typed(t, environ, "", "get", "/v1/payments/export"); status != 0 || out != table {
		t.Errorf("get a table: got the status %d, %d bytes, %s; want the %d bytes of the table", status, len(out), errs, len(table))
	}
	for path, want := range map[string]string{"/v1/short": "unexpected EOF", "/v1/long": "more than 8 MiB"} {
		if status, _, errs := typed(t, environ, "", "get", path); status != statusFailed || !strings.Contains(errs, want) {
			t.Errorf("get %s: got the status %d, %.200s; want %q", path, status, errs, want)
		}
	}
	var out strings.Builder
	c := &cli{out: &out, errs: io.Discard, environ: environ, now: time.Now, terminal: true}
	if status := c.run(t.Context(), []string{"get", "/v1/payments/export"}); status != 0 || !strings.HasPrefix(out.String(), "reference,note\nCW-A,·[2J\n") || !strings.HasSuffix(out.String(), "the end") {
		t.Errorf("get a table on a terminal: got the status %d, %.50q; want no character that controls it", status, out.String())
	}
	direct.CloseIdleConnections()
}

// An object is printed in the API's order; control characters of other people's texts do not reach the terminal, and
// colours only a terminal.
func TestPrintObject(t *testing.T) {
	var out strings.Builder
	c := &cli{out: &out}
	raw := json.RawMessage("{\"b\":1.50,\"a\":{\"name\":\"x\\u001b[2J\",\"list\":[true,null]},\"status\":\"settled\"}")
	want := "b         1.50\na.name    x·[2J\na.list.0  true\na.list.1  -\nstatus    settled\n"
	if err := c.printObject(raw); err != nil || out.String() != want {
		t.Errorf("print an object: got %v\n%s\nwant\n%s", err, out.String(), want)
	}
	c.colour = true
	if got := c.shade("settled"); got != "\x1b[32msettled\x1b[0m" {
		t.Errorf("shade settled on a terminal: got %q, want it green", got)
	}
}

// With --json an error is JSON too, wherever the flag is.
func TestRun_errorsAsJSON(t *testing.T) {
	a := serve(t)
	for line, want := range map[string]string{
		"keys me --key sk_test_wrong --json": `{"error":{"status":401,"code":"api_key_invalid","message":"No such key","requestId":"req_1"}}` + "\n",
		"--json payments get":                `{"error":{"code":"usage","message":"get needs REFERENCE"}}` + "\n",
	} {
		if status, out, errs := a.call(t, strings.Fields(line)...); status == 0 || out != "" || errs != want {
			t.Errorf("type %q: got the status %d, %q, %s; want %s", line, status, out, errs, want)
		}
	}
}

func TestRun_didYouMean(t *testing.T) {
	a := serve(t)
	for line, want := range map[string]string{"paymnts": "did you mean payments?", "payments lst": "list?", "keys revok 7": "did you mean revoke?"} {
		if status, _, errs := a.call(t, strings.Fields(line)...); status != statusUsage || !strings.Contains(errs, want) {
			t.Errorf("type %q: got the status %d, %s; want %q", line, status, errs, want)
		}
	}
}

// A live key is used only with --live, and a test key only without.
func TestLive(t *testing.T) {
	a := serve(t)
	for _, tt := range []struct {
		key, line string
		status    int
	}{
		{"sk_live_x", "keys me", statusUsage},
		{"sk_test_x", "keys me --live", statusUsage},
		{"sk_live_x", "keys me --live", statusFailed}, // it reaches the API, which does not know the key
		{"sk_live_x", "keys list", statusDone},        // the operator's token is used, not the key
	} {
		environ := map[string]string{"CAUSEWAY_URL": a.URL, "CAUSEWAY_API_KEY": tt.key, "ADMIN_TOKEN": "op_x"}
		if status, _, errs := typed(t, environ, "", strings.Fields(tt.line)...); status != tt.status {
			t.Errorf("type %q with the key %s: got the status %d, %s; want %d", tt.line, tt.key, status, errs, tt.status)
		}
	}
	if status, _, errs := a.call(t, "keys", "create", "--merchant", "m", "--name", "n", "--mode", "live"); status != statusUsage || a.saw("POST /v1/admin/keys") {
		t.Errorf("create a live key without permissions: got the status %d, %s; want a refusal before any call", status, errs)
	}
}

// Profiles keep a test and a live key apart, in a file that only its owner reads.
func TestProfiles(t *testing.T) {
	a := serve(t)
	file := filepath.Join(t.TempDir(), "c", "config.json")
	environ := map[string]string{"CAUSEWAY_CONFIG": file}
	step := func(in string, want int, line string) string {
		t.Helper()
		status, out, errs := typed(t, environ, in, strings.Fields(line)...)
		if status != want {
			t.Fatalf("type %q: got the status %d, %s%s; want %d", line, status, out, errs, want)
		}
		return out + errs
	}
	step("sk_test_x\n", statusDone, "profiles set shop --url "+a.URL)
	step("sk_live_y\n", statusDone, "profiles set shop")
	step("what", statusUsage, "profiles set shop")
	step("", statusUsage, "profiles set other")
	step("sk_test_wrong\n", statusDone, "profiles set other --url "+a.URL)
	step("", statusDone, "keys me")                   // the default profile, its test key
	step("", statusFailed, "keys me --live")          // its live key, which the API does not know
	step("", statusFailed, "keys me --profile other") // the other one
	step("", statusUsage, "keys me --profile nobody") // none
	step("", statusDone, "profiles use other")        //
	step("", statusFailed, "keys me")                 // the other one is the default now
	step("", statusDone, "keys me --profile shop")    //
	step("", statusDone, "keys me --key sk_test_x")   // a flag goes before a profile
	if out := step("", statusDone, "profiles list"); !strings.Contains(out, "*  other") || strings.Contains(out, "sk_test_wrong") {
		t.Errorf("list profiles: got\n%s\nwant a mark at other and no whole key", out)
	}
	step("", statusDone, "profiles remove other")
	step("", statusUsage, "profiles remove other")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("look at the file of profiles: got %v, %v; want 0600", info, err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if out := step("", statusFailed, "keys me"); !strings.Contains(out, "chmod 600") {
		t.Errorf("use profiles that others may read: got %s, want a refusal", out)
	}
}

// page is where the commands are documented; UPDATE=1 writes it.
const page, mark = "../../../docs/cli.md", "<!-- commands: make docs -->\n"

// Every command has help, an example beneath its group, and its place in docs/cli.md.
func TestHelp_everywhere(t *testing.T) {
	a := serve(t)
	root := (&cli{now: time.Now}).root()
	var text strings.Builder
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		for _, args := range [][]string{append([]string{"help"}, path...), append(path, "--help")} {
			if status, out, errs := a.call(t, args...); status != 0 || !strings.Contains(out, "--json") || !strings.Contains(out, cmd.Short) && !strings.Contains(out, cmd.Long) {
				t.Errorf("ask for help with %v: got the status %d, %s%s; want 0 and the help", args, status, out, errs)
			}
		}
		document(&text, cmd, len(path))
		for _, beneath := range cmd.Commands() {
			walk(beneath)
		}
	}
	for _, cmd := range root.Commands() {
		walk(cmd)
	}
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(raw), mark)
	want := before + mark + text.String()
	if os.Getenv("UPDATE") != "" && found {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(raw) != want {
		t.Errorf("docs/cli.md differs from the help of the commands: run make docs")
	}
}

// document writes the section of a command.
func document(text *strings.Builder, cmd *cobra.Command, depth int) {
	text.WriteString("\n" + strings.Repeat("#", depth+1) + " " + strings.Join(strings.Fields(cmd.CommandPath())[1:], " ") + "\n\n")
	about := cmd.Long
	if about == "" {
		about = strings.ToUpper(cmd.Short[:1]) + cmd.Short[1:] + "."
	}
	text.WriteString(about + "\n")
	if cmd.HasSubCommands() {
		return
	}
	text.WriteString("\n```\n" + cmd.UseLine() + "\n")
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		kind, help := pflag.UnquoteUsage(f)
		text.WriteString("  --" + strings.TrimSpace(f.Name+" "+kind) + "\n        " + help)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0s" && f.DefValue != "0" {
			text.WriteString(" (default " + f.DefValue + ")")
		}
		text.WriteString("\n")
	})
	if cmd.Example != "" {
		text.WriteString("\nexamples:\n" + cmd.Example + "\n")
	}
	text.WriteString("```\n")
}

// far leads every connection of the tool to a server of this test, as a resolver would, and counts those that come. A
// secret that reaches it has left the machine.
func far(t *testing.T) (came *atomic.Int32, secrets *sync.Map) {
	t.Helper()
	came, secrets = new(atomic.Int32), new(sync.Map)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		secrets.Store(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), true)
	}))
	t.Cleanup(server.Close)
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		came.Add(1)
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}}
	old := direct.Transport
	direct.Transport = transport
	t.Cleanup(func() { direct.Transport = old })
	return came, secrets
}

// A secret that moves real money leaves the machine over https only, and a text that is not Causeway's never does.
func TestSecrets_leave(t *testing.T) {
	test, live := credential.Generate(credential.Secret, tenant.Test), credential.Generate(credential.Secret, tenant.Live)
	token, foreign := credential.GenerateToken(), "sk-proj-aVendorOfModels"
	for _, tt := range []struct {
		line     string
		environ  map[string]string
		leaves   bool
		misusage string
	}{
		{"keys me --live --url http://pay.example", map[string]string{"API_KEY": live}, false, "https"},
		{"keys me --live --url http://pay.example --key " + live, nil, false, "https"},
		{"get /v1/admin/keys --url http://pay.example", map[string]string{"ADMIN_TOKEN": token}, false, "https"},
		{"get /v1/admin/keys --url http://pay.example --admin-token " + token, nil, false, "https"},
		{"keys me", map[string]string{"CAUSEWAY_URL": "https://pay.example", "API_KEY": foreign}, false, "key of Causeway"},
		{"keys me --url https://pay.example --key " + foreign, nil, false, "key of Causeway"},
		{"keys me --url https://pay.example --key sk_test_short", nil, false, "key of Causeway"},
		{"get /v1/admin/keys --url https://pay.example", map[string]string{"ADMIN_TOKEN": foreign}, false, "operator's token"},
		{"get /v1/admin/keys --url https://pay.example", map[string]string{"ADMIN_TOKEN": live}, false, "operator's token"},
		{"keys me --url ftp://pay.example --key " + test, nil, false, "http"},
		{"keys me --url http://127.0.0.1.pay.example --live --key " + live, nil, false, "https"},
		{"keys me --url http://pay.example", map[string]string{"API_KEY": test}, true, ""},
		{"keys me --live --url HTTPS://pay.example", map[string]string{"API_KEY": live}, true, ""},
		{"keys me --live --url http://localhost:1", map[string]string{"API_KEY": live}, true, ""},
		{"get /v1/admin/keys --url http://[::1]:1", map[string]string{"ADMIN_TOKEN": "any"}, true, ""},
	} {
		came, _ := far(t)
		status, _, errs := typed(t, tt.environ, "", strings.Fields(tt.line)...)
		if left := came.Load() > 0; left != tt.leaves {
			t.Errorf("causeway %s with %v: left the machine: %t, want %t", tt.line, tt.environ, left, tt.leaves)
		}
		if !tt.leaves && (status != statusUsage || !strings.Contains(errs, tt.misusage)) {
			t.Errorf("causeway %s: got the status %d, %s; want a misuse that names %q", tt.line, status, errs, tt.misusage)
		}
		if strings.Contains(errs, foreign) || strings.Contains(errs, live) || strings.Contains(errs, token) {
			t.Errorf("causeway %s: the message shows the secret: %s", tt.line, errs)
		}
	}
}

// A key or a token of the environment does not go to the URL of a profile, which may be another product's.
func TestSecrets_ofTheEnvironment(t *testing.T) {
	own, staging := credential.Generate(credential.Secret, tenant.Test), credential.Generate(credential.Secret, tenant.Test)
	token := credential.GenerateToken()
	environ := map[string]string{"CAUSEWAY_CONFIG": filepath.Join(t.TempDir(), "config.json")}
	if status, _, errs := typed(t, environ, own, "profiles", "set", "shop", "--url", "http://pay.example"); status != statusDone {
		t.Fatalf("set a profile: got the status %d, %s", status, errs)
	}
	_, secrets := far(t)
	environ["API_KEY"], environ["ADMIN_TOKEN"] = staging, token
	const unused = "The key of the environment is not used"
	for line, said := range map[string]bool{"keys me": true, "keys me --json": true, "keys me --profile shop": false, "keys me --key " + own: false} {
		_, out, errs := typed(t, environ, "", strings.Fields(line)...)
		if strings.Contains(errs, unused) != said || strings.Contains(out, unused) || strings.Contains(errs, staging) {
			t.Errorf("causeway %s: got %q and %q; want a word of the key that is not used: %t", line, out, errs, said)
		}
	}
	if _, ok := secrets.LoadAndDelete(own); !ok {
		t.Error("ask the product of the default profile: its own key is not sent")
	}
	for _, line := range []string{"get /v1/admin/keys", "get /v1/admin/keys --profile shop", "keys me --live"} {
		if status, _, errs := typed(t, environ, "", strings.Fields(line)...); status != statusUsage {
			t.Errorf("causeway %s: got the status %d, %s; want a misuse", line, status, errs)
		}
	}
	secrets.Range(func(secret, _ any) bool {
		t.Errorf("the product of a profile gets %v, a secret of the environment", secret)
		return true
	})
	if _, _, errs := typed(t, environ, "", "keys", "me", "--url", "http://staging.example"); strings.Contains(errs, unused) {
		t.Errorf("name a URL: %s", errs)
	}
	if _, ok := secrets.Load(staging); !ok {
		t.Error("name a URL: the key of the environment is not sent there")
	}
}
