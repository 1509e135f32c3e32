package check

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var (
	copied = regexp.MustCompile(`(?m)^COPY (\S+)/go\.mod `)
	used   = regexp.MustCompile(`(?m)^\s+\./(\S+)$`)
)

// TestDockerfile: the modules that the image's build copies are those of the workspace, so that a new one cannot be forgotten.
func TestDockerfile(t *testing.T) {
	list := func(pattern *regexp.Regexp, path ...string) []string {
		raw, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, m := range pattern.FindAllStringSubmatch(string(raw), -1) {
			found = append(found, m[1])
		}
		slices.Sort(found)
		return found
	}
	copies, modules := list(copied, "deploy", "docker", "Dockerfile"), list(used, "go.work")
	if !slices.Equal(copies, modules) || len(modules) < 5 {
		t.Errorf("the Dockerfile copies %v, go.work uses %v", copies, modules)
	}
}
