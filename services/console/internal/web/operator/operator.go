// Package operator holds the pages of the operators' door: what waits for a decision, and how the product does. Package
// web says how a page is added.
package operator

import (
	"embed"

	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/web"
)

//go:embed templates texts
var files embed.FS

// Area is the operators' door.
func Area() web.Area {
	return web.Area{Name: "operator", Files: files, Pages: pages(), Menu: menu(), Home: "/attention"}
}

// pages is the table of routes, with who may see each.
func pages() []web.Page {
	return []web.Page{
		web.Get("/attention", people.OperatorRead, attention),
	}
}

// menu is the navigation; each line shows to those who may see its page.
func menu() []web.Item {
	return []web.Item{
		{Name: "attention", Path: "/attention"},
		{Name: "team", Path: "/team"},
	}
}
