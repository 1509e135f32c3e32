package check

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const lineLimit = 120

var (
	// private are the words that docs/CONTRIBUTING.md#words and docs/glossary.md take out of use.
	private = regexp.MustCompile(`(?i)\b(of ours|of theirs|(?-i:told)|stands|stood|(is|are|was|were) over|knock(s|ed|ing)?|` +
		`sent away|strangers?|desks?|worlds?|whoever|whosoever)\b`)
	// subject finds a sentence that has a clause for its subject.
	subject = regexp.MustCompile(`(?:^|[.!?:)] )(?:What|Whatever|Whose) [^.?!]*(?:[.?!]|$)`)
	quoted  = regexp.MustCompile("`[^`]*`|\\*[a-zA-Z][^*\n]*\\*|\"[^\"\n]*\"|\\]\\([^)]*\\)")
	bullet  = regexp.MustCompile(`^(?:[-*] |[0-9]+\. )`)
	inline  = regexp.MustCompile(`description: "?([^"}]+)`)
	address = regexp.MustCompile(`https?://|\]\(`)
	// statement finds SQL, and a program for a browser.
	statement = regexp.MustCompile(`\b(SELECT|INSERT|UPDATE|RETURNING|const)\b|^[a-z]\.\w+, `)
)

// A page, a comment, an alert and a description of the API follow docs/CONTRIBUTING.md#words as far as a machine can
// judge.
func TestWords(t *testing.T) {
	for _, name := range texts(t) {
		lines, ok := proseOf(t, name)
		if !ok {
			continue
		}
		if found := unplainWords(lines); len(found) > 0 {
			t.Errorf("%s breaks docs/CONTRIBUTING.md#words:\n%s", name, strings.Join(found, "\n"))
		}
	}
}

func TestWords_found(t *testing.T) {
	for text, bad := range map[string]bool{
		"The signer refuses the intent.":                         false,
		"What waits for its predecessor is looked for.":          true,
		"The queue is empty. What is left is lost.":              true,
		"* What is left is lost.":                                true,
		"What is left?":                                          false,
		"Whoever calls is refused.":                              true,
		"The caller is told so.":                                 true,
		"Do not write *is told*.":                                false,
		"The flag `--desk` names the trader.":                    false,
		"An address of ours.":                                    true,
		"The window is\nover.":                                   true,
		strings.Repeat("a", lineLimit+1):                         true,
		"| " + strings.Repeat("a", lineLimit) + " | a row |":     false,
		"See https://example.org/" + strings.Repeat("a", 120):    false,
		"```sh\necho what was told " + strings.Repeat("a", 120):  false,
		"## What waits for a block\n\nThe scanner reads blocks.": false,
	} {
		if got := len(unplainWords(pageProse(text))) > 0; got != bad {
			t.Errorf("%q: unplain %t, want %t", text, got, bad)
		}
	}
}

// A text of a program and a description inside of braces are read, and words of SQL are not.
func TestWords_texts(t *testing.T) {
	for source, bad := range map[string]int{
		`package x; var e = errors.New("the caller was told")`:                       1,
		`package x; const q = "UPDATE own_accounts SET told = true"`:                 0,
		`package x; const id = "told"`:                                               0,
		"package x; type T struct { F int `env:\"F\" doc:\"whoever asks for it\"` }": 1,
	} {
		if found := unplainWords(literalProse(t, "x.go", []byte(source))); len(found) != bad {
			t.Errorf("texts of %s: found %q, want %d", source, found, bad)
		}
	}
	if found := unplainWords(yamlProse(`name: { type: string, description: "Whoever asks." }`, true)); len(found) != 1 {
		t.Errorf("a description inside of braces: found %q, want one", found)
	}
}

// A line of prose, and where it is.
type prose struct {
	line int
	text string
	// start says that a paragraph, an item or a comment begins here.
	start bool
	// free says that the line may be longer than the limit.
	free bool
}

func proseOf(t *testing.T, name string) ([]prose, bool) {
	raw, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	switch ext := path.Ext(name); {
	case ext == ".md":
		return pageProse(string(raw)), true
	case ext == ".go":
		return append(commentProse(t, name, raw), literalProse(t, name, raw)...), true
	case name == "gateway/openapi.yaml":
		return yamlProse(string(raw), true), true
	case ext == ".yaml" || ext == ".yml":
		return yamlProse(string(raw), strings.HasPrefix(name, "deploy/prometheus/rules/")), true
	case ext == ".sh" || strings.HasPrefix(string(raw), "#!") || path.Base(name) == "Makefile" || path.Base(name) == "Dockerfile":
		return yamlProse(string(raw), false), true
	}
	return nil, false
}

// pageProse leaves out fenced blocks and headings. A row of a table is a paragraph for each cell.
func pageProse(text string) []prose {
	var out []prose
	fence, figures, start := false, false, true
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			fence = !fence
			start = true
			continue
		}
		// A benchmark writes its figures and their captions.
		figures = strings.HasPrefix(line, "<!-- figures") || figures && !strings.HasPrefix(line, "<!-- end")
		if fence || figures {
			continue
		}
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
			start = true
		case strings.HasPrefix(trimmed, "|"):
			for cell := range strings.SplitSeq(strings.Trim(trimmed, "|"), " | ") {
				// The first word of a cell begins no sentence: a cell may be a noun phrase.
				out = append(out, prose{line: i + 1, text: "| " + cell, start: true, free: true})
			}
			start = true
		default:
			item := bullet.FindString(trimmed)
			out = append(out, prose{
				line: i + 1, text: strings.TrimPrefix(trimmed, item), start: start || item != "",
				free: utf8.RuneCountInString(line) <= lineLimit || address.MatchString(line) || strings.HasPrefix(line, "    "),
			})
			start = false
		}
	}
	return out
}

func commentProse(t *testing.T, name string, raw []byte) []prose {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, raw, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(raw), "\n")
	var out []prose
	for _, group := range file.Comments {
		start := true
		for _, comment := range group.List {
			at := files.Position(comment.Pos()).Line
			for i, text := range strings.Split(comment.Text, "\n") {
				if strings.HasPrefix(text, "//go:") || strings.HasPrefix(text, "//nolint") {
					continue
				}
				text = strings.TrimSpace(strings.TrimLeft(strings.TrimSuffix(text, "*/"), "/* \t"))
				if text == "" {
					start = true
					continue
				}
				line := strings.ReplaceAll(lines[at+i-1], "\t", "    ")
				// A comment behind code is as long as its line of code allows.
				behind := !strings.HasPrefix(strings.TrimSpace(line), "/") && comment.Text[1] == '/'
				out = append(out, prose{
					line: at + i, text: text, start: start,
					free: behind || utf8.RuneCountInString(lines[at+i-1]) <= lineLimit || address.MatchString(line),
				})
				start = false
			}
		}
	}
	return out
}

// literalProse reads the texts of a program: log messages, errors, helps of metrics and settings, messages of tests. A
// literal without a space is an identifier, and words of SQL are names of columns.
func literalProse(t *testing.T, name string, raw []byte) (out []prose) {
	if name == "deploy/check/word_test.go" { // the words themselves
		return nil
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, raw, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatalf("%s: read a text: %v", files.Position(literal.Pos()), err)
		}
		if doc, ok := reflect.StructTag(text).Lookup("doc"); ok {
			text = doc
		}
		if strings.Contains(text, " ") && !statement.MatchString(text) {
			out = append(out, prose{line: files.Position(literal.Pos()).Line, text: "| " + text, start: true, free: true})
		}
		return true
	})
	return out
}

// yamlProse reads the comments of a file in which # begins one, and its texts where they are written for people.
func yamlProse(text string, values bool) []prose {
	var out []prose
	start := true
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		comment, ok := strings.CutPrefix(trimmed, "#")
		key, value, isKey := strings.Cut(trimmed, ": ")
		switch {
		case strings.HasPrefix(trimmed, "#!"), trimmed == "":
			start = true
			continue
		case ok:
			trimmed = strings.TrimSpace(strings.TrimLeft(comment, "#"))
		case !values:
			start = true
			continue
		case isKey && (key == "description" || key == "summary"):
			start, trimmed = true, strings.Trim(value, `'"`)
		case inline.MatchString(trimmed):
			start, trimmed = true, inline.FindStringSubmatch(trimmed)[1]
		}
		out = append(out, prose{
			line: i + 1, text: trimmed, start: start,
			free: utf8.RuneCountInString(line) <= lineLimit || address.MatchString(line) || !ok,
		})
		start = false
	}
	return out
}

// unplainWords lists the words, sentences and lines that break the rules.
func unplainWords(lines []prose) []string {
	var out []string
	for i := 0; i < len(lines); {
		if !lines[i].free {
			out = append(out, fmt.Sprintf("%d: the line has more than %d characters", lines[i].line, lineLimit))
		}
		text := lines[i].text
		first := lines[i].line
		for i++; i < len(lines) && !lines[i].start; i++ {
			if !lines[i].free {
				out = append(out, fmt.Sprintf("%d: the line has more than %d characters", lines[i].line, lineLimit))
			}
			text += " " + lines[i].text
		}
		text = quoted.ReplaceAllString(text, "…")
		for _, word := range private.FindAllString(text, -1) {
			out = append(out, fmt.Sprintf("%d: %q", first, word))
		}
		for _, s := range subject.FindAllString(text, -1) {
			if !strings.HasSuffix(s, "?") {
				out = append(out, fmt.Sprintf("%d: %q", first, strings.TrimLeft(s, ".!?: ")))
			}
		}
	}
	return out
}
