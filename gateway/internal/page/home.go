package page

import (
	"net/http"
	"strings"

	"causeway.internal/libs/httpkit"
)

// showHome says to a person what this host is for. A program gets the answer that nothing is here.
func (p *Pages) showHome(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		httpkit.WriteError(w, r.Header.Get(httpkit.RequestIDHeader), httpkit.ErrRouteUnknown)
		return
	}
	said := p.speak(r, "", "")
	p.render(w, r, said.Language, http.StatusOK, "home", view{Title: said.Text("home.title"), Path: "/", Speech: said})
}
