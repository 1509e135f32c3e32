package check

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	verb    = regexp.MustCompile(`%[-+# 0-9.*\[\]]*[a-zA-Z%]`)
	wording = regexp.MustCompile(`\pL{2}`)
)

// A failure says in words what was done, what came and what was expected: a bare "3 <nil>" sends its reader into the
// test before he knows what is broken. An error alone says enough, because it names what failed.
func TestFailures(t *testing.T) {
	for _, name := range texts(t) {
		if filepath.Ext(name) != ".go" {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(raw, []byte(`"testing"`)) {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, raw, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range wordless(file) {
			t.Errorf("%s:%d: a failure without a word", name, set.Position(call.Pos()).Line)
		}
	}
}

func TestFailures_wordless(t *testing.T) {
	for line, bad := range map[string]bool{
		`t.Errorf("%v %v", got, want)`:          true,
		`t.Fatalf("%s:\n%+v", name, got)`:       true,
		`t.Errorf("got %v", got)`:               false,
		"t.Errorf(`%s `+\"gives\"+` %s`, a, b)": false,
		`t.Error(got)`:                          true,
		`t.Fatal(w.Code, w.Body)`:               true,
		`t.Fatal("no answer", got)`:             false,
		`t.Fatal(err)`:                          false,
		`t.Error(ctx.Err())`:                    false,
		`fmt.Errorf("%s: %w", name, err)`:       false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; func f() { "+line+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(wordless(file)) > 0; got != bad {
			t.Errorf("%s: without a word: got %t, want %t", line, got, bad)
		}
	}
}

// wordless finds the failures of tests whose format has no word, and those that show a value without any.
func wordless(file *ast.File) (found []*ast.CallExpr) {
	for n := range ast.Preorder(file) {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			continue
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		if of, ok := method.X.(*ast.Ident); ok && (of.Name == "fmt" || of.Name == "http") {
			continue
		}
		switch method.Sel.Name {
		case "Errorf", "Fatalf":
			format, constant := literal(call.Args[0])
			if constant && !wording.MatchString(verb.ReplaceAllString(format, "")) {
				found = append(found, call)
			}
		case "Error", "Fatal":
			if !says(call.Args) {
				found = append(found, call)
			}
		}
	}
	return found
}

// says reports whether one of the values is a text with a word, or an error by its name.
func says(values []ast.Expr) bool {
	for _, value := range values {
		for n := range ast.Preorder(value) {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, constant := literal(n); constant && wording.MatchString(text) {
					return true
				}
			case *ast.Ident:
				if name := strings.ToLower(n.Name); strings.HasPrefix(name, "err") || strings.HasSuffix(name, "err") {
					return true
				}
			}
		}
	}
	return false
}

// literal is the text of a constant, if the source spells it out.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, _ := literal(e.X)
		right, _ := literal(e.Y)
		return left + right, left+right != ""
	}
	return "", false
}
