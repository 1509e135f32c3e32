package infra

import (
	"os"
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
