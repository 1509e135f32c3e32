// Package stack gives tests a running product: the shared one that `stack test` started and described in the
// environment, or a private second set of service processes, on the same PostgreSQL and RabbitMQ, that a test may
// configure, kill and start again. It runs the launcher (deploy/stack) as a program.
//
// Environment: BASE_URL, API_KEY, ADMIN_TOKEN and WEBHOOK_SECRET of the shared stack, its directory CAUSEWAY_STACK_DIR,
// and CAUSEWAY_STACK, the launcher's binary.
package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/libs/testkit/port"
)

const (
	launcherVariable = "CAUSEWAY_STACK"
	dirVariable      = "CAUSEWAY_STACK_DIR"
	upWithin         = 4 * time.Minute
	changeWithin     = 2 * time.Minute
)

// privateStock is the stock of addresses of each family in a private stack, and privateBlock how many of them a process
// leases at once. Few tests need more than a dozen, and each stack makes its own.
const (
	privateStock = "320"
	privateBlock = "32"
)

// slots bounds the private stacks of one test binary. A stack is five services and their databases: a dozen of them at
// once exhaust the server's connections, and starve each other of the processor until deadlines pass that have nothing
// to do with the tests. No test may take a second stack while it holds one.
var slots = make(chan struct{}, 4)

// starting lets one of them start at a time. The start computes for seconds; three at once starve the shared product
// until its gateway answers other tests that a service took too long.
var starting sync.Mutex

// Stack is a running product.
type Stack struct {
	BaseURL       string            `json:"baseUrl"`          // of the gateway
	APIKey        string            `json:"apiKey"`           // test mode, permission *
	AdminToken    string            `json:"adminToken"`       // an operator's
	SecondToken   string            `json:"secondAdminToken"` // another operator's
	WebhookSecret string            `json:"webhookSecret"`    // of the API key's merchant in test mode
	Databases     map[string]string `json:"databases"`        // service name to the URL of its application role
	Owners        map[string]string `json:"owners"`           // service name to the URL of the role that migrates
	Brokers       map[string]string `json:"brokers"`          // service name to the AMQP URL of its user
	AMQPSURL      string            `json:"amqpsUrl"`         // the private broker's in TLS, with the administrator's credentials
	CA            string            `json:"ca"`               // file of the authority that certifies private servers
	Doors         map[string]Door   `json:"doors"`            // service name to its API behind the gateway

	dir string
}

// Door is the API of a service as the gateway calls it.
type Door struct {
	URL         string `json:"url"`
	IdentityKey []byte `json:"identityKey"` // signs the gateway's identities
	DoorKey     string `json:"doorKey"`     // by which a console names people: the base64 of its seed
}

// Options of a private stack.
type Options struct {
	// Env adds variables to a service's environment, by service name (payments, wallets, gateway, reports,
	// callback-dispatcher); they override those of the launcher.
	Env map[string]map[string]string

	// Private starts servers of the stack's own, which also answer in TLS.
	Private bool

	// Shards is how many of payments, wallets and callback-dispatcher there are; 0 is one.
	Shards int
}

// Shared is the stack that `stack test` started. The test fails without one.
func Shared(t testing.TB) *Stack {
	t.Helper()
	s := &Stack{
		BaseURL: must(t, "BASE_URL"), APIKey: must(t, "API_KEY"), AdminToken: must(t, "ADMIN_TOKEN"),
		WebhookSecret: must(t, "WEBHOOK_SECRET"), dir: must(t, dirVariable),
	}
	var described Stack
	describe(t, &described, "status", "--dir", s.dir, "--json")
	s.Databases, s.Owners, s.Brokers, s.Doors = described.Databases, described.Owners, described.Brokers, described.Doors
	s.SecondToken = described.SecondToken
	return s
}

// New starts a private stack and takes it down when the test ends. It waits while too many others run, and returns once
// the gateway answers and payments has addresses in stock.
func New(t testing.TB, o Options) *Stack {
	t.Helper()
	slots <- struct{}{}
	t.Cleanup(func() { <-slots })
	s := &Stack{dir: t.TempDir()}
	args := []string{"up", "--dir", s.dir, "--json"}
	if o.Private {
		args = append(args, "--private")
	}
	if o.Shards > 0 {
		args = append(args, "--shards", strconv.Itoa(o.Shards))
	}
	if o.Env["payments"]["ADDRESS_STOCK"] == "" {
		args = append(args, "--env", "payments:ADDRESS_STOCK="+privateStock, "--env", "payments:ADDRESS_BLOCK="+privateBlock)
	}
	for _, service := range sortedKeys(o.Env) {
		for _, name := range sortedKeys(o.Env[service]) {
			args = append(args, "--env", service+":"+name+"="+o.Env[service][name])
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.showLogs(t)
		}
		if out, err := launch(context.WithoutCancel(t.Context()), changeWithin, "down", "--dir", s.dir); err != nil {
			t.Errorf("taking the private stack down: %v\n%s", err, out)
		}
	})
	starting.Lock()
	defer starting.Unlock()
	describe(t, s, args...)
	s.holdPorts(t)
	return s
}

// holdPorts keeps the ports of the stack's processes from other stacks while the test kills and starts them.
func (s *Stack) holdPorts(t testing.TB) {
	t.Helper()
	for name, process := range s.processes(t) {
		ready, err := url.Parse(process.Ready)
		if err != nil || !strings.HasPrefix(ready.Scheme, "http") {
			continue
		}
		number, err := strconv.Atoi(ready.Port())
		if err == nil {
			err = port.Hold(number)
		}
		if err != nil {
			t.Fatalf("keep the port of %s: %v", name, err)
		}
	}
}

// Dir is the stack's directory, the launcher's --dir.
func (s *Stack) Dir() string { return s.dir }

// Kill ends a service's process with SIGKILL and leaves it down until Start.
func (s *Stack) Kill(t testing.TB, service string) {
	t.Helper()
	s.change(t, "kill", service, "-9", "--dir", s.dir)
}

// Start starts a killed service again, unchanged, and returns when it is ready.
func (s *Stack) Start(t testing.TB, service string) {
	t.Helper()
	s.change(t, "start", service, "--dir", s.dir)
}

// StartWith starts a killed service once with other settings, and returns why it does not run.
func (s *Stack) StartWith(t testing.TB, service string, env map[string]string) error {
	t.Helper()
	args := []string{"start", service, "--dir", s.dir}
	for _, name := range sortedKeys(env) {
		args = append(args, "--env", name+"="+env[name])
	}
	_, err := launch(t.Context(), changeWithin, args...)
	return err
}

// Metrics reads /metrics of every process that runs, one after the other.
func (s *Stack) Metrics(t testing.TB) []byte {
	t.Helper()
	var all []byte
	for name, process := range s.processes(t) {
		base, ours := strings.CutSuffix(process.Ready, "/readyz")
		if !ours || !process.Running {
			continue
		}
		response, err := http.Get(base + "/metrics")
		if err != nil {
			t.Fatalf("reading the metrics of %s: %v", name, err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("reading the metrics of %s: %s %v", name, response.Status, err)
		}
		all = append(all, text...)
	}
	return all
}

// Ready is the status of a process's readiness.
func (s *Stack) Ready(t testing.TB, name string) int {
	t.Helper()
	response, err := http.Get(s.processes(t)[name].Ready)
	if err != nil {
		t.Fatalf("reading the readiness of %s: %v", name, err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

type process struct {
	Ready   string `json:"ready"` // URL
	Running bool   `json:"running"`
}

func (s *Stack) processes(t testing.TB) map[string]process {
	t.Helper()
	var described struct {
		Processes map[string]process `json:"processes"`
	}
	describe(t, &described, "status", "--dir", s.dir, "--json")
	return described.Processes
}

func (s *Stack) change(t testing.TB, args ...string) {
	t.Helper()
	if out, err := launch(t.Context(), changeWithin, args...); err != nil {
		t.Fatalf("stack %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// describe runs the launcher and reads the JSON object that it prints.
func describe(t testing.TB, into any, args ...string) {
	t.Helper()
	out, err := launch(t.Context(), upWithin, args...)
	if err != nil {
		t.Fatalf("stack %s: %v\n%s", args[0], err, out)
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("reading what stack %s printed: %v\n%s", args[0], err, out)
	}
}

// launch returns the launcher's standard output, or with an error what it wrote to standard error.
func launch(ctx context.Context, within time.Duration, args ...string) ([]byte, error) {
	binary := os.Getenv(launcherVariable)
	if binary == "" {
		return nil, fmt.Errorf("%s is not set; run the tests with `make test` or `bin/stack test`", launcherVariable)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, args...) //nolint:gosec // the test chooses the words
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 15 * time.Second
	if err := cmd.Run(); err != nil {
		return append(stdout.Bytes(), stderr.Bytes()...), fmt.Errorf("running the launcher: %w", err)
	}
	return stdout.Bytes(), nil
}

// Logs is everything that the stack's processes have written so far, its servers included.
func (s *Stack) Logs(t testing.TB) []byte {
	t.Helper()
	all, err := ReadLogs(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ReadLogs is everything that was written in a stack's directory, the shared one's with "".
func ReadLogs(dir string) ([]byte, error) {
	if dir == "" {
		dir = os.Getenv(dirVariable)
	}
	entries, err := os.ReadDir(dir + "/log")
	if err != nil {
		return nil, fmt.Errorf("list the logs of a stack: %w", err)
	}
	var all []byte
	for _, entry := range entries {
		text, err := os.ReadFile(dir + "/log/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read a log of a stack: %w", err)
		}
		all = append(append(all, text...), '\n')
	}
	return all, nil
}

// showLogs puts the end of every service's log into the failed test's output.
func (s *Stack) showLogs(t testing.TB) {
	t.Helper()
	entries, err := os.ReadDir(s.dir + "/log")
	if err != nil {
		return
	}
	for _, entry := range entries {
		text, err := os.ReadFile(s.dir + "/log/" + entry.Name())
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
		t.Logf("%s, last lines:\n%s", entry.Name(), strings.Join(lines[max(0, len(lines)-25):], "\n"))
	}
}

func must(t testing.TB, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set; run the tests with `make test` or `bin/stack test`", name)
	}
	return value
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
