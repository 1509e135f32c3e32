//go:build integration

package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"causeway.internal/deploy/stack/internal/process"
	"causeway.internal/deploy/stack/internal/state"
)

// stack runs the launcher and returns what it printed.
func stack(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.Command(launcherPath(t), args...).CombinedOutput()
	return string(out), err
}

func launcherPath(t *testing.T) string {
	t.Helper()
	path := os.Getenv("CAUSEWAY_STACK")
	if path == "" {
		t.Fatal("CAUSEWAY_STACK is not set; run the tests with `make test`")
	}
	return path
}

// A launcher that is killed leaves its servers running. The next one must find exactly those, stop them, and come up.
func TestLauncher_killedWithItsServersRunning(t *testing.T) {
	dir := t.TempDir()
	for _, lent := range withoutLent {
		t.Setenv(lent, "")
	}
	t.Cleanup(func() {
		if out, err := stack(t, "down", "--dir", dir); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
		if left := process.Marked(dir); len(left) > 0 {
			t.Errorf("left running: %v", left)
		}
	})
	first := exec.Command(launcherPath(t), "run", "--infra", "--dir", dir)
	out, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	printed := readUntil(t, out, "up after")
	st, err := state.Load(dir)
	if err != nil || len(st.Running()) != ownServers {
		t.Fatalf("list what runs: got %v, %v, want %d processes\n%s", st.Names(), err, ownServers, printed)
	}
	if text, err := stack(t, "up", "--infra", "--dir", dir); err == nil || !strings.Contains(text, "another launcher is at work") {
		t.Errorf("a second launcher beside the first: %v\n%s", err, text)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	if left := st.Running(); len(left) != ownServers {
		t.Fatalf("the servers died with their launcher, so this test proves nothing: %v", left)
	}
	text, err := stack(t, "up", "--infra", "--dir", dir)
	if err != nil || !strings.Contains(text, "an earlier launcher left these running") {
		t.Fatalf("after the kill: %v\n%s", err, text)
	}
	if left := st.Running(); len(left) > 0 {
		t.Errorf("still running from before: %v", left)
	}
	killAndStart(t, dir, "postgres")
}

func killAndStart(t *testing.T, dir, name string) {
	t.Helper()
	for _, args := range [][]string{{"kill", name, "-9", "--dir", dir}, {"start", name, "--dir", dir}} {
		if text, err := stack(t, args...); err != nil {
			t.Errorf("run stack %v: %v\n%s", args, err, text)
		}
	}
	st, err := state.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if one, err := st.Find(name); err != nil || !one.Ref.Alive() || one.Stopped {
		t.Errorf("%s after its restart: %+v, %v", name, one, err)
	}
}

func readUntil(t *testing.T, out interface{ Read([]byte) (int, error) }, mark string) string {
	t.Helper()
	var text strings.Builder
	buffer := make([]byte, 1024)
	for !strings.Contains(text.String(), mark) {
		n, err := out.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			t.Fatalf("before %q: %v\n%s", mark, err, text.String())
		}
	}
	return text.String()
}

func TestRun_wrongCalls(t *testing.T) {
	for _, args := range [][]string{{"nonsense"}, {"kill", "--dir", t.TempDir()}, {"exec", "--dir", t.TempDir()}, {"up", "--env", "x"}} {
		if text, err := stack(t, args...); err == nil {
			t.Errorf("%v succeeds: %s", args, text)
		} else if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.Sys().(syscall.WaitStatus).Signaled() {
			t.Errorf("run stack %v: got %v, want an exit by itself", args, err)
		}
	}
}
