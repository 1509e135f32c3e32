//go:build integration

package main

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given { // each has a dozen processes, however many processors there are
		_ = flag.Set("test.parallel", "2")
	}
	os.Exit(m.Run())
}

// TestUpgrade is `make upgrade` in small: from the binaries of the last release to these, under load. Where the
// repository has no history, both are these: what is left is that databases are migrated and processes replaced under
// load. It takes longest, and begins first.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	newer := os.Getenv("CAUSEWAY_BIN")
	older := t.TempDir()
	build := exec.CommandContext(t.Context(), filepath.Join("..", "upgrade", "build"), older)
	out, err := build.CombinedOutput()
	t.Logf("%s", out)
	const noHistory = 3
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == noHistory {
		older, err = newer, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	switches, err := os.ReadFile(filepath.Join(older, "switches"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	instance := slices.Concat([]string{"--replicas", "2", "--bin", older}, strings.Fields(string(switches)), fewAddresses)
	launch(t, instance, "--scenario", "upgrade", "--new", newer, "--duration", upgradeFor.String(), "--rate", "4")
}

// TestMix is `make chaos` in small: kills at the steps of a payment and the whole mix, against two replicas of
// everything, and a clean audit. The servers die too, so the instance has its own.
func TestMix(t *testing.T) {
	t.Parallel()
	instance := append([]string{"--split", "--replicas", "2", "--toxic"}, fewAddresses...)
	launch(t, instance, "--scenario", mixScenarios, "--duration", mixFor.String(), "--rate", "4")
}

// TestRestore is the restore drill in small: the databases that money depends on are set back by some seconds
// under load, and the auditor finds nothing paid twice, no address given twice and no deposit lost.
func TestRestore(t *testing.T) {
	t.Parallel()
	// Payments that was set back asks for a whole new stock, 640 addresses a family, of which wallets may know nothing
	// when it is set back in its turn: the margin is more.
	launch(t, fewAddresses, "--scenario", "restore", "--databases", "payments,wallets", "--margin", "2000", "--duration", restoreFor.String(), "--rate", "4")
}

// fewAddresses are settings of an instance that makes a few payments a second: the launcher's own stock of addresses
// would cost more than the payments.
var fewAddresses = []string{"--env", "payments:ADDRESS_STOCK=640", "--env", "payments:ADDRESS_BLOCK=64"}

// launch runs the chaos command on an instance of its own.
func launch(t *testing.T, instance []string, words ...string) {
	t.Helper()
	launcher := os.Getenv("CAUSEWAY_STACK")
	if launcher == "" {
		t.Fatal("CAUSEWAY_STACK is not set; run this with `make test` or `bin/stack test`")
	}
	dir := t.TempDir()
	perform(t, dir, launcher, slices.Concat([]string{"exec", "--private", "--dir", dir}, instance, []string{"--", program(t)}, words)...)
}

// program is the test binary, which is the chaos command itself where played is set.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// perform runs chaos in one way or another on an instance in a directory, and wants a clean audit.
func perform(t *testing.T, dir, name string, words ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), atMost)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, words...)
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

// showErrors puts the last errors of every service into the test's output, and all about messages that were moved to a
// dead queue: the log is gone afterwards.
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
		var lines, buried []string
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, `"level":"ERROR"`) || strings.HasPrefix(line, "panic") {
				lines = append(lines, line)
			}
			if strings.Contains(line, "moved to the dead queue") {
				buried = append(buried, line)
			}
		}
		if lines = lines[max(0, len(lines)-shown):]; len(lines) > 0 {
			buried = slices.DeleteFunc(buried, func(line string) bool { return slices.Contains(lines, line) })
			t.Logf("%s:\n%s", filepath.Base(file), strings.Join(append(buried, lines...), ""))
		}
	}
}
