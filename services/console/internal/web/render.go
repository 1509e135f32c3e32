package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"rsc.io/qr"

	"causeway.internal/libs/language"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/console/internal/people"
)

// Frame is the dot of every template.
type Frame struct {
	Title   string
	Path    string // of this page below the door
	Self    string // its address, for the actions of its forms
	Visit   *Visit
	Menu    []menuItem
	Notice  []string
	Scope   string // for the hidden field of forms
	Version string // of a live page
	Live    string // address of its stream, "" where nothing changes by itself
	Data    any
	Bare    bool // nobody is signed in: no navigation
}

type menuItem struct {
	Name, Address string
	Current       bool
}

// asset is an embedded file that browsers load.
type asset struct {
	body        []byte
	contentType string
}

// views are the templates of all pages in all languages, and the assets.
type views struct {
	base      string
	languages language.List
	pages     map[string]*template.Template // by language and name
	assets    map[string]asset              // by name with hash
	named     map[string]string             // name to name with hash
}

var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// loaded are the views of each door by its base. Their files are embedded, and tests make many consoles of one door.
var loaded sync.Map

// viewsOf loads the views of a door unless another console of the process has.
func viewsOf(base string, areas []Area) (views, error) {
	once, _ := loaded.LoadOrStore(base, sync.OnceValues(func() (views, error) { return load(base, areas) }))
	return once.(func() (views, error))()
}

// load reads the templates, texts and assets of the areas.
func load(base string, areas []Area) (views, error) {
	v := views{base: base, pages: map[string]*template.Template{}, assets: map[string]asset{}, named: map[string]string{}}
	if err := v.loadAssets(areas); err != nil {
		return v, err
	}
	sources := make([]fs.FS, len(areas))
	for i, area := range areas {
		sources[i] = area.Files
	}
	var err error
	if v.languages, err = language.Read(sources...); err != nil {
		return v, err
	}
	for _, l := range v.languages {
		if err := v.loadPages(l, areas); err != nil {
			return v, err
		}
	}
	return v, nil
}

// loadAssets names each file by the hash of its content. The styles of the areas follow those of the console.
func (v *views) loadAssets(areas []Area) error {
	found := map[string][]byte{}
	for _, area := range areas {
		entries, err := fs.ReadDir(area.Files, "assets")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, entry := range entries {
			raw, err := fs.ReadFile(area.Files, "assets/"+entry.Name())
			if err != nil {
				return err
			}
			name := entry.Name()
			if path.Ext(name) == ".css" {
				name = "console.css"
			}
			found[name] = append(found[name], raw...)
		}
	}
	for name, body := range found {
		kind, ok := contentTypes[path.Ext(name)]
		if !ok {
			return fmt.Errorf("asset %s: a file of this kind is not served", name)
		}
		sum := sha256.Sum256(body)
		ext := path.Ext(name)
		hashed := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:8]) + ext
		v.assets[hashed], v.named[name] = asset{body, kind}, hashed
	}
	return nil
}

// loadPages parses each template of an area with the layout and the parts.
func (v *views) loadPages(l *language.Language, areas []Area) error {
	common := []string{"templates/layout.html", "templates/parts.html"}
	layout, err := template.New("layout.html").Funcs(v.functions(l)).ParseFS(areas[0].Files, common...)
	if err != nil {
		return fmt.Errorf("layout: %w", err)
	}
	for _, area := range areas {
		shared := layout
		if _, err := fs.Stat(area.Files, "templates/shared.html"); err == nil { // parts that only this area has
			if shared, err = template.Must(layout.Clone()).ParseFS(area.Files, "templates/shared.html"); err != nil {
				return fmt.Errorf("parts of %s: %w", area.Name, err)
			}
		}
		names, err := fs.Glob(area.Files, "templates/*.html")
		if err != nil {
			return err
		}
		for _, name := range names {
			if slices.Contains(common, name) || path.Base(name) == "shared.html" {
				continue
			}
			page, err := template.Must(shared.Clone()).ParseFS(area.Files, name)
			if err != nil {
				return fmt.Errorf("page %s of %s: %w", name, area.Name, err)
			}
			v.pages[l.Code+" "+strings.TrimSuffix(path.Base(name), ".html")] = page
		}
	}
	return nil
}

// functions are what templates may call.
func (v *views) functions(l *language.Language) template.FuncMap {
	return template.FuncMap{
		"t": l.Text, "has": l.Has, "word": l.Word, "number": l.Number, "money": l.Money, "stamp": stamp,
		"date": func(of any) string { return date(l, of) }, "day": func(of any) string { return day(l, of) },
		"link": func(p string) string { return at(v.base, p) },
		"path": func(segments ...any) string {
			out := v.base
			for _, s := range segments {
				out += "/" + url.PathEscape(fmt.Sprint(s))
			}
			return out
		},
		"asset": func(name string) (string, error) {
			hashed, ok := v.named[name]
			if !ok {
				return "", fmt.Errorf("no asset %s", name)
			}
			return v.base + "/assets/" + hashed, nil
		},
		"dict": dict, "list": func(all ...any) []any { return all }, "qr": qrCode, "short": short, "hex": hex.EncodeToString, "browser": browserOf,
		"roles": people.Roles, "modes": tenant.Modes,
	}
}

// at joins the path of the door and a path below it. The gateway serves no path that ends with a slash.
func at(base, path string) string {
	if path == "/" {
		return base
	}
	return base + path
}

// dict makes the argument of a part from names and values.
func dict(pairs ...any) (map[string]any, error) {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, errors.New("dict: names and values take turns")
		}
		out[name] = pairs[i+1]
	}
	if len(pairs)%2 != 0 {
		return nil, errors.New("dict: the last name has no value")
	}
	return out, nil
}

// short shows the ends of a long hash or address.
func short(text string) string {
	if len(text) <= 20 {
		return text
	}
	return text[:10] + "…" + text[len(text)-8:]
}

// qrCode draws a text as the path of an SVG whose view box has the returned size.
func qrCode(text string) (map[string]any, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return nil, fmt.Errorf("draw a QR code: %w", err)
	}
	var d strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			from := x
			for x < code.Size && code.Black(x, y) {
				x++
			}
			if x > from {
				_, _ = fmt.Fprintf(&d, "M%d %dh%dv1h-%dz", from+4, y+4, x-from, x-from)
			}
		}
	}
	return map[string]any{"Size": code.Size + 8, "Path": d.String()}, nil
}

// languageCookie keeps the language that a reader has chosen by ?lang= in one browser, before and without an account.
const languageCookie = "language"

// speak chooses the language of an answer: the one that the reader asks for, else the person's, else the browser's
// earlier choice, else the browser's preference.
func (c *Console) speak(r *http.Request, wish string) (*language.Language, bool) {
	before := ""
	if cookie, err := r.Cookie(languageCookie); err == nil {
		before = cookie.Value
	}
	return c.views.languages.Choose(r, wish, before)
}

// rememberLanguage stores a reader's choice of a language.
func (v *Visit) rememberLanguage() {
	http.SetCookie(v.W, &http.Cookie{ //nolint:gosec // Secure wherever browsers use https; a developer's console has http
		Name: languageCookie, Value: v.speech.Code, Path: v.console.base, MaxAge: 365 * 24 * 3600,
		HttpOnly: true, Secure: v.console.Origin.Scheme == "https", SameSite: http.SameSiteLaxMode,
	})
}

// serveAsset serves an embedded file. A name has the same content for ever.
func (c *Console) serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	a, ok := c.views.assets[name]
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.contentType)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.body) // the reader may be gone
}

// Render shows a page: the name of its template, the key of its title, and its data. The frame's other fields are
// filled in here.
func (v *Visit) Render(page, title string, data any) error {
	return v.render(http.StatusOK, page, title, data)
}

func (v *Visit) render(status int, page, title string, data any) error {
	view := v.console.views.pages[v.speech.Code+" "+page]
	if view == nil {
		return fmt.Errorf("no template %s", page)
	}
	f := &Frame{
		Title: v.T(title), Path: v.Path(), Self: v.R.URL.Path, Visit: v, Data: data, Scope: v.Scope(),
		Bare: v.Person.ID == "", Notice: v.console.sessions.TakeNotice(v.Context()),
	}
	if v.Page.Live != nil && status == http.StatusOK {
		version, err := v.Page.Live(v)
		if err != nil {
			return err
		}
		f.Version, f.Live = version, v.Link("/live?of="+url.QueryEscape(v.R.URL.RequestURI()))
	}
	for _, item := range v.console.Area.Menu {
		if v.console.shows(v, item.Path) {
			f.Menu = append(f.Menu, menuItem{
				Name: item.Name, Address: v.Link(item.Path), Current: f.Path == item.Path || strings.HasPrefix(f.Path, item.Path+"/"),
			})
		}
	}
	var body bytes.Buffer
	if err := view.ExecuteTemplate(&body, "layout.html", f); err != nil {
		return fmt.Errorf("page %s: %w", page, err)
	}
	v.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.W.Header().Add("Vary", "Accept-Language, Cookie")
	v.W.WriteHeader(status)
	_, _ = v.W.Write(body.Bytes()) // the reader may be gone
	return nil
}

// shows reports whether the person may see the page of a path.
func (c *Console) shows(v *Visit, at string) bool {
	p := c.pages["GET "+c.base+at]
	return p != nil && v.Allows(p.Permission)
}

// May reports whether the person of a frame has a permission, for templates.
func (f *Frame) May(permission string) bool { return f.Visit.Allows(people.Permission(permission)) }

// Merchants reports whether this is the merchants' door.
func (f *Frame) Merchants() bool { return f.Visit.console.Door == people.Merchants }

// Name is the name of the console.
func (f *Frame) Name() string { return "Causeway" }

// LiveMode reports that the page shows real money of a merchant.
func (f *Frame) LiveMode() bool {
	return !f.Bare && f.Merchants() && f.Visit.Member.MerchantID != "" && f.Visit.Mode == tenant.Live
}

// TestMode reports that the page shows a merchant's test money.
func (f *Frame) TestMode() bool {
	return !f.Bare && f.Merchants() && f.Visit.Member.MerchantID != "" && f.Visit.Mode == tenant.Test
}
