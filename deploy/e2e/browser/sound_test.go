//go:build integration

package browser

import (
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// sound holds a page to what every page owes its readers: names on everything that can be used, contrast in both colour
// schemes, no motion for those who want none, nothing wider than the screen.
func (b *tab) sound() {
	b.t.Helper()
	b.named()
	for _, scheme := range []string{"light", "dark"} {
		b.media(&emulation.MediaFeature{Name: "prefers-color-scheme", Value: scheme},
			&emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
		if faint := js[[]string](b, contrast); len(faint) > 0 {
			b.t.Errorf("%s: contrast below WCAG AA: %s", scheme, strings.Join(faint, "; "))
		}
		if scheme == "dark" {
			b.shoot("dark")
		}
	}
	if moving := js[int](b, `document.getAnimations().length`); moving > 0 {
		b.t.Errorf("%d things move although the reader wants no motion", moving)
	}
	if wide := js[int](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
		b.t.Errorf("the page is %d pixels wider than the screen", wide)
	}
	b.media()
}

// media sets what the reader's device says of itself.
func (b *tab) media(features ...*emulation.MediaFeature) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
}

// used are the roles of what a reader can use.
var used = map[string]bool{
	"button": true, "link": true, "textbox": true, "searchbox": true, "radio": true, "image": true, "progressbar": true,
}

// named fails the test when something that can be used has no name for a screen reader.
func (b *tab) named() {
	b.t.Helper()
	nodes := call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes
	for _, n := range nodes {
		if n.Ignored || n.Role == nil || !used[unquoted(n.Role)] {
			continue
		}
		if n.Name == nil || strings.TrimSpace(unquoted(n.Name)) == "" {
			b.t.Errorf("a %s has no name", unquoted(n.Role))
		}
	}
}

func unquoted(v *accessibility.Value) string { return strings.Trim(string(v.Value), `"`) }

// contrast lists texts whose colour is too near to what is behind them (WCAG 2.2, 1.4.3).
const contrast = `(() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (c) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = c;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgba(getComputedStyle(e).backgroundColor);
      if (c[3] === 255) return c;
    }
    return [255, 255, 255];
  };
  const faint = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; n = walk.nextNode();) {
    const e = n.parentElement, s = getComputedStyle(e), box = e.getBoundingClientRect();
    if (!n.textContent.trim() || box.width < 2 || s.visibility === "hidden" || e.closest("[aria-hidden]") || !e.checkVisibility()) continue;
    const a = light(rgba(s.color)), z = light(behind(e)), ratio = (Math.max(a, z) + .05) / (Math.min(a, z) + .05);
    const big = parseFloat(s.fontSize) >= 24 || (parseFloat(s.fontSize) >= 18.66 && s.fontWeight >= 700);
    if (ratio < (big ? 3 : 4.5)) faint.push(n.textContent.trim().slice(0, 40) + " " + ratio.toFixed(2));
  }
  return faint;
})()`

// firstScreen fails the test when something is not whole on the screen before anybody scrolls.
func (b *tab) firstScreen(selectors ...string) {
	b.t.Helper()
	for _, s := range selectors {
		fits := js[bool](b, `scrollTo(0, 0), (() => { const b = document.querySelector(`+"`"+s+"`"+`).getBoundingClientRect();
			return b.height > 0 && b.top >= 0 && b.bottom <= innerHeight && b.left >= 0 && b.right <= innerWidth; })()`)
		if !fits {
			b.t.Errorf("%s is not on the first screen", s)
		}
	}
}

// tabTo presses Tab until the element has the focus, and sees that the focus shows.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	for range 60 {
		b.do(chromedp.KeyEvent("\t"))
		if !js[bool](b, `getComputedStyle(document.activeElement).outlineStyle !== "none" || document.activeElement === document.body`) {
			b.t.Error("the focus does not show")
		}
		if js[bool](b, "document.activeElement.matches(`"+selector+"`)") {
			return
		}
	}
	b.t.Fatalf("the keyboard does not reach %s", selector)
}
