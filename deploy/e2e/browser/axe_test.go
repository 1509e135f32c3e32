//go:build integration

package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// axe is the source of axe-core, which judges a page by the rules of WCAG.
var axe = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "axe")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.CopyFS(dir, os.DirFS("axe")); err != nil {
		return "", err
	}
	install := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	source, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	return string(source), err
})

// accessible fails the test when axe finds a violation on the page of this name.
func (b *tab) accessible(name string) {
	b.t.Helper()
	for _, v := range b.violations() {
		b.t.Errorf("%s: axe finds %s", name, v)
	}
}

// violations are what axe finds on the page.
func (b *tab) violations() []string {
	b.t.Helper()
	source, err := axe()
	if err != nil {
		b.t.Fatalf("install axe-core: %v", err)
	}
	js[bool](b, source+"; true")
	return js[[]string](b, `axe.run(document, { resultTypes: ["violations"] }).then((found) => found.violations.map((v) =>
		v.id + " (" + v.help + "): " + v.nodes.map((n) => n.target.join(" ")).join(", ")))`)
}

// fits fails the test when something on the page of this name is wider than a screen of 320 pixels, or than a phone
// whose texts are twice as large.
func (b *tab) fits(name string) {
	b.t.Helper()
	for _, c := range []struct {
		width int64
		text  string
	}{{320, "100%"}, {phone.width, "200%"}} {
		b.resize(c.width)
		js[bool](b, `document.documentElement.style.fontSize = "`+c.text+`", true`)
		if wide := js[[]string](b, wider); len(wide) > 0 {
			b.t.Errorf("%s: at %d pixels and %s text these are wider than the screen: %s", name, c.width, c.text, strings.Join(wide, "; "))
			b.shoot(name + "-wide")
		}
	}
	js[bool](b, `document.documentElement.style.fontSize = "", true`)
}

// wider lists what reaches beyond the sides of the screen.
const wider = `(() => {
  const out = [];
  if (document.documentElement.scrollWidth > innerWidth) out.push("the page, by " + (document.documentElement.scrollWidth - innerWidth));
  for (const e of document.body.querySelectorAll("*")) {
    const box = e.getBoundingClientRect();
    if (!e.checkVisibility() || box.width < 2 || e.closest(".unseen, .skip") || e.closest("svg")) continue;
    if (box.right > innerWidth + 1 || box.left < -1) out.push(e.tagName + "." + e.className + " " + e.textContent.trim().slice(0, 30));
  }
  return out.slice(0, 5);
})()`
