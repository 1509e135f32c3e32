package page

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// TestGuide: the page /guide is docs/merchants.md. UPDATE=1 writes it again.
func TestGuide(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/merchants.md")
	if err != nil {
		t.Fatal(err)
	}
	want := rendered(t, raw)
	const file = "templates/guide_text.html"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not docs/merchants.md as a page (%v); run make docs", file, err)
	}
	_, h := pages(t, nil)
	w := get(h, "/guide")
	if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, `<h2 id="2-create">`) || !strings.Contains(body, `href="/docs"`) ||
		strings.Contains(body, ".md") {
		t.Errorf("show /guide: got %d %s, want the guide without links into the repository", w.Code, w.Body)
	}
	if docs := get(h, "/docs"); !strings.Contains(docs.Body.String(), `href="/guide"`) {
		t.Errorf("show /docs: got %s, want a link to the guide", docs.Body)
	}
}

// rendered is a page of docs as a template. A link to the document leads to /docs; one to another page of the
// repository, which a gateway does not serve, is its text alone.
func rendered(t *testing.T, raw []byte) []byte {
	t.Helper()
	m := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	page := m.Parser().Parse(text.NewReader(raw))
	var elsewhere []ast.Node
	err := ast.Walk(page, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			switch at := string(link.Destination); {
			case strings.HasSuffix(at, "/openapi.yaml"):
				link.Destination = []byte("/docs")
			case !strings.HasPrefix(at, "#") && !strings.Contains(at, "://"):
				elsewhere = append(elsewhere, n)
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range elsewhere {
		for link.HasChildren() {
			link.Parent().InsertBefore(link.Parent(), link, link.FirstChild())
		}
		link.Parent().RemoveChild(link.Parent(), link)
	}
	var out bytes.Buffer
	if err := m.Renderer().Render(&out, raw, page); err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("{{"), []byte(`{{"{{"}}`))
}
