package page

import "net/http"

func (p *Pages) showDocs(w http.ResponseWriter, r *http.Request) {
	p.render(w, r, http.StatusOK, "docs", view{Title: text("docs.title")})
}
