// Package stack is chaos' grip on a running instance: what runs in it, and how to kill and start each part. It reads
// the launcher's state file and calls the launcher's verbs, and knows nothing of what the parts do.
package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// verbTimeout bounds one call of the launcher; starting RabbitMQ takes longest.
const verbTimeout = 2 * time.Minute

// Stack is one running instance.
type Stack struct {
	program string
	dir     string

	BaseURL       string
	AdminToken    string
	Gateways      []string          // of every replica
	Databases     map[string]string // service to the URL of its application role
	Superuser     map[string]string // service to the URL of the superuser in its database
	AMQPAPI       string            // management API, with credentials
	Vhost         string
	Processes     []string // in the order of their start
	BrokerMetrics string   // of the private broker
	toxic         string   // control address of the proxy, "" if there is none
	postgres      string   // URL of the superuser
}

// Open finds the instance that the environment names: CAUSEWAY_STACK is the launcher, CAUSEWAY_STACK_DIR the instance's
// directory; BASE_URL and ADMIN_TOKEN say how to use it.
func Open(getenv func(string) string) (*Stack, error) {
	s := &Stack{
		program: getenv("CAUSEWAY_STACK"), dir: getenv("CAUSEWAY_STACK_DIR"),
		BaseURL: getenv("BASE_URL"), AdminToken: getenv("ADMIN_TOKEN"),
	}
	var missing []string
	for name, value := range map[string]string{
		"CAUSEWAY_STACK": s.program, "CAUSEWAY_STACK_DIR": s.dir, "BASE_URL": s.BaseURL, "ADMIN_TOKEN": s.AdminToken,
	} {
		if value == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, fmt.Errorf("%s not set: run this as `make chaos`", strings.Join(missing, ", "))
	}
	state, err := s.read()
	if err != nil {
		return nil, err
	}
	for _, p := range state.Processes {
		s.Processes = append(s.Processes, p.Name)
		if p.Name == "toxic" {
			s.toxic = strings.TrimSuffix(p.Ready, "/readyz")
		}
	}
	s.Databases, s.AMQPAPI, s.Vhost, s.Gateways = state.Databases, state.Rabbit.API, state.Prefix, state.Product.Gateways
	s.Superuser, s.postgres, s.BrokerMetrics = map[string]string{}, state.Postgres.URL, state.Rabbit.Metrics
	for service, address := range s.Databases {
		database, err := url.Parse(address)
		if err != nil {
			return nil, fmt.Errorf("the database of %s has no URL", service)
		}
		super, err := url.Parse(state.Postgres.URL)
		if err != nil {
			return nil, errors.New("PostgreSQL has no URL")
		}
		super.Path = database.Path
		s.Superuser[service] = super.String()
	}
	return s, nil
}

// Dir is the instance's directory.
func (s *Stack) Dir() string { return s.dir }

// launched is what we read of the launcher's state file.
type launched struct {
	Prefix   string `json:"prefix"`
	Postgres struct {
		URL string `json:"url"`
	} `json:"postgres"`
	Rabbit struct {
		API     string `json:"api"`
		Metrics string `json:"metrics"`
	} `json:"rabbit"`
	Product struct {
		Gateways []string `json:"gateways"`
	} `json:"product"`
	Processes []launchedProcess `json:"processes"`
	Databases map[string]string `json:"databases"`
}

type launchedProcess struct {
	Name    string `json:"name"`
	Ready   string `json:"ready"`
	Stopped bool   `json:"stopped"`
	Spec    struct {
		Path string   `json:"path"`
		Env  []string `json:"env"`
		Dir  string   `json:"dir"`
	} `json:"spec"`
	Ref struct {
		PID     int    `json:"pid"`
		Started uint64 `json:"started"`
	} `json:"ref"`
}

func (s *Stack) read() (launched, error) {
	var state launched
	text, err := os.ReadFile(filepath.Join(s.dir, "state.json"))
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		return state, fmt.Errorf("reading the stack's state: %w", err)
	}
	return state, nil
}

// alive says whether the process of the state file still runs; an id that was given away again does not count.
func (p launchedProcess) alive() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Ref.PID))
	if err != nil {
		return false
	}
	return startOf(stat) == strconv.FormatUint(p.Ref.Started, 10)
}

// startOf reads the start time from a line of /proc/PID/stat, "" if the process is a zombie without other threads. The
// name in brackets may hold anything, so reading starts behind it.
func startOf(stat []byte) string {
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" && fields[17] <= "1" {
		return ""
	}
	return fields[19]
}

// Shots finds the processes of the names and returns a function that ends all of them at once (SIGKILL), with nothing
// left to look up when the moment has come. It returns when they are gone: the launcher takes a process that is still
// ending for one that runs, and does not start it again.
func (s *Stack) Shots(names ...string) (shoot func() error, err error) {
	state, err := s.read()
	if err != nil {
		return nil, err
	}
	var targets []launchedProcess
	for _, p := range state.Processes {
		if slices.Contains(names, p.Name) && p.alive() {
			targets = append(targets, p)
		}
	}
	if len(targets) != len(names) {
		return nil, fmt.Errorf("not all of %v run", names)
	}
	return func() error {
		var failures []error
		for _, p := range targets {
			if p.alive() {
				failures = append(failures, syscall.Kill(p.Ref.PID, syscall.SIGKILL))
			}
		}
		for deadline := time.Now().Add(goneWithin); slices.ContainsFunc(targets, launchedProcess.alive); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				failures = append(failures, fmt.Errorf("killed and not gone within %s: %v", goneWithin, names))
				break
			}
		}
		return errors.Join(failures...)
	}, nil
}

// goneWithin is how long a process that was killed may take to end.
const goneWithin = 10 * time.Second

// Ended lists the processes that nobody stopped and that do not run all the same.
func (s *Stack) Ended() ([]string, error) {
	state, err := s.read()
	var names []string
	for _, p := range state.Processes {
		if !p.Stopped && !p.alive() {
			names = append(names, p.Name)
		}
	}
	return names, err
}

// Replicas lists the processes of one role: payments-work and payments-work-2.
func (s *Stack) Replicas(role string) []string {
	var names []string
	for _, name := range s.Processes {
		if rest, ok := strings.CutPrefix(name, role); ok && (rest == "" || rest == "-2") {
			names = append(names, name)
		}
	}
	return names
}

// Poisonable says whether there is a proxy before the servers.
func (s *Stack) Poisonable() bool { return s.toxic != "" }

// Poison sets what happens to the traffic with a server: "" nothing, else latency=, jitter=, stuck= as a query.
func (s *Stack) Poison(ctx context.Context, server, query string) error {
	return s.tell(ctx, http.MethodPut, "/"+server+"?"+query)
}

// Cut resets that share of the connections to a server.
func (s *Stack) Cut(ctx context.Context, server string, share float64) error {
	return s.tell(ctx, http.MethodPost, fmt.Sprintf("/%s/cut?share=%g", server, share))
}

func (s *Stack) tell(ctx context.Context, method, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.toxic+path, nil)
	if err != nil {
		return fmt.Errorf("telling the proxy: %w", err)
	}
	request.Close = true // the proxy closes idle connections, and a PUT on one of them is not sent again
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("telling the proxy: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy answers %s", response.Status)
	}
	return nil
}

// Services lists the processes of the product; what else runs are the servers that it needs.
func (s *Stack) Services() []string {
	return slices.DeleteFunc(slices.Clone(s.Processes), func(name string) bool {
		return !slices.ContainsFunc([]string{"gateway", "payments", "wallets", "reports", "callback-dispatcher"}, func(service string) bool {
			return name == service || strings.HasPrefix(name, service+"-")
		})
	})
}

// Metrics is where a process of the product tells its metrics, and which service and role it is: all, if it has no
// role.
type Metrics struct{ URL, Service, Role string }

// Metrics lists them, those of the consoles too.
func (s *Stack) Metrics() ([]Metrics, error) {
	state, err := s.read()
	if err != nil {
		return nil, err
	}
	services := append(s.Services(), "console", "console-operators")
	var all []Metrics
	for _, p := range state.Processes {
		base, ok := strings.CutSuffix(p.Ready, "/readyz")
		if !ok || !slices.Contains(services, p.Name) {
			continue
		}
		m := Metrics{URL: base + "/metrics", Service: strings.TrimSuffix(p.Name, "-2"), Role: "all"}
		for _, role := range []string{"serve", "work"} {
			if service, ok := strings.CutSuffix(m.Service, "-"+role); ok {
				m.Service, m.Role = service, role
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// Deny refuses all connections to a service's database and ends those that are open, or lets them in again.
func (s *Stack) Deny(ctx context.Context, service string, deny bool) error {
	database, err := url.Parse(s.Superuser[service])
	if err != nil {
		return fmt.Errorf("the database of %s has no URL", service)
	}
	name := strings.TrimPrefix(database.Path, "/")
	err = execute(ctx, s.postgres, fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS %t", pgx.Identifier{name}.Sanitize(), !deny))
	if err != nil || !deny {
		return err
	}
	return execute(ctx, s.postgres, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
}

// Kill ends a process without warning (SIGKILL).
func (s *Stack) Kill(ctx context.Context, name string) error { return s.call(ctx, "kill", name, "-9") }

// Setting is what a process has in its environment under a name.
func (s *Stack) Setting(process, name string) (string, error) {
	p, err := s.find(process)
	if err != nil {
		return "", err
	}
	for _, variable := range p.Spec.Env {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value, nil
		}
	}
	return "", fmt.Errorf("%s has no %s", process, name)
}

// Do runs the program of a process with its settings, other words, and something to read.
func (s *Stack) Do(ctx context.Context, process string, in io.Reader, words ...string) error {
	ctx, cancel := context.WithTimeout(ctx, verbTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, slices.Concat([]string{"do", process, "--dir", s.dir, "--"}, words)...)
	cmd.Stdin = in
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", process, strings.Join(words, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// Stop ends a process politely.
func (s *Stack) Stop(ctx context.Context, name string) error { return s.call(ctx, "kill", name) }

// Pause freezes a process (SIGSTOP); Start lets it go on.
func (s *Stack) Pause(ctx context.Context, name string) error { return s.call(ctx, "pause", name) }

// Alarm raises the broker's memory alarm, which blocks publishers, or clears it.
func (s *Stack) Alarm(ctx context.Context, on bool) error {
	words := []string{"set_vm_memory_high_watermark", "0.6"}
	if on {
		words = []string{"set_vm_memory_high_watermark", "absolute", "1000"}
	}
	return s.callWith(ctx, []string{"rabbitctl"}, words...)
}

// starts is how often a process is started that ends before it is ready. A process that loses its server while it
// starts gives up, and its supervisor starts it again, as an orchestrator does. A process with more work at its start
// is awaited as long.
const starts = 5

// Start starts a process again, this once with the settings NAME=value beside its own, or lets a paused one go on, and
// waits until it is ready.
func (s *Stack) Start(ctx context.Context, name string, settings ...string) (err error) {
	words := []string{"start", name}
	for _, setting := range settings {
		words = append(words, "--env", setting)
	}
	for range starts {
		err = s.call(ctx, words...)
		slow := err != nil && len(settings) > 0 && strings.Contains(err.Error(), "not ready in time")
		if err == nil || !slow && !strings.Contains(err.Error(), "the process ended") {
			return err
		}
	}
	return err
}

// Move starts a process that does not run, from now on with the program in that directory.
func (s *Stack) Move(ctx context.Context, name, bin string) error {
	return s.call(ctx, "start", name, "--bin", bin)
}

// Migrate brings the databases to the schemas of the programs in a directory, under whatever runs, and leaves broker
// users the rights that programs before them need.
func (s *Stack) Migrate(ctx context.Context, bin string) error {
	return s.call(ctx, "migrate", "--bin", bin, "--earlier-rights")
}

// Narrow takes those rights away again.
func (s *Stack) Narrow(ctx context.Context, bin string) error {
	return s.call(ctx, "migrate", "--bin", bin)
}

// Bin is the directory of the program that a process runs.
func (s *Stack) Bin(name string) (string, error) {
	process, err := s.find(name)
	return filepath.Dir(process.Spec.Path), err
}

func (s *Stack) call(ctx context.Context, words ...string) error { return s.callWith(ctx, words) }

// callWith passes what follows on as it is, behind a "--".
func (s *Stack) callWith(ctx context.Context, words []string, behind ...string) error {
	ctx, cancel := context.WithTimeout(ctx, verbTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.program, slices.Concat(words, []string{"--dir", s.dir, "--"}, behind)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("stack %s: %w: %s", strings.Join(words, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// StartAll starts whatever does not run, so that nothing stays down after a scenario.
func (s *Stack) StartAll(ctx context.Context) error {
	var failures []error
	for _, name := range s.Processes {
		failures = append(failures, s.Start(ctx, name))
	}
	return errors.Join(failures...)
}
