//go:build integration

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// played says that the test binary is to be the chaos command itself.
const played = "CAUSEWAY_CHAOS_PLAYED"

func TestMain(m *testing.M) {
	if os.Getenv(played) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const (
	shortForm = 140 * time.Second // of trouble; with start, last payments and audit less than three minutes
	atMost    = 8 * time.Minute
)

// TestShortForm is the short form of `make chaos`: kills at the steps of a payment and the whole mix, against two replicas of
// everything, and a clean audit. The servers die too, so the instance has its own.
func TestShortForm(t *testing.T) {
	launcher := os.Getenv("CAUSEWAY_STACK")
	if launcher == "" {
		t.Fatal("CAUSEWAY_STACK is not set; run this with `make test` or `bin/stack test`")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), atMost)
	defer cancel()
	cmd := exec.CommandContext(ctx, launcher, "exec", "--private", "--split", "--replicas", "2", "--toxic", "--dir", dir, "--",
		self, "--scenario", "steps,mix", "--duration", shortForm.String(), "--rate", "4")
	cmd.Env = append(os.Environ(), played+"=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it takes its stack down
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "audit       CLEAN") {
		t.Errorf("chaos: %v", err)
		showErrors(t, filepath.Join(dir, "log"))
	}
}

// showErrors puts the last errors of every service into the test's output: its log is gone afterwards.
func showErrors(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		t.Error(err)
	}
	const shown = 10
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		var lines []string
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, `"level":"ERROR"`) || strings.HasPrefix(line, "panic") {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			t.Logf("%s:\n%s", filepath.Base(file), strings.Join(lines[max(0, len(lines)-shown):], ""))
		}
	}
}
