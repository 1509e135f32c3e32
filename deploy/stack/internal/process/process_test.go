package process

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestParseStat_nameWithBracketsAndBlanks(t *testing.T) {
	const stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1"
	running, started, err := parseStat(stat)
	if err != nil || !running || started != 987654 {
		t.Fatalf("parseStat = %v %d %v", running, started, err)
	}
	running, _, err = parseStat(strings.Replace(stat, ") S ", ") Z ", 1))
	if err != nil || running {
		t.Fatalf("a zombie reads as running (%v)", err)
	}
	running, _, err = parseStat(strings.NewReplacer(") S ", ") Z ", " 1 0 987654", " 7 0 987654").Replace(stat))
	if err != nil || !running {
		t.Fatalf("a zombie whose other threads still hold its locks reads as ended (%v)", err)
	}
	for _, bad := range []string{"", "42 (sh", "42 (sh) S 1 2", strings.Replace(stat, "987654", "x", 1)} {
		if _, _, err := parseStat(bad); err == nil {
			t.Errorf("parseStat(%q) has no error", bad)
		}
	}
}

func TestRef_recycledID(t *testing.T) {
	self, err := Identify(os.Getpid())
	if err != nil || !self.Alive() {
		t.Fatalf("this process is not alive: %v", err)
	}
	other := self
	other.Started++
	if other.Alive() {
		t.Error("a process with another start time counts as ours")
	}
	other = self
	other.Boot = "another boot"
	if other.Alive() {
		t.Error("a process of an earlier boot counts as ours")
	}
	if err := other.Signal(syscall.SIGKILL); err != nil {
		t.Errorf("signalling a stale process: %v", err) // and we still run
	}
	if (Ref{}).Alive() || (Ref{PID: 1}).Alive() {
		t.Error("no process or process 1 counts as ours")
	}
}

func TestStart_stopsOnRequestAndByForce(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	start := func(script string) Ref {
		t.Helper()
		ref, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", script}, Dir: "/", Log: log})
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	polite := start("echo ready; exec sleep 60")
	if killed, err := polite.Stop(syscall.SIGTERM, 5*time.Second); killed || err != nil || polite.Alive() {
		t.Fatalf("stop: killed %v, %v", killed, err)
	}
	deaf := start("trap '' TERM; echo deaf; while :; do read x </dev/zero; done")
	for !strings.Contains(Tail(log, 1), "deaf") {
		if !deaf.Alive() {
			t.Fatal("the deaf process ended")
		}
	}
	if killed, err := deaf.Stop(syscall.SIGTERM, 50*time.Millisecond); !killed || err != nil || deaf.Alive() {
		t.Fatalf("stop by force: killed %v, %v", killed, err)
	}
}

func TestTail_lastLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if got := Tail(path, 3); got != "" {
		t.Errorf("tail of no file = %q", got)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("x\n", 100_000)+"a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Tail(path, 3); got != "a\nb\nc" {
		t.Errorf("tail = %q", got)
	}
}
