package web

import (
	"io/fs"
	"net/http"

	"causeway.internal/services/console/internal/people"
)

// Page is one route of a console.
type Page struct {
	Method     string
	Path       string            // below the door: /payments/{reference}
	Permission people.Permission // "" is every person who is signed in
	Public     bool              // nobody needs to be signed in
	Fresh      bool              // the person has proved their identity within session.Freshness
	Handle     func(*Visit) error

	// Live, if it is not nil, returns a short text that changes when the page does; it is asked every few seconds while
	// a browser shows the page.
	Live func(*Visit) (string, error)

	// JSON marks a request of the script: its errors are JSON, not pages.
	JSON bool
	// Personal marks a form about the person and no merchant: it is valid whatever merchant the person looks at meanwhile.
	Personal bool
	// Alone marks a POST without a page at its own path: it holds no text that a person typed and could lose.
	Alone bool
}

// Name is the route in metrics and logs.
func (p *Page) Name() string { return p.Method + " " + p.Path }

// Get is a page to read.
func Get(path string, permission people.Permission, handle func(*Visit) error) Page {
	return Page{Method: http.MethodGet, Path: path, Permission: permission, Handle: handle}
}

// Post is a form that was sent.
func Post(path string, permission people.Permission, handle func(*Visit) error) Page {
	return Page{Method: http.MethodPost, Path: path, Permission: permission, Handle: handle}
}

// WithFresh demands a recent proof of the person's identity.
func (p Page) WithFresh() Page { p.Fresh = true; return p }

// WithLive lets the page update itself.
func (p Page) WithLive(version func(*Visit) (string, error)) Page { p.Live = version; return p }

// Item is a line of the navigation. Its text has the key "menu." and Name.
type Item struct {
	Name string
	Path string
}

// Area is a part of a console: its routes, its navigation, and a file system with templates/*.html, texts/CODE.json
// and, if it has styles of its own, assets/*.css.
type Area struct {
	Name  string
	Files fs.FS
	Pages []Page
	Menu  []Item
	Home  string // path of the first page after signing in
}
