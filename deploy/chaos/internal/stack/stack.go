// Package stack is chaos' grip on a running instance: what runs in it, and how to kill and start each part. It reads the
// launcher's state file and calls the launcher's verbs, and knows nothing of what the parts do.
package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// verbTimeout bounds one call of the launcher; starting RabbitMQ takes longest.
const verbTimeout = 2 * time.Minute

// Stack is one running instance.
type Stack struct {
	program string
	dir     string

	BaseURL    string
	AdminToken string
	Databases  map[string]string // service to the URL of its application role
	AMQPAPI    string            // management API, with credentials
	Vhost      string
	Processes  []string // in the order of their start
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
	text, err := os.ReadFile(filepath.Join(s.dir, "state.json"))
	if err != nil {
		return nil, fmt.Errorf("reading the stack's state: %w", err)
	}
	var state struct {
		Prefix string `json:"prefix"`
		Rabbit struct {
			API string `json:"api"`
		} `json:"rabbit"`
		Processes []struct {
			Name string `json:"name"`
		} `json:"processes"`
		Databases map[string]string `json:"databases"`
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, fmt.Errorf("reading the stack's state: %w", err)
	}
	for _, p := range state.Processes {
		s.Processes = append(s.Processes, p.Name)
	}
	s.Databases, s.AMQPAPI, s.Vhost = state.Databases, state.Rabbit.API, state.Prefix
	return s, nil
}

// Services lists the processes of the product; what else runs are the servers that it needs.
func (s *Stack) Services() []string {
	return slices.DeleteFunc(slices.Clone(s.Processes), func(name string) bool {
		return !slices.ContainsFunc([]string{"gateway", "payments", "wallets", "reports", "callback-dispatcher"}, func(service string) bool {
			return name == service || strings.HasPrefix(name, service+"-")
		})
	})
}

// Kill ends a process without warning (SIGKILL).
func (s *Stack) Kill(ctx context.Context, name string) error { return s.call(ctx, "kill", name, "-9") }

// Stop ends a process politely.
func (s *Stack) Stop(ctx context.Context, name string) error { return s.call(ctx, "kill", name) }

// Start starts a process again and waits until it is ready. A running one is left alone.
func (s *Stack) Start(ctx context.Context, name string) error { return s.call(ctx, "start", name) }

func (s *Stack) call(ctx context.Context, words ...string) error {
	ctx, cancel := context.WithTimeout(ctx, verbTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.program, append(words, "--dir", s.dir)...).CombinedOutput()
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
