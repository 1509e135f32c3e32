package check

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUpgradeBase: an upgrade begins at the newest tag of the product before the present commit, in a clone without
// tags at the commit in deploy/upgrade/from, and says so where neither is at hand. Programs from before v0.1.0, which
// have no console, come with the switches that they need.
func TestUpgradeBase(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	git := gitIn(t, home)
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	commit := func() string {
		t.Helper()
		git("add", ".")
		git("commit", "--quiet", "--allow-empty", "-m", "next")
		return git("rev-parse", "HEAD")
	}
	if err := os.CopyFS(filepath.Join(home, "deploy", "upgrade"), os.DirFS(filepath.Join(root, "deploy", "upgrade"))); err != nil {
		t.Fatal(err)
	}
	put("go.mod", "module example.org/product\n")
	for _, program := range []string{"gateway", "services/payments", "services/wallets", "services/reports", "services/callback-dispatcher"} {
		put(program+"/main.go", "package main\n\nfunc main() {}\n")
	}
	git("init", "--quiet")
	before := commit()
	put("deploy/upgrade/from", "# a remark\n"+before+"\n")
	put("services/console/main.go", "package main\n\nfunc main() {}\n")
	release := commit()
	build := func(home string) (said, switches string, console bool, err error) {
		t.Helper()
		into := t.TempDir()
		out, err := exec.CommandContext(t.Context(), filepath.Join(home, "deploy", "upgrade", "build"), into).CombinedOutput()
		raw, _ := os.ReadFile(filepath.Join(into, "switches"))
		_, missing := os.Stat(filepath.Join(into, "console"))
		return string(out), string(raw), missing == nil, err
	}
	said, switches, console, err := build(home)
	if err != nil || !strings.Contains(said, "from "+before) || !strings.Contains(switches, "--earlier-rights") || console {
		t.Errorf("build while there is no tag: %v, %q, switches %q, a console: %t", err, said, switches, console)
	}
	git("tag", "v0.1.0")
	if said, _, _, err := build(home); err != nil || !strings.Contains(said, "from "+before) {
		t.Errorf("build at the tag: %v, %q, want the release before it", err, said)
	}
	put("deploy/upgrade/from", release+"\n")
	commit()
	git("tag", "sdk/go/v0.1.1")
	commit()
	said, switches, console, err = build(home)
	if err != nil || !strings.Contains(said, "from v0.1.0: ") || switches != "--env SIGN_PACKS=false\n" || !console {
		t.Errorf("build after the tag: %v, %q, switches %q, a console: %t", err, said, switches, console)
	}
	for clone, want := range map[string]string{"--no-tags": "from " + release, "--depth=1": release + " is not in this clone"} {
		dir := filepath.Join(t.TempDir(), "clone")
		git("clone", "--quiet", "--no-tags", clone, "file://"+home, dir)
		said, _, _, err := build(dir)
		exit, ended := errors.AsType[*exec.ExitError](err)
		if refused := ended && exit.ExitCode() == 3; !strings.Contains(said, want) || refused != (clone == "--depth=1") || err != nil && !refused {
			t.Errorf("build in a clone with %s: %v, %q, want %q", clone, err, said, want)
		}
	}
}

// gitIn runs git in a directory, as somebody who may commit.
func gitIn(t *testing.T, dir string) func(args ...string) string {
	t.Helper()
	return func(args ...string) string {
		t.Helper()
		all := append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)
		out, err := exec.CommandContext(t.Context(), "git", all...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
}
