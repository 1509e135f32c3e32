package check

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	urls     = regexp.MustCompile(`\b[a-z]+://\S+`)
	pages    = regexp.MustCompile(`(?:^|[^\w./@*%-])([\w.][\w./@-]*\.md(?:#[\w-]+)?)`)
	links    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	sections = regexp.MustCompile(`\b(contract|interface|design|chains|rails|webhooks|gateways|go-design)(\.md)? §`)
	decision = regexp.MustCompile(`\bdocs/decisions/([0-9]{4})`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	fenced   = regexp.MustCompile("(?ms)^```.*?^```")
	unslug   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// A reference from a comment, a message or a page leads to a page and a section of this repository. The pages of docs/
// are the authority for what the code promises, so a reference that leads nowhere is a rule that nobody can look up.
func TestReferences(t *testing.T) {
	files := texts(t)
	for _, name := range files {
		raw, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range broken(name, string(raw)) {
			t.Errorf("%s has a broken reference: %s", name, problem)
		}
	}
	if len(files) < 500 {
		t.Errorf("only %d files were read", len(files))
	}
}

func TestReferences_broken(t *testing.T) {
	for text, bad := range map[string]bool{
		"the rule of docs/api-contract.md#idempotency":                       false,
		"the rule of docs/api-contract.md#no-such-section":                   true,
		"the rule of docs/no-such-page.md":                                   true,
		"the rule of contract.md §1":                                         true,
		"the rule of contract §1":                                            true,
		"see reference/rails.md":                                             true,
		"see design.md":                                                      true,
		"docs/decisions/0002 and docs/decisions/0004-one-scanner.md":         false,
		"docs/decisions/9999":                                                true,
		"https://developer.example/reference/transfers.md is another's page": false,
		"[the words](docs/glossary.md#money)":                                false,
		"[the words](docs/glossary.md#riches)":                               true,
		"[the picture](docs/no-such-picture.png)":                            true,
	} {
		if got := len(broken("README.md", text)) > 0; got != bad {
			t.Errorf("%q: broken %t, want %t", text, got, bad)
		}
	}
}

// texts lists the files that people write: not what git ignores, and not the migrations of a release, whose recorded
// sums forbid to change even a comment (deploy/upgrade/migrations.sum).
func texts(t *testing.T) []string {
	sums, err := os.ReadFile(released)
	if err != nil {
		t.Fatal(err)
	}
	kinds := []string{".go", ".md", ".sql", ".yaml", ".yml", ".sh", ".html", ".json", ".conf", ".toml"}
	var out []string
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", ".stack", ".custody", "bin", "node_modules", "testdata"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		frozen := strings.Contains(string(sums), "  "+filepath.ToSlash(name)+"\n")
		// This file's own cases lead nowhere on purpose.
		if own := d.Name() == "reference_test.go"; !own && !frozen && d.Type().IsRegular() &&
			(slices.Contains(kinds, filepath.Ext(file)) || filepath.Ext(file) == "") {
			out = append(out, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// broken lists the references in a file that lead nowhere.
func broken(name, text string) []string {
	var problems []string
	follow := func(reference string, bases ...string) {
		if err := leads(name, reference, bases...); err != nil {
			problems = append(problems, reference+": "+err.Error())
		}
	}
	page := path.Ext(name) == ".md"
	if page {
		text = fenced.ReplaceAllString(text, "")
	}
	for line := range strings.SplitSeq(text, "\n") {
		if !slices.ContainsFunc([]string{".md", "§", "docs/decisions/", "]("}, func(s string) bool { return strings.Contains(line, s) }) {
			continue
		}
		line = urls.ReplaceAllString(line, "")
		for _, s := range sections.FindAllString(line, -1) {
			problems = append(problems, s+": no section of a page is named so")
		}
		for _, m := range decision.FindAllStringSubmatch(line, -1) {
			if found, _ := filepath.Glob(filepath.Join(root, "docs", "decisions", m[1]+"-*.md")); len(found) != 1 {
				problems = append(problems, m[0]+": no such decision")
			}
		}
		if page {
			for _, m := range links.FindAllStringSubmatch(line, -1) {
				follow(m[1], path.Dir(name))
			}
			line = links.ReplaceAllString(line, "")
		}
		for _, m := range pages.FindAllStringSubmatch(line, -1) {
			if strings.HasPrefix(m[1], "bin/") { // what a command makes
				continue
			}
			follow(m[1], path.Dir(name), ".", "docs", "docs/runbooks")
		}
	}
	return problems
}

var (
	errNoPage    = errors.New("no such file")
	errNoSection = errors.New("no such section")
)

// leads follows a reference from the first of some folders that has its file.
func leads(from, reference string, bases ...string) error {
	target, anchor, _ := strings.Cut(reference, "#")
	if target == "" {
		target = path.Base(from)
	}
	for _, base := range bases {
		file := filepath.Join(root, base, target)
		if _, err := os.Stat(file); err != nil {
			continue
		}
		if anchor == "" {
			return nil
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return errNoPage
		}
		if slices.Contains(anchors(string(raw)), anchor) {
			return nil
		}
		return errNoSection
	}
	return errNoPage
}

// anchors are the names that a page's headings get: lower case, without punctuation, a hyphen for each space.
func anchors(page string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		out = append(out, strings.ReplaceAll(unslug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return out
}
