//go:build integration

package pg

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Listed fails the test for every statement of the tested package that its list lacks. The list is a function or a
// variable of the package; a statement is a constant or variable of the package whose text begins with SELECT, INSERT,
// UPDATE, DELETE or WITH, and which a function uses. A text that other texts use is a part of them.
func Listed(t testing.TB, list string) {
	t.Helper()
	files, err := parseHere()
	if err != nil {
		t.Fatalf("read the package: %v", err)
	}
	p := read(files, list)
	if p.list == nil {
		t.Fatalf("look for %s: got nothing of that name in the package", list)
	}
	found := 0
	for _, name := range slices.Sorted(maps.Keys(p.texts)) {
		if !p.used[name] || p.parts[name] || !statement.MatchString(p.begins(p.texts[name])) {
			continue
		}
		if found++; !p.list[name] {
			t.Errorf("look for the statement %s in %s: got none, want every statement of the package", name, list)
		}
	}
	if found == 0 {
		t.Errorf("look for statements of the package: got none, want those of %s", list)
	}
}

var statement = regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE|WITH)\s`)

// parseHere reads the Go files of the working directory, which is the tested package's.
func parseHere() (map[string]*ast.File, error) {
	entries, err := os.ReadDir(".")
	if err != nil {
		return nil, err
	}
	files := map[string]*ast.File{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		files[e.Name()], err = parser.ParseFile(token.NewFileSet(), e.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// source is what Listed compares.
type source struct {
	texts map[string]ast.Expr // constants and variables by name
	used  map[string]bool     // names in functions other than the list, without those of tests
	parts map[string]bool     // names in texts
	list  map[string]bool     // names in the list
}

func read(files map[string]*ast.File, list string) source {
	p := source{texts: map[string]ast.Expr{}, used: map[string]bool{}, parts: map[string]bool{}}
	for name, f := range files {
		test := strings.HasSuffix(name, "_test.go") // which may hold the list, and texts that are no statements
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				switch {
				case d.Name.Name == list && d.Recv == nil:
					p.list = map[string]bool{}
					names(d, p.list)
				case !test:
					names(d, p.used)
				}
			case *ast.GenDecl:
				p.values(d, list)
			}
		}
	}
	return p
}

// values reads a declaration of constants or variables.
func (p *source) values(d *ast.GenDecl, list string) {
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok || len(v.Values) != len(v.Names) {
			continue
		}
		for i, name := range v.Names {
			if name.Name == list {
				p.list = map[string]bool{}
				names(v.Values[i], p.list)
				continue
			}
			p.texts[name.Name] = v.Values[i]
			names(v.Values[i], p.parts)
		}
	}
}

// names adds every name in a part of the source.
func names(of ast.Node, to map[string]bool) {
	ast.Inspect(of, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			to[id.Name] = true
		}
		return true
	})
}

// begins is the literal with which a text begins, "" when it begins with none of this package.
func (p *source) begins(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strings.TrimLeft(strings.Trim(e.Value, "`\""), " \t\n")
	case *ast.BinaryExpr:
		return p.begins(e.X)
	case *ast.ParenExpr:
		return p.begins(e.X)
	case *ast.Ident:
		return p.begins(p.texts[e.Name])
	case *ast.CallExpr: // fmt.Sprintf and the like
		if len(e.Args) > 0 {
			return p.begins(e.Args[0])
		}
	}
	return ""
}
