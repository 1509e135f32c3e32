package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The long extent runs every tier of the usual one, with the tag long beside integration, more time for each, and the
// race detector, which demands a pass of its own for what drops connections.
func TestTiers_longIsTheUsualAndMore(t *testing.T) {
	t.Parallel()
	served, asking := []string{"causeway.internal/libs/bus", "causeway.internal/services/wallets"}, []string{"causeway.internal/deploy/e2e"}
	broad := map[string][]string{}
	for _, b := range tiers(long, served, asking) {
		broad[b.Name] = b.Args
	}
	for _, s := range tiers(usual, served, asking) {
		want := slices.Clone(s.Args)
		want[slices.Index(want, "integration")] = "integration,long"
		want[slices.Index(want, usual.timeout)] = long.timeout
		for usually, atLong := range map[string]string{usual.packages: long.packages, usual.tests: long.tests, usual.asking: long.asking} {
			if at := slices.Index(want, usually); at > 0 {
				want[at] = atLong
			}
		}
		got := slices.DeleteFunc(slices.Clone(broad[s.Name]), func(flag string) bool { return flag == "-race" })
		if !slices.Equal(got, want) {
			t.Errorf("%s: %s, want %s", s.Name, strings.Join(got, " "), strings.Join(want, " "))
		}
		if raced := slices.Contains(broad[s.Name], "-race"); raced == (s.Name == "chaos") || slices.Contains(s.Args, "-race") {
			t.Errorf("%s: the race detector watches it in the usual extent, or not in the long one", s.Name)
		}
		delete(broad, s.Name)
	}
	if _, dropped := broad["dropped connections"]; !dropped || len(broad) != 1 {
		t.Errorf("beside the usual tiers: %v", broad)
	}
	if usual.pure != "" || long.pure != "long" {
		t.Errorf("pure tests have the tags %q and %q", usual.pure, long.pure)
	}
}

// The packages that begin first exist, and the rest follow in their order.
func TestPlace(t *testing.T) {
	t.Parallel()
	for _, path := range slices.Concat(longest, networks) {
		if _, err := os.Stat(filepath.Join("..", "..", path)); err != nil {
			t.Errorf("find a package that takes long: %v", err)
		}
	}
	packages := []string{"causeway.internal/libs/inbox", "causeway.internal/libs/bus", "causeway.internal/" + longest[0], "causeway.internal/gateway/internal/store"}
	slices.SortStableFunc(packages, func(a, b string) int { return place(a) - place(b) })
	want := []string{"causeway.internal/" + longest[0], "causeway.internal/libs/bus", "causeway.internal/libs/inbox", "causeway.internal/gateway/internal/store"}
	if !slices.Equal(packages, want) {
		t.Errorf("order packages: got %v, want %v", packages, want)
	}
}

// The race detector watches packages that share memory, and not those that compute.
func TestSharing(t *testing.T) {
	t.Parallel()
	root, err := workspace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	packages, err := sharing(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"libs/lifecycle": true, "services/callback-dispatcher/internal/app": true, "libs/money": false} {
		if slices.Contains(packages, "causeway.internal/"+name) != want {
			t.Errorf("%s among those that share memory: want %t", name, want)
		}
	}
}

// Each package with tests runs in one tier.
func TestPartition(t *testing.T) {
	t.Parallel()
	root, err := workspace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []extent{usual, long} {
		alone, all, err := partition(t.Context(), root, how, []string{"work"})
		if err != nil {
			t.Fatal(err)
		}
		parts, err := modules(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		_, served, err := partition(t.Context(), root, how, append(parts, "./deploy/e2e/...", "./deploy/chaos/..."))
		if err != nil {
			t.Fatal(err)
		}
		if slices.Sort(all); !slices.Equal(all, slices.Sorted(slices.Values(served))) {
			t.Errorf("packages that need servers: got %v in the tiers, want %v", served, all)
		}
		for _, line := range lost(t, root, how.pure, how.served) {
			t.Errorf("tags %q leave out a test file that runs in no other tier: %s", how.served, line)
		}
		for name, want := range map[string]bool{"libs/money": true, "libs/bus": false, "deploy/bench": true} {
			name = "causeway.internal/" + name
			if slices.Contains(alone, name) != want || slices.Contains(served, name) == want {
				t.Errorf("%s with tags %q: want it among those that need nothing: %t", name, how.served, want)
			}
		}
	}
}

// lost lists the test files that the first tags have and the second have not.
func lost(t *testing.T, root, first, second string) (files []string) {
	t.Helper()
	list := func(tags string) []string {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-tags", tags, "-f",
			`{{range .TestGoFiles}}{{$.ImportPath}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$.ImportPath}}/{{.}}{{"\n"}}{{end}}`, "work")
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	kept := list(second)
	return slices.DeleteFunc(list(first), func(file string) bool { return slices.Contains(kept, file) })
}
