// Package merchant holds the pages of the merchants' door: the money and the settings of a merchant. Package web says
// how to add a page.
package merchant

import (
	"embed"
	"slices"

	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/web"
)

//go:embed templates texts assets
var files embed.FS

// Area is the merchants' door.
func Area() web.Area {
	return web.Area{Name: "merchant", Files: files, Pages: pages(), Menu: menu(), Home: "/overview"}
}

// pages is the table of routes, with the permission for each.
func pages() []web.Page {
	return slices.Concat(moneyPages(), []web.Page{
		web.Get("/overview", "", overview),

		web.Get("/keys", people.KeyManage, keys),
		web.Get("/keys/new", people.KeyManage, newKey).WithFresh(),
		web.Post("/keys/new", people.KeyManage, createKey).WithFresh(),
		web.Get("/keys/{id}", people.KeyManage, showKey).WithFresh(),
		web.Post("/keys/{id}", people.KeyManage, changeKey).WithFresh(),
		web.Get("/keys/{id}/secret", people.KeyManage, secret).WithFresh(),
		web.Get("/keys/{id}/rotate", people.KeyManage, showRotate).WithFresh(),
		web.Post("/keys/{id}/rotate", people.KeyManage, rotateKey).WithFresh(),
		web.Get("/keys/{id}/revoke", people.KeyManage, showRevoke).WithFresh(),
		web.Post("/keys/{id}/revoke", people.KeyManage, revokeKey).WithFresh(),

		web.Get("/settlements", people.PaymentRead, settlements),
		web.Get("/settlements/{month}", people.PaymentRead, invoice),
		web.Get("/settlements/{month}/csv", people.PaymentRead, invoiceCSV),

		web.Get("/settings", "", settings),
		web.Get("/settings/branding", people.MerchantManage, showBranding).WithFresh(),
		web.Post("/settings/branding", people.MerchantManage, changeBranding).WithFresh(),
	})
}

// menu is the navigation. A person sees the lines of the pages that they may see.
func menu() []web.Item {
	return slices.Concat([]web.Item{{Name: "overview", Path: "/overview"}}, moneyMenu(), []web.Item{
		{Name: "settlements", Path: "/settlements"},
		{Name: "keys", Path: "/keys"},
		{Name: "team", Path: "/team"},
		{Name: "settings", Path: "/settings"},
	})
}
