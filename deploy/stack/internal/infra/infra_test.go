package infra

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestWith_replacesAccountAndPath(t *testing.T) {
	got := with("postgres://root:x@127.0.0.1:5/postgres?sslmode=disable", "app", "p", "db")
	if got != "postgres://app:p@127.0.0.1:5/db?sslmode=disable" {
		t.Errorf("replace account and path: got %s, want postgres://app:p@127.0.0.1:5/db?sslmode=disable", got)
	}
	if name := database("cw_1", "callback-dispatcher"); name != "cw_1_callback_dispatcher" {
		t.Errorf("name a database: got %s, want cw_1_callback_dispatcher", name)
	}
}

func TestChromium_lent(t *testing.T) {
	path, err := Servers{Environ: map[string]string{Chromium.Variable: "/opt/chromium"}}.Find(t.Context(), Chromium)
	if err != nil || path != "/opt/chromium" {
		t.Errorf("find a lent Chromium: got %q, %v, want /opt/chromium", path, err)
	}
}

func TestChromium_installed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for _, name := range []string{"chromium", "headless_shell"} { // the later one here is the better one
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if path, err := (Servers{}).Find(t.Context(), Chromium); err != nil || path != filepath.Join(dir, name) {
			t.Errorf("%q, %v, want %s", path, err, name)
		}
	}
}

// TestTemporary: where the machine has the memory, programs can be run from the directory, and what a killed run has
// left is gone.
func TestTemporary(t *testing.T) {
	instance := t.TempDir()
	dir := Temporary(instance)
	if room, enough := roomInMemory(); (dir != "") != (enough && room.Flags&noExec == 0) {
		t.Errorf("make a directory: got %q, with enough memory %v, and flags %x", dir, enough, room.Flags)
	}
	if dir == "" {
		return
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := exec.CommandContext(t.Context(), program).Run(); err != nil {
		t.Errorf("run a program in %s: %v", dir, err)
	}
	if again := Temporary(instance); again != dir {
		t.Errorf("make the directory again: got %q, want %q", again, dir)
	}
	if _, err := os.Stat(program); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the program of the last run: %v, want none", err)
	}
	if other := Temporary(instance + "x"); other == dir {
		t.Errorf("another instance has the directory %q too", dir)
	} else {
		_ = os.RemoveAll(other)
	}
}
