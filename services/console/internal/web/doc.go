// Package web serves the pages of a console. It holds what all pages share: routes, sessions, the layout, forms, lists,
// errors. The pages themselves are in areas: this package's own (signing in, security, team), web/merchant and
// web/operator.
//
// # Adding a page
//
// A page of the merchants' door, such as a list of things with a page for each, takes five steps:
//
//   - a line for each route in merchant.Pages (web/merchant/merchant.go): method, path below the door, permission, and
//     the handler. A page with a form has a GET and a POST of one path, so that the form comes back filled in after the
//     session has expired, or after the person had to prove their identity (Fresh).
//   - a handler func(*web.Visit) error in a file named for the area of the pages (merchant/things.go). It calls the API
//     by v.API in the name of the person, and ends with v.Render, v.Refuse or v.Redirect. It returns every error that
//     it does not handle: a refusal of the API becomes a page with its message.
//   - a template merchant/templates/thing.html that defines "main". Its dot is the Frame; the handler's data is .Data.
//     Shared parts are in web/templates/parts.html: "form", "input", "select", "pager", "notice", "empty" and others.
//   - its texts in merchant/texts/en.json, under keys that begin with the name of the area of pages ("things.title").
//     No other file has words for readers.
//   - a line in merchant.Menu if the navigation shows it. The permission of its route decides who sees it.
//
// TestPages_whole finds a route without a template, a template without a text, a POST without its GET. TestRoles
// (web/merchant) is the table of roles and routes: a new route without a line fails. deploy/e2e/browser visits every
// page of every role with axe.
//
// Lists page by the API's cursor: NewPager reads ?after and writes the next page's address, with the filters kept.
// Acts that move money, show a secret, change who may act, or have a lasting effect set Fresh on both routes of their
// path; TestProofs decides for each POST. A page that changes by itself has Live: a short text that differs when the
// page does. The script then fetches the page again and swaps the elements that have data-part.
package web
