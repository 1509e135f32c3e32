// Package page keeps docs/ current: a test renders its section of a page and fails while the page differs (UPDATE=1
// rewrites the section instead), or it reads the values that the tables of a page name. It is for tests only.
package page

import (
	"os"
	"strings"
	"testing"
)

// Section compares the text between the page's two markers of this name with what it should be.
func Section(t *testing.T, path, name, want string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->"
	head, rest, ok := strings.Cut(string(raw), begin)
	got, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no section %q between %q and %q", path, name, begin, end)
	}
	if want = strings.TrimSpace(want) + "\n"; got == want {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("%s: section %s is not current; run UPDATE=1 go test and look at the difference", path, name)
	}
	//nolint:gosec // a page of the documentation
	if err := os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Values are the values in code type that begin the rows of the tables under a heading of the second level.
func Values(t *testing.T, path, heading string) (values []string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(raw), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("%s has no heading %q", path, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if row, is := strings.CutPrefix(line, "| `"); is {
			value, _, _ := strings.Cut(row, "`")
			values = append(values, value)
		}
	}
	return values
}
