package stack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// state is a launcher's state file in which payments-work is this very test and wallets-work has ended.
const state = `{"prefix": "cw", "postgres": {"url": "postgres://postgres:p@127.0.0.1:1/postgres?sslmode=disable"},
"rabbit": {"api": "http://127.0.0.1:2"}, "product": {"gateways": ["http://127.0.0.1:3", "http://127.0.0.1:4"]},
"databases": {"payments": "postgres://app:p@127.0.0.1:1/cw_payments?sslmode=disable"},
"processes": [
	{"name": "postgres", "ref": {"pid": %[1]d, "started": %[2]s}},
	{"name": "toxic", "ready": "http://127.0.0.1:5/readyz", "ref": {"pid": %[1]d, "started": %[2]s}},
	{"name": "payments-work", "ref": {"pid": %[1]d, "started": %[2]s}},
	{"name": "wallets-work", "ref": {"pid": %[1]d, "started": 1}},
	{"name": "wallets-serve", "stopped": true, "ref": {"pid": %[1]d, "started": 1}},
	{"name": "payments-work-2", "ref": {"pid": %[1]d, "started": %[2]s}}]}`

func open(t *testing.T) *Stack {
	t.Helper()
	dir := t.TempDir()
	environ := map[string]string{"CAUSEWAY_STACK": "/launcher", "CAUSEWAY_STACK_DIR": dir, "BASE_URL": "http://127.0.0.1:3", "ADMIN_TOKEN": "op"}
	if err := os.WriteFile(filepath.Join(dir, "state.json"), fmt.Appendf(nil, state, os.Getpid(), started(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(func(name string) string { return environ[name] })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOpen(t *testing.T) {
	t.Parallel()
	s := open(t)
	if got := s.Services(); !slices.Equal(got, []string{"payments-work", "wallets-work", "wallets-serve", "payments-work-2"}) {
		t.Errorf("services %v", got)
	}
	if got := s.Replicas("payments-work"); !slices.Equal(got, []string{"payments-work", "payments-work-2"}) {
		t.Errorf("replicas %v", got)
	}
	if got := s.Superuser["payments"]; got != "postgres://postgres:p@127.0.0.1:1/cw_payments?sslmode=disable" {
		t.Errorf("superuser %s", got)
	}
	if !s.Poisonable() || len(s.Gateways) != 2 || s.Vhost != "cw" {
		t.Errorf("read %+v", s)
	}
	if _, err := Open(func(string) string { return "" }); err == nil {
		t.Error("opened nothing")
	}
}

func TestEnded_isWhatNobodyStopped(t *testing.T) {
	t.Parallel()
	s := open(t)
	if ended, err := s.Ended(); err != nil || !slices.Equal(ended, []string{"wallets-work"}) {
		t.Errorf("ended %v, %v", ended, err)
	}
	if _, err := s.Shots("payments-work", "wallets-work"); err == nil {
		t.Error("aimed at a process that has ended")
	}
}

// A process that was killed is gone when the shot returns: one that still ends would be taken for one that runs.
func TestShots_returnWhenProcessesAreGone(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	state := fmt.Sprintf(`{"processes":[{"name":"signer","ref":{"pid":%d,"started":%s}}]}`, cmd.Process.Pid, startOf(stat))
	if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Stack{dir: dir}
	shoot, err := s.Shots("signer")
	if err != nil {
		t.Fatal(err)
	}
	if err := shoot(); err != nil {
		t.Fatal(err)
	}
	if ended, err := s.Ended(); err != nil || !slices.Equal(ended, []string{"signer"}) {
		t.Errorf("ended after a shot: %v, %v, want the signer", ended, err)
	}
	_ = cmd.Wait() // killed
}

// started reads the start time of this test's process.
func started(t *testing.T) string {
	t.Helper()
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	return startOf(stat)
}
