//go:build long

package release_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"causeway.internal/deploy/check/release"
)

// released is the part of the project's tree that packages of clients are made of, in a repository of its own, beside
// a file that git does not keep.
func released(t *testing.T) string {
	t.Helper()
	dir, project := t.TempDir(), absolute(t, root)
	write(t, filepath.Join(dir, "LICENSE"), read(t, filepath.Join(project, "LICENSE")))
	for _, language := range []string{"go", "php", "python", "typescript"} {
		from, to := filepath.Join(project, "gateway", "sdk", language), filepath.Join(dir, "gateway", "sdk", language)
		list := exec.CommandContext(t.Context(), "git", "ls-files")
		list.Dir = from
		names, err := list.Output()
		if err != nil {
			t.Fatalf("list the files of the client for %s: %v", language, err)
		}
		for _, name := range strings.Fields(string(names)) {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(to, name), read(t, filepath.Join(from, name)))
		}
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	write(t, filepath.Join(dir, "gateway", "sdk", "go", "profile.out"), "left by a tool")
	return dir
}

// TestDelivery_clients: the packages of the clients work where nothing else of the project is, and hold the licence.
func TestDelivery_clients(t *testing.T) {
	d := release.Delivery{Source: release.Source{Directory: released(t)}, To: t.TempDir(), Log: t.Output()}
	if err := d.Clients(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	files := contentsOf(t, d.To)
	names := slices.Sorted(maps.Keys(files))
	if len(names) != 4 {
		t.Fatalf("the packages are %q, want one of each of four clients", names)
	}
	one := func(suffix string) string {
		t.Helper()
		at := slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, suffix) })
		if at < 0 {
			t.Fatalf("the packages are %q, want one that ends with %s", names, suffix)
		}
		return names[at]
	}
	run := func(dir, name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "PYTHONPATH="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("run %s %q: %v\n%s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	for _, language := range []string{"go", "php"} {
		dir := t.TempDir()
		run(dir, "tar", "-xzf", filepath.Join(d.To, "causeway-sdk-"+language+"-0.1.0.tar.gz"))
		if _, err := os.Stat(filepath.Join(dir, "LICENSE")); err != nil {
			t.Errorf("the client for %s has no licence: %v", language, err)
		}
		if language == "go" {
			run(dir, "go", "vet", "./...")
		}
		if _, err := os.Stat(filepath.Join(dir, "profile.out")); err == nil {
			t.Errorf("the client for %s has a file that git does not keep", language)
		}
		if info, err := os.Stat(filepath.Join(dir, "README.md")); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("the pages of the client for %s: %v, %v; want a file that everybody may read", language, info, err)
		}
	}
	dir := t.TempDir()
	run(dir, "npm", "install", "--offline", "--no-audit", "--no-fund", filepath.Join(d.To, one(".tgz")))
	if got := run(dir, "node", "--input-type=module", "--eval", "import { version } from '@causeway/sdk'; console.log(version)"); got != "0.1.0" {
		t.Errorf("the client for node says its version is %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@causeway", "sdk", "LICENSE")); err != nil {
		t.Errorf("the client for node has no licence: %v", err)
	}
	dir = t.TempDir()
	run(dir, "python3", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", dir, filepath.Join(d.To, one(".whl")))
	if got := run(dir, "python3", "-c", "import causeway; print(causeway.__version__)"); got != "0.1.0" {
		t.Errorf("the client for python says its version is %q", got)
	}
	if found, err := filepath.Glob(filepath.Join(dir, "*.dist-info", "licenses", "LICENSE")); len(found) != 1 {
		t.Errorf("the client for python has no licence: %v, %v", found, err)
	}
}
