package state

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"causeway.internal/deploy/stack/internal/process"
)

func TestState_roundTrip(t *testing.T) {
	dir := t.TempDir()
	if s, err := Load(dir); err != nil || s.Dir != dir || len(s.Processes) != 0 {
		t.Fatalf("no file: %+v, %v", s, err)
	}
	second := filepath.Join(t.TempDir(), "copy.json")
	s := &State{Dir: dir, Prefix: "cw", Copy: second}
	s.Put(Process{Name: "payments", Ready: "http://127.0.0.1:1/readyz"})
	s.Put(Process{Name: "gateway"})
	s.Put(Process{Name: "payments", Ready: "http://127.0.0.1:2/readyz"})
	if err := s.Save(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, fileName), second} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("look at the mode of %s: got %v, %v, want 0600", path, info, err)
		}
		got, err := LoadFile(path, "")
		if err != nil || got.Dir != dir || strings.Join(got.Names(), " ") != "payments gateway" {
			t.Errorf("%s holds %+v, %v", path, got, err)
		}
		if p, err := got.Find("payments"); err != nil || p.Ready != "http://127.0.0.1:2/readyz" {
			t.Errorf("payments = %+v, %v", p, err)
		}
	}
	if _, err := s.Find("nobody"); err == nil || !strings.Contains(err.Error(), "payments, gateway") {
		t.Errorf("find nobody: %v", err)
	}
}

func TestState_damagedFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil {
		t.Error("half a file was read as a state")
	}
}

func TestState_staleProcessesAreNotRunning(t *testing.T) {
	self, err := process.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	recycled := self
	recycled.Started--
	s := &State{}
	s.Put(Process{Name: "alive", Ref: self})
	s.Put(Process{Name: "recycled", Ref: recycled})
	s.Put(Process{Name: "never"})
	running := s.Running()
	if len(running) != 1 || running[0].Name != "alive" {
		t.Errorf("running: %+v", running)
	}
}

func TestChange_oneAtATime(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := Change(dir, func(s *State) error { s.Prefix += "x"; return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s, err := Load(dir); err != nil || len(s.Prefix) != 20 {
		t.Errorf("changes kept: %d of 20, %v", len(s.Prefix), err)
	}
	broken := errors.New("broken")
	if _, err := Change(dir, func(s *State) error { s.Prefix = ""; return broken }); !errors.Is(err, broken) {
		t.Errorf("a failed change: %v", err)
	}
	if s, _ := Load(dir); len(s.Prefix) != 20 {
		t.Error("a failed change was saved")
	}
}

func TestOwn_oneOwner(t *testing.T) {
	dir := t.TempDir()
	release, err := Own(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Own(dir); !errors.Is(err, ErrBusy) {
		t.Errorf("a second owner: %v", err)
	}
	release()
	again, err := Own(dir)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestEnvFile_isReadByAShell(t *testing.T) {
	odd := "it's $HOME `x` \"y\" \\ ;&|\n#"
	path := filepath.Join(t.TempDir(), "env")
	variables := append(Product{BaseURL: "http://127.0.0.1:1", WebhookSecret: "whsec_a+/="}.Variables(), "ODD="+odd)
	if err := os.WriteFile(path, []byte(EnvFile(variables)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", `. "$0"; printf '%s|%s|%s' "$BASE_URL" "$WEBHOOK_SECRET" "$ODD"`, path).Output()
	if want := "http://127.0.0.1:1|whsec_a+/=|" + odd; err != nil || string(out) != want {
		t.Errorf("a shell read %q, want %q (%v)", out, want, err)
	}
	if !strings.HasPrefix(EnvFile(variables), "BASE_URL=http://127.0.0.1:1\n") {
		t.Error("plain values are quoted")
	}
}
