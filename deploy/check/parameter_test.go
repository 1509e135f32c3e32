package check

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"testing"
)

// parametersMost is the most parameters of a function, without its receiver. More of them become a struct, because a
// reader cannot tell seven values at a call apart.
const parametersMost = 6

// TestParameters: no function, method or function type has too many parameters.
func TestParameters(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", ".stack", "bin", "node_modules", "testdata"}, entry.Name()) {
			return fs.SkipDir
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, f := range functions(file) {
			seen++
			if n := f.Params.NumFields(); n > parametersMost {
				t.Errorf("%s: the function has %d parameters, want at most %d", files.Position(f.Pos()), n, parametersMost)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("walk the tree: %v", err)
	}
	if least := 10_000; seen < least {
		t.Errorf("read %d functions, want at least %d", seen, least)
	}
}

// functions are the functions, methods and function types of a file, without the targets of fuzz tests: testing.F wants
// a parameter for each value.
func functions(file *ast.File) (found []*ast.FuncType) {
	targets := map[*ast.FuncType]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Fuzz" && len(n.Args) == 1 {
				if target, ok := n.Args[0].(*ast.FuncLit); ok {
					targets[target.Type] = true
				}
			}
		case *ast.FuncType:
			if !targets[n] {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// The test finds a function, a method, a literal and a method of an interface, and lets a fuzz target be.
func TestParameters_found(t *testing.T) {
	const seven = "(a, b int, c, d, e string, f, g bool)"
	for source, want := range map[string]int{
		"func f" + seven + " {}": 7, "func (r T) f" + seven + " {}": 7, "var f = func" + seven + " {}": 7, "type T interface{ f" + seven + " }": 7,
		"func f(a, b, c, d, e, f int) {}": 6, "func FuzzX(f *testing.F) { f.Fuzz(func" + seven + " {}) }": 1,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("parse %q: %v", source, err)
		}
		most := 0
		for _, f := range functions(file) {
			most = max(most, f.Params.NumFields())
		}
		if most != want {
			t.Errorf("%q: found %d parameters, want %d", source, most, want)
		}
	}
}
