// Package operator holds the pages of the operators' door: the cases that wait for a decision, the facts of each case,
// and the state of the product. Package web says how to add a page. The tables of this package define the pages:
// lists.go, board.go and facts.go what they read, acts.go what they decide.
package operator

import (
	"embed"

	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/web"
)

//go:embed assets templates texts
var files embed.FS

// Area is the operators' door.
func Area() web.Area {
	return web.Area{Name: "operator", Files: files, Pages: pages(), Menu: menu(), Home: "/attention"}
}

// pages is the table of routes, with the permission for each. Acts take a passkey (approve.go).
func pages() []web.Page {
	all := []web.Page{
		web.Get("/attention", people.OperatorRead, attention).WithLive(attentionVersion),
		web.Get("/search", people.OperatorRead, search),
		web.Get("/treasury", people.OperatorRead, treasury),
		web.Get("/closes/{day}/{mode}/treasury.csv", people.OperatorRead, closeReport),
		web.Get("/approve", people.OperatorAct, approve),
		script(web.Post("/approve/begin", people.OperatorAct, beginApproval)),
		script(web.Post("/approve/finish", people.OperatorAct, finishApproval)),
	}
	for _, l := range lists() {
		page := web.Get("/"+l.Name, people.OperatorRead, l.show)
		if l.Live {
			page = page.WithLive(l.version)
		}
		all = append(all, page)
	}
	for _, b := range boards() {
		all = append(all, web.Get("/"+b.Name, people.OperatorRead, b.show).WithLive(b.version))
	}
	for _, c := range cases() {
		all = append(all, web.Get(c.Path, people.OperatorRead, c.show))
	}
	for _, a := range acts() {
		all = append(all, web.Get(a.Path, people.OperatorAct, a.ask), web.Post(a.Path, people.OperatorAct, a.take))
	}
	return all
}

func script(p web.Page) web.Page { p.JSON, p.Alone = true, true; return p }

// menu is the navigation. A person sees the lines of the pages that they may see.
func menu() []web.Item {
	items := []web.Item{{Name: "attention", Path: "/attention"}}
	for _, l := range lists() {
		if l.Menu {
			items = append(items, web.Item{Name: l.Name, Path: "/" + l.Name})
		}
	}
	items = append(items, web.Item{Name: "treasury", Path: "/treasury"})
	for _, b := range boards() {
		items = append(items, web.Item{Name: b.Name, Path: "/" + b.Name})
	}
	return append(items, web.Item{Name: "team", Path: "/team"})
}
